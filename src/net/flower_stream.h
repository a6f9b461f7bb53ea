#pragma once

#include <grpcpp/grpcpp.h>

#include <condition_variable>
#include <deque>
#include <list>
#include <memory>
#include <mutex>
#include <thread>

#include "net/flower_bridge.h"

namespace feroma::net {

class FlowerStream;

/**
 * Writes for Flower streams that have something to say and beats for those that are silent, on one thread of its own.
 * Whoever has news for a stream only leaves a note here, so that gRPC is never entered from within its own callbacks or
 * with a lock held.
 */
class FlowerScribe {
 public:
  /// Looks after every stream once in `pause`.
  explicit FlowerScribe(Clock::duration pause);
  ~FlowerScribe();

  void note(std::weak_ptr<FlowerStream> stream);
  /// From now on the stream is looked after.
  void attend(std::weak_ptr<FlowerStream> stream);
  /// Streams that are open.
  [[nodiscard]] std::size_t open() const;

 private:
  void write();
  void look_after_all(std::unique_lock<std::mutex>& lock);

  const Clock::duration pause_;
  mutable std::mutex mutex_;
  std::condition_variable noted_;
  std::deque<std::weak_ptr<FlowerStream>> notes_;
  std::list<std::weak_ptr<FlowerStream>> attended_;
  bool ending_ = false;
  std::jthread thread_;
};

/// How long a message may be on its way to a peer: `base`, and its size over `bytes_per_second`.
struct FlowerPatience {
  Clock::duration base{};
  double bytes_per_second = 65536;
};

/// One Flower peer's stream: hands messages to its bridge, and writes what the bridge has. They are read as bytes, so
/// that one that is no message can be told from a connection that is gone.
class FlowerStream final : public grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer> {
 public:
  /// Makes the bridge; it is given what to call when it has news.
  using MakeBridge = std::function<std::unique_ptr<FlowerBridge>(std::function<void()> wake)>;
  /// The stream owns itself until it is done.
  static FlowerStream* open(FlowerScribe& scribe, grpc::CallbackServerContext& context, FlowerPatience patience,
                            const MakeBridge& make);

  /// Writes the next message, or ends the stream where there will be none.
  void advance();
  /// Tells the hub that the peer is there, and cuts off one that does not take what it is sent.
  void look_after();

  void OnReadDone(bool ok) override;
  void OnWriteDone(bool ok) override;
  void OnCancel() override;
  void OnDone() override;

 private:
  FlowerStream(grpc::CallbackServerContext& context, FlowerPatience patience)
      : context_(context), patience_(patience) {}
  /// The next message, as bytes in `outgoing_`; false where there is none. Needs the lock.
  [[nodiscard]] bool take_next();

  grpc::CallbackServerContext& context_;
  const FlowerPatience patience_;
  std::shared_ptr<FlowerStream> self_;
  std::unique_ptr<FlowerBridge> bridge_;
  std::mutex mutex_;
  bool writing_ = false;
  bool broken_ = false;    ///< the other side is gone
  bool finished_ = false;  ///< the end was said
  Clock::time_point write_ends_by_;
  grpc::ByteBuffer incoming_;
  grpc::ByteBuffer outgoing_;
};

}  // namespace feroma::net
