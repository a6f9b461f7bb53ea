#pragma once

#include <grpcpp/grpcpp.h>

#include <condition_variable>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "net/wire.h"

namespace feroma::net {

/// Whoever may have something to write.
class Writer {
 public:
  virtual ~Writer() = default;
  /// Writes what is next, or ends where nothing will follow.
  virtual void advance() = 0;
};

/**
 * Has writers write, on one thread of its own. Those who have news for a stream hold locks or are inside gRPC's own
 * callbacks; they only leave a note here, so that nothing is ever entered twice.
 */
class Scribe {
 public:
  Scribe();
  ~Scribe();

  void note(std::weak_ptr<Writer> writer);

 private:
  void write();

  std::mutex mutex_;
  std::condition_variable noted_;
  std::deque<std::weak_ptr<Writer>> notes_;
  bool ending_ = false;
  std::jthread thread_;  // last: it uses the others
};

/**
 * One peer's stream: hands messages to `Talk`, which is the server's end without the network (a Session, a
 * FlowerBridge), and writes what that has. They are read as bytes, so that one that is no message can be told from a
 * connection that is gone; what is longer than a message may be, gRPC ends the stream for.
 */
template <typename Talk, typename Message>
class MessageStream final : public grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>, public Writer {
 public:
  /// `make` is given what the talk is to call when it has news, and makes it. The stream owns itself until it is done.
  template <typename Make>
  static MessageStream* open(Scribe& scribe, grpc::CallbackServerContext& context, const Make& make) {
    const std::shared_ptr<MessageStream> stream(new MessageStream(context));
    const std::weak_ptr<Writer> writer(stream);
    {
      const std::lock_guard lock(stream->mutex_);  // there may be news before the talk is here
      stream->talk_ = make([&scribe, writer] { scribe.note(writer); });
    }
    stream->self_ = stream;  // not before there is a talk: a stream without one is never done
    stream->StartRead(&stream->incoming_);
    scribe.note(writer);  // the server may be the one to speak first
    return stream.get();
  }

  void advance() override {
    bool write = false;
    bool finish = false;
    {
      const std::lock_guard lock(mutex_);
      if (finished_) {
        return;  // its context may be gone
      }
      if (talk_->aborted()) {
        context_.TryCancel();
      }
      if (writing_) {
        return;
      }
      write = writing_ = !broken_ && take_next();
      finish = finished_ = !write && (broken_ || talk_->closing());
    }
    if (write) {
      StartWrite(&outgoing_);
    } else if (finish) {
      Finish(grpc::Status::OK);
    }
  }

  void OnReadDone(bool ok) override {
    if (!ok) {
      OnCancel();
      return;
    }
    try {
      Message message;
      if (read_wire(incoming_, message)) {
        talk_->receive(message);
      } else {
        talk_->receive_unreadable();
      }
    } catch (const std::exception& error) {  // gRPC would drop it, and never end the stream
      talk_->receive_failed(error);
    }
    StartRead(&incoming_);
  }

  void OnWriteDone(bool ok) override {
    talk_->wrote();
    {
      const std::lock_guard lock(mutex_);
      writing_ = false;
      broken_ = broken_ || !ok;
      outgoing_.Clear();
    }
    advance();
  }

  void OnCancel() override {
    {
      const std::lock_guard lock(mutex_);
      broken_ = true;
    }
    advance();
  }

  void OnDone() override {
    talk_->disconnected();
    // The scribe may be about to write; whoever holds the object last destroys it.
    const std::shared_ptr<MessageStream> last = std::move(self_);
  }

 private:
  explicit MessageStream(grpc::CallbackServerContext& context) : context_(context) {}

  /// The next message, as bytes in `outgoing_`; false where there is none. Needs the lock.
  [[nodiscard]] bool take_next() {
    try {
      const auto next = talk_->next();
      if (next) {
        using Written = typename decltype(talk_->next())::value_type;
        bool owned = true;
        broken_ = !grpc::SerializationTraits<Written>::Serialize(*next, &outgoing_, &owned).ok();
      }
      return next && !broken_;
    } catch (const std::exception&) {  // no memory for the message: the peer comes again
      broken_ = true;
      return false;
    }
  }

  grpc::CallbackServerContext& context_;
  std::shared_ptr<MessageStream> self_;
  std::shared_ptr<Talk> talk_;
  std::mutex mutex_;
  bool writing_ = false;
  bool broken_ = false;    ///< the other side is gone
  bool finished_ = false;  ///< the end was said
  grpc::ByteBuffer incoming_;
  grpc::ByteBuffer outgoing_;
};

}  // namespace feroma::net
