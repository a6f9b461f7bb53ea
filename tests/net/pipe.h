#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>

#include "net/agent.h"
#include "net/hub.h"

namespace feroma::net::test {

/// A connection within the process: what the client sends is received at once, what the server writes waits to be read.
/// `meddle` may look at a frame on its way to the server, and keep it back by returning false.
class Pipe final : public ServerLink {
 public:
  using Meddle = std::function<bool(v1::ClientFrame&)>;

  explicit Pipe(Hub& hub, Peer peer = {"pipe", std::nullopt, ""}, Meddle meddle = {}) : meddle_(std::move(meddle)) {
    // The session may be told things after the pipe is gone.
    session_ = hub.connect(std::move(peer), [bell = bell_] {
      const std::lock_guard lock(bell->mutex);
      bell->written.notify_all();
    });
  }
  ~Pipe() override { cancel(); }

  bool send(const v1::ClientFrame& frame) override {
    v1::ClientFrame copy = frame;
    if (is_cut()) {
      return false;
    }
    if (!meddle_ || meddle_(copy)) {
      session_->receive(copy);
    }
    return !is_cut();
  }

  /// Bytes that are no frame, as a transport would hand them on.
  void send_unreadable() { session_->receive_unreadable(); }
  void fail_to_read(const std::exception& error) { session_->receive_failed(error); }

  bool receive(v1::ServerFrame& frame) override {
    std::unique_lock lock(bell_->mutex);
    for (;;) {
      if (cut_ || session_->aborted()) {
        return false;
      }
      lock.unlock();
      std::optional<v1::ServerFrame> next = session_->next();
      const bool over = !next && session_->closing();
      lock.lock();
      if (next) {
        session_->wrote();
        frame = std::move(*next);
        return true;
      }
      if (over) {
        return false;
      }
      // A write between the look and the wait would not wake us, so the wait is short.
      bell_->written.wait_for(lock, std::chrono::milliseconds(5));
    }
  }

  void cancel() override {
    {
      const std::lock_guard lock(bell_->mutex);
      if (std::exchange(cut_, true)) {
        return;
      }
    }
    bell_->written.notify_all();
    session_->disconnected();
  }

 private:
  struct Bell {
    std::mutex mutex;
    std::condition_variable written;
  };

  bool is_cut() {
    const std::lock_guard lock(bell_->mutex);
    return cut_;
  }

  Meddle meddle_;
  std::shared_ptr<Bell> bell_ = std::make_shared<Bell>();
  std::shared_ptr<Session> session_;
  bool cut_ = false;
};

/// Greets with a hello that a test has changed, and reads the reason for which it is refused, if it is.
inline v1::Reason greeted(Hub& hub, const std::function<void(v1::Hello&)>& change) {
  Pipe pipe(hub);
  v1::ClientFrame frame;
  frame.set_counter(1);
  frame.mutable_hello()->set_protocol(kProtocol);
  change(*frame.mutable_hello());
  static_cast<void>(pipe.send(frame));
  v1::ServerFrame answer;
  return pipe.receive(answer) ? answer.goodbye().reason() : v1::REASON_UNSPECIFIED;
}

}  // namespace feroma::net::test
