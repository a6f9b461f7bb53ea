#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <filesystem>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <variant>

#include "feroma/net/client_data.h"
#include "feroma/privacy/options.h"
#include "feroma/runtime/experiment.h"
#include "net/client_state.h"
#include "net/session.h"

namespace feroma::net {

/// A client's connection to the server. `send` may be called by several threads, one at a time.
class ServerLink {
 public:
  virtual ~ServerLink() = default;
  /// False once the connection is gone.
  [[nodiscard]] virtual bool send(const v1::ClientFrame& frame) = 0;
  /// Waits for the next frame; false once there will be none.
  [[nodiscard]] virtual bool receive(v1::ServerFrame& frame) = 0;
  /// Ends the connection, whatever it is doing.
  virtual void cancel() = 0;
};

/// Why a connection ended.
struct Ending {
  v1::Reason reason = v1::REASON_UNSPECIFIED;  ///< unspecified: the connection was lost
  std::string text;
  double retry_seconds = 0;  ///< 0: the server does not want to see the client again
};

struct AgentOptions {
  std::filesystem::path state;                        ///< the client's own folder
  std::uint32_t id = 0;                               ///< claimed where there are no certificates
  PrivacyOptions privacy = {};                        ///< the least that this client asks for; `off` asks for nothing
  std::function<void(const std::string&)> note = {};  ///< what happens, for people
};

/**
 * A client of a federation: says hello, takes the steps that the server asks for on its own data, and remembers what it
 * must not lose. One object serves any number of connections, one after the other.
 */
class Agent {
 public:
  Agent(AgentOptions options, ClientData& data, const std::atomic<bool>& stop);
  ~Agent();

  /// Works for the server at the other end until the connection ends.
  [[nodiscard]] Ending serve(ServerLink& link);
  /// Steps taken since the object was made; those answered from memory are not counted.
  [[nodiscard]] int steps() const { return steps_; }

 private:
  struct Work;
  struct Inbox;

  [[nodiscard]] v1::ClientFrame hello() const;
  /// Reads the server's config and makes what the work needs; what cannot be agreed to is an error.
  void prepare_work(const v1::Welcome& welcome);
  void read_frames(ServerLink& link, Inbox& inbox) const;
  [[nodiscard]] bool answer(const v1::Task& task, std::span<const std::byte> bytes);
  [[nodiscard]] TakenStep take(const v1::Task& task, std::span<const std::byte> bytes);
  [[nodiscard]] bool send(v1::ClientFrame frame);
  void note(const std::string& text) const;

  AgentOptions options_;
  ClientData& data_;
  const std::atomic<bool>& stop_;
  std::unique_ptr<Work> work_;
  int steps_ = 0;
  // ---- of the present connection ----
  ServerLink* link_ = nullptr;
  std::mutex sending_;
  std::string session_;
  std::uint64_t sent_ = 0;
};

}  // namespace feroma::net
