#pragma once

#include <grpcpp/grpcpp.h>

#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>

#include "net/hub.h"

namespace feroma::net {

class TrainStream;

/**
 * Writes for streams that have something to say, on one thread of its own. Sessions are told things by threads that
 * hold locks or are inside gRPC's own callbacks; they only leave a note here, so that nothing is ever entered twice.
 */
class Scribe {
 public:
  Scribe();
  ~Scribe();

  void note(std::weak_ptr<TrainStream> stream);

 private:
  void write();

  std::mutex mutex_;
  std::condition_variable noted_;
  std::deque<std::weak_ptr<TrainStream>> notes_;
  bool ending_ = false;
  std::jthread thread_;
};

/// One client's stream: hands frames to its session, and writes what the session has. What is no frame is the session's
/// too; what is longer than a frame may be, gRPC ends the stream for.
class TrainStream final : public grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer> {
 public:
  /// The stream owns itself until it is done.
  static TrainStream* open(Hub& hub, Scribe& scribe, grpc::CallbackServerContext& context, Peer peer);

  /// Writes the next frame, or ends the stream where there will be none.
  void advance();

  void OnReadDone(bool ok) override;
  void OnWriteDone(bool ok) override;
  void OnCancel() override;
  void OnDone() override;

 private:
  explicit TrainStream(grpc::CallbackServerContext& context) : context_(context) {}
  /// The next frame, as bytes in `outgoing_`; false where there is none. Needs the lock.
  [[nodiscard]] bool take_next();

  grpc::CallbackServerContext& context_;
  std::shared_ptr<TrainStream> self_;
  std::shared_ptr<Session> session_;
  std::mutex mutex_;
  bool writing_ = false;
  bool broken_ = false;    ///< the other side is gone
  bool finished_ = false;  ///< the end was said
  grpc::ByteBuffer incoming_;
  v1::ClientFrame frame_;
  grpc::ByteBuffer outgoing_;
};

}  // namespace feroma::net
