#pragma once

#include <grpcpp/grpcpp.h>

#include <atomic>
#include <chrono>
#include <deque>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "feroma/v1/federation.grpc.pb.h"
#include "net/client_work.h"
#include "net/intake.h"

namespace feroma::load {

using net::Clock;

/// What all load clients share: how to connect, what they measured.
struct Shared {
  std::string server;
  std::filesystem::path certificates;  ///< empty: plain text
  double heartbeat_seconds = 10;
  std::mutex mutex;
  std::optional<net::ClientWork> work;  ///< made from the first welcome, for all
  std::vector<double> beat_seconds;     ///< answers to heartbeats
  std::atomic<std::uint64_t> answers = 0;
  std::atomic<std::uint64_t> committed = 0;  ///< the last round that was announced
  std::atomic<std::uint64_t> lost = 0;       ///< connections that the server ended, or that broke
  std::atomic<std::uint64_t> goodbyes = 0;
  std::atomic<int> connected = 0;
};

/**
 * A client without data on one connection of its own: beats, and answers tasks at once with what it was sent. Thousands
 * of them live in one process, because none has a thread.
 */
class LoadClient {
 public:
  LoadClient(Shared& shared, std::uint32_t id);
  ~LoadClient();

  /// Called often by one thread: connects when it is time to, and beats.
  void tick(Clock::time_point now);
  /// Ends the connection and waits for its end.
  void stop();

 private:
  class Stream;

  void ended(bool by_goodbye);

  Shared& shared_;
  const std::uint32_t id_;
  std::shared_ptr<grpc::ChannelCredentials> credentials_;
  std::mutex mutex_;
  std::unique_ptr<Stream> stream_;
  bool over_ = false;  ///< the stream ended; another may follow
  bool dismissed_ = false;
  double pause_ = 0.5;
  Clock::time_point again_ = Clock::now();
};

}  // namespace feroma::load
