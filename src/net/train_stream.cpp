#include "net/train_stream.h"

#include "feroma/v1/federation.grpc.pb.h"  // how frames become bytes
#include "net/wire.h"

namespace feroma::net {

Scribe::Scribe() : thread_([this] { write(); }) {}

Scribe::~Scribe() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  noted_.notify_all();
}

void Scribe::note(std::weak_ptr<TrainStream> stream) {
  {
    const std::lock_guard lock(mutex_);
    notes_.push_back(std::move(stream));
  }
  noted_.notify_one();
}

void Scribe::write() {
  std::unique_lock lock(mutex_);
  for (;;) {
    noted_.wait(lock, [this] { return ending_ || !notes_.empty(); });
    if (notes_.empty()) {
      return;
    }
    const std::shared_ptr<TrainStream> stream = notes_.front().lock();
    notes_.pop_front();
    lock.unlock();
    if (stream != nullptr) {
      stream->advance();
    }
    lock.lock();
  }
}

TrainStream* TrainStream::open(Hub& hub, Scribe& scribe, grpc::CallbackServerContext& context, Peer peer) {
  const std::shared_ptr<TrainStream> stream(new TrainStream(context));
  stream->self_ = stream;
  stream->session_ =
      hub.connect(std::move(peer), [&scribe, weak = std::weak_ptr<TrainStream>(stream)] { scribe.note(weak); });
  stream->StartRead(&stream->incoming_);
  return stream.get();
}

void TrainStream::advance() {
  bool write = false;
  bool finish = false;
  {
    const std::lock_guard lock(mutex_);
    if (finished_) {
      return;  // its context may be gone
    }
    if (session_->aborted()) {
      context_.TryCancel();
    }
    if (writing_) {
      return;
    }
    write = writing_ = !broken_ && take_next();
    finish = finished_ = !write && (broken_ || session_->closing());
  }
  if (write) {
    StartWrite(&outgoing_);
  } else if (finish) {
    Finish(grpc::Status::OK);
  }
}

bool TrainStream::take_next() {
  try {
    const std::optional<v1::ServerFrame> next = session_->next();
    bool owned = true;
    outgoing_.Clear();
    broken_ = next && !grpc::SerializationTraits<v1::ServerFrame>::Serialize(*next, &outgoing_, &owned).ok();
    return next && !broken_;
  } catch (const std::exception&) {  // no memory for the frame: the client comes again
    broken_ = true;
    return false;
  }
}

void TrainStream::OnReadDone(bool ok) {
  if (!ok) {
    OnCancel();
    return;
  }
  try {
    if (read_wire(incoming_, frame_)) {
      session_->receive(frame_);
    } else {
      session_->receive_unreadable();
    }
  } catch (const std::exception& error) {  // gRPC would drop it, and never end the stream
    session_->receive_failed(error);
  }
  frame_.Clear();
  StartRead(&incoming_);
}

void TrainStream::OnWriteDone(bool ok) {
  session_->wrote();
  {
    const std::lock_guard lock(mutex_);
    writing_ = false;
    broken_ = broken_ || !ok;
  }
  advance();
}

void TrainStream::OnCancel() {
  {
    const std::lock_guard lock(mutex_);
    broken_ = true;
  }
  advance();
}

void TrainStream::OnDone() {
  session_->disconnected();
  // The scribe may be about to write; whoever holds the object last destroys it.
  const std::shared_ptr<TrainStream> last = std::move(self_);
}

}  // namespace feroma::net
