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
    session_ = hub.connect(std::move(peer), [this] {
      const std::lock_guard lock(mutex_);
      written_.notify_all();
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

  bool receive(v1::ServerFrame& frame) override {
    std::unique_lock lock(mutex_);
    for (;;) {
      if (cut_ || session_->aborted()) {
        return false;
      }
      lock.unlock();
      std::optional<v1::ServerFrame> next = session_->next();
      const bool over = !next && session_->closing();
      lock.lock();
      if (next) {
        frame = std::move(*next);
        return true;
      }
      if (over) {
        return false;
      }
      // A write between the look and the wait would not wake us, so the wait is short.
      written_.wait_for(lock, std::chrono::milliseconds(5));
    }
  }

  void cancel() override {
    {
      const std::lock_guard lock(mutex_);
      if (std::exchange(cut_, true)) {
        return;
      }
    }
    written_.notify_all();
    session_->disconnected();
  }

 private:
  bool is_cut() {
    const std::lock_guard lock(mutex_);
    return cut_;
  }

  Meddle meddle_;
  std::shared_ptr<Session> session_;
  std::mutex mutex_;
  std::condition_variable written_;
  bool cut_ = false;
};

}  // namespace feroma::net::test
