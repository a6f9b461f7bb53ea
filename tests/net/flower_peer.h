#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

#include "net/flower_bridge.h"

namespace feroma::net::test {

/// A Flower peer within the process: what `behave` answers to each request; nothing ends the connection. Runs in a
/// thread of its own until the bridge has said goodbye or cut it off.
class FlowerPeerThread {
 public:
  using Behave = std::function<std::optional<flower::ClientMessage>(const flower::ServerMessage&)>;

  FlowerPeerThread(Hub& hub, FlowerIds& ids, const FlowerDialect& dialect, Behave behave)
      : bridge_(hub, ids, dialect, {"peer", 20},
                [bell = bell_] {
                  const std::lock_guard lock(bell->mutex);
                  bell->rung = true;
                  bell->ring.notify_all();
                }),
        behave_(std::move(behave)),
        thread_([this](const std::stop_token& end) { live(end); }) {}

  /// How the connection ended: with a goodbye, or cut off. Whoever is not told anything within ten seconds goes.
  [[nodiscard]] std::optional<std::int64_t> goodbye() {
    await_end();
    return goodbye_;
  }
  [[nodiscard]] bool was_cut_off() {
    await_end();
    return cut_off_;
  }
  FlowerBridge& bridge() { return bridge_; }

 private:
  struct Bell {
    std::mutex mutex;
    std::condition_variable ring;
    bool rung = true;
  };

  void await_end() {
    for (int i = 0; i < 1000 && !ended_; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    thread_ = {};
  }

  void live(const std::stop_token& end) {
    while (!end.stop_requested() && !bridge_.closing() && !(cut_off_ = bridge_.aborted())) {
      if (const std::optional<flower::ServerMessage> asked = bridge_.next()) {
        if (asked->has_reconnect_ins()) {
          goodbye_ = asked->reconnect_ins().seconds();
        } else if (const std::optional<flower::ClientMessage> answer = behave_(*asked)) {
          bridge_.receive(*answer);
        }
        continue;
      }
      std::unique_lock lock(bell_->mutex);
      bell_->ring.wait_for(lock, std::chrono::milliseconds(20), [this] { return bell_->rung; });
      bell_->rung = false;
    }
    bridge_.disconnected();
    ended_ = true;
  }

  std::shared_ptr<Bell> bell_ = std::make_shared<Bell>();
  FlowerBridge bridge_;
  Behave behave_;
  std::optional<std::int64_t> goodbye_;
  bool cut_off_ = false;
  std::atomic<bool> ended_ = false;
  std::jthread thread_;  // last: it ends before what it uses
};

}  // namespace feroma::net::test
