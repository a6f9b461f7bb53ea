#include "net/flower_stream.h"

#include <flwr/proto/transport.grpc.pb.h>  // how messages become bytes

#include <algorithm>

#include "net/wire.h"

namespace feroma::net {

FlowerScribe::FlowerScribe(Clock::duration pause) : pause_(pause), thread_([this] { write(); }) {}

FlowerScribe::~FlowerScribe() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  noted_.notify_all();
}

void FlowerScribe::note(std::weak_ptr<FlowerStream> stream) {
  {
    const std::lock_guard lock(mutex_);
    notes_.push_back(std::move(stream));
  }
  noted_.notify_one();
}

void FlowerScribe::attend(std::weak_ptr<FlowerStream> stream) {
  const std::lock_guard lock(mutex_);
  std::erase_if(attended_, [](const auto& one) { return one.expired(); });
  attended_.push_back(std::move(stream));
}

std::size_t FlowerScribe::open() const {
  const std::lock_guard lock(mutex_);
  return static_cast<std::size_t>(
      std::count_if(attended_.begin(), attended_.end(), [](const auto& one) { return !one.expired(); }));
}

void FlowerScribe::write() {
  std::unique_lock lock(mutex_);
  Clock::time_point next_look = Clock::now() + pause_;
  while (!ending_ || !notes_.empty()) {
    noted_.wait_until(lock, next_look, [this] { return ending_ || !notes_.empty(); });
    if (Clock::now() >= next_look) {
      look_after_all(lock);
      next_look = Clock::now() + pause_;
    }
    if (notes_.empty()) {
      continue;
    }
    const std::shared_ptr<FlowerStream> stream = notes_.front().lock();
    notes_.pop_front();
    lock.unlock();
    if (stream != nullptr) {
      stream->advance();
    }
    lock.lock();
  }
}

void FlowerScribe::look_after_all(std::unique_lock<std::mutex>& lock) {
  const std::list<std::weak_ptr<FlowerStream>> all = attended_;
  lock.unlock();
  for (const std::weak_ptr<FlowerStream>& one : all) {
    if (const std::shared_ptr<FlowerStream> stream = one.lock()) {
      stream->look_after();
    }
  }
  lock.lock();
}

FlowerStream* FlowerStream::open(FlowerScribe& scribe, grpc::CallbackServerContext& context, FlowerPatience patience,
                                 const MakeBridge& make) {
  const std::shared_ptr<FlowerStream> stream(new FlowerStream(context, patience));
  stream->self_ = stream;
  const std::weak_ptr<FlowerStream> weak(stream);
  stream->bridge_ = make([&scribe, weak] { scribe.note(weak); });
  scribe.attend(weak);
  stream->StartRead(&stream->incoming_);
  scribe.note(weak);  // the server speaks first
  return stream.get();
}

void FlowerStream::advance() {
  bool write = false;
  bool finish = false;
  {
    const std::lock_guard lock(mutex_);
    if (finished_) {
      return;  // its context may be gone
    }
    if (bridge_->aborted()) {
      context_.TryCancel();
    }
    if (writing_) {
      return;
    }
    write = writing_ = !broken_ && take_next();
    finish = finished_ = !write && (broken_ || bridge_->closing());
  }
  if (write) {
    StartWrite(&outgoing_);
  } else if (finish) {
    Finish(grpc::Status::OK);
  }
}

bool FlowerStream::take_next() {
  try {
    const std::optional<flower::ServerMessage> next = bridge_->next();
    bool owned = true;
    outgoing_.Clear();
    broken_ = next && !grpc::SerializationTraits<flower::ServerMessage>::Serialize(*next, &outgoing_, &owned).ok();
    const auto bytes = static_cast<double>(outgoing_.Length());
    write_ends_by_ =
        Clock::now() + patience_.base +
        std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(bytes / patience_.bytes_per_second));
    return next && !broken_;
  } catch (const std::exception&) {  // no memory for the message: the peer comes again
    broken_ = true;
    return false;
  }
}

void FlowerStream::look_after() {
  {
    const std::lock_guard lock(mutex_);
    if (finished_ || broken_) {
      return;
    }
    if (writing_ && Clock::now() > write_ends_by_) {
      context_.TryCancel();
      return;
    }
  }
  bridge_->beat();
}

void FlowerStream::OnReadDone(bool ok) {
  if (!ok) {
    OnCancel();
    return;
  }
  try {
    flower::ClientMessage message;  // models are large: their memory is not kept
    if (read_wire(incoming_, message)) {
      bridge_->receive(message);
    } else {
      bridge_->receive_unreadable();
    }
  } catch (const std::exception& error) {  // gRPC would drop it, and never end the stream
    bridge_->receive_failed(error);
  }
  StartRead(&incoming_);
}

void FlowerStream::OnWriteDone(bool ok) {
  {
    const std::lock_guard lock(mutex_);
    writing_ = false;
    broken_ = broken_ || !ok;
    outgoing_.Clear();
  }
  advance();
}

void FlowerStream::OnCancel() {
  {
    const std::lock_guard lock(mutex_);
    broken_ = true;
  }
  advance();
}

void FlowerStream::OnDone() {
  bridge_->disconnected();
  // The scribe may be about to write; whoever holds the object last destroys it.
  const std::shared_ptr<FlowerStream> last = std::move(self_);
}

}  // namespace feroma::net
