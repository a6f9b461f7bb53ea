#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <variant>

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

/// A task and what belongs to it.
struct Job {
  v1::Task task;
  Bytes bytes;
};

/// What a server says once it has welcomed a client; a beat says nothing.
using Saying = std::variant<Job, v1::Committed, v1::Verdict, Ending>;

/// Reads a server's frames with suspicion: their session, their numbers, the sizes and digests that were announced.
class Intake {
 public:
  /// `largest`: bytes of a task, at most.
  Intake(std::string session, std::uint64_t largest) : session_(std::move(session)), largest_(largest) {}

  /// What is whole with this frame; an Ending where the frame cannot be believed.
  [[nodiscard]] std::optional<Saying> take(const v1::ServerFrame& frame);

 private:
  [[nodiscard]] std::optional<Saying> begin(const v1::Task& task);
  [[nodiscard]] std::optional<Saying> add(const v1::Piece& piece);

  std::string session_;
  std::uint64_t largest_;
  std::uint64_t received_ = 1;  ///< the welcome
  std::optional<Job> job_;
};

/// Why a connection ended that the server ended without a word.
[[nodiscard]] Ending lost(std::string text = "the connection was lost");

/// Numbers a client's frames and sends them. Several threads may use it; each has its turn in the order in which they
/// came, so that a beat does not wait for the last of many pieces.
class Outbox {
 public:
  /// `progress` is called after each piece that went out: a server that takes them is there, though it says nothing.
  explicit Outbox(ServerLink& link, std::function<void()> progress = {})
      : link_(link), progress_(std::move(progress)) {}

  /// From the welcome on, frames carry the session.
  void set_session(const std::string& session);
  /// False once the connection is gone.
  bool send(v1::ClientFrame frame);
  /// An answer and its bytes in pieces.
  bool send(const v1::Answer& head, const Bytes& bytes);

 private:
  class Turn;

  ServerLink& link_;
  std::function<void()> progress_;
  std::mutex mutex_;
  std::condition_variable turned_;
  std::uint64_t taken_ = 0;  ///< turns that were taken
  std::uint64_t over_ = 0;   ///< turns that are over
  std::string session_;
  std::uint64_t sent_ = 0;
};

/// Says hello and reads the server's first word, which is a welcome or an ending. The session is set in `outbox`.
[[nodiscard]] std::variant<v1::Welcome, Ending> introduce(const v1::Hello& hello, ServerLink& link, Outbox& outbox,
                                                          std::string& session);

}  // namespace feroma::net
