#pragma once

#include <chrono>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "feroma/core/archive.h"
#include "feroma/core/clock.h"
#include "feroma/core/ids.h"
#include "feroma/net/server_options.h"
#include "feroma/v1/federation.pb.h"

namespace feroma::net {

/// Bytes of one piece of something large.
inline constexpr std::size_t kPieceSize = std::size_t{128} << 10;
/// Bytes of one frame, at most: a piece and what is around it, or a welcome with its config.
inline constexpr int kLargestFrame = static_cast<int>(kPieceSize) + (64 << 10);
inline constexpr std::uint32_t kProtocol = 1;
/// Bytes of a session's name, and of a process's.
inline constexpr std::size_t kSessionSize = 16;
/// The phases of a visit: a visitor is asked to describe its data, and is made an offer.
inline constexpr int kQuestionPhase = -1;
inline constexpr int kOfferPhase = -2;

/// Something large as it travels: shared, because it may be sent again.
struct Parcel {
  std::shared_ptr<const Bytes> bytes;
  std::string digest;  ///< SHA-256, raw
};
[[nodiscard]] Parcel make_parcel(Bytes bytes);

/// A task and what belongs to it.
struct Assignment {
  v1::Task task;
  Parcel parcel;
};
[[nodiscard]] Assignment make_assignment(Round round, int phase, Bytes bytes);

/// What a peer sent, or an error text with it inside, fit for a log and a frame: short, one line, printable ASCII.
[[nodiscard]] std::string printable(std::string_view text);
/// SHA-256, raw.
[[nodiscard]] std::string digest_of(std::span<const std::byte> bytes);

/// A whole answer as it arrived; its digest is the announced one.
struct Delivery {
  v1::Answer head;
  Bytes bytes;
  /// Why it does not count, where that was clear from its head; then no bytes were kept.
  std::optional<v1::Verdict> objection = {};
};

/// Who a peer is, as far as its connection proves it.
struct Peer {
  std::string address;
  std::optional<ClientId> id;  ///< by certificate; absent where the server does without
  std::string name;
  std::string fingerprint = {};  ///< of the certificate
};

/// Which connection of which process of a client; nothing where it did not say.
struct Origin {
  std::string process = {};
  std::uint64_t attempt = 0;

  /// What a client says of itself; a name of another size than ours says nothing.
  [[nodiscard]] static Origin of(const v1::Hello& hello);
  /// Whether both are the same process's, and this one is the newer.
  [[nodiscard]] bool follows(const Origin& other) const;
};

/// What a peer is refused with: the stream ends with these.
struct Refusal {
  v1::Reason reason = v1::REASON_UNSPECIFIED;
  std::string text;
  double retry_seconds = 0;
};

class Session;

/// What a session tells its hub; calls come from the transport's threads, never two at once for one session.
class SessionEvents {
 public:
  virtual ~SessionEvents() = default;
  /// A client that says who it is. Gives the session its Welcome before anything else, or throws what it is refused
  /// with.
  virtual void greet(const std::shared_ptr<Session>& session, const v1::Hello& hello) = 0;
  /// Why an answer that begins will not count; throws where the peer is to be refused for it.
  [[nodiscard]] virtual std::optional<v1::Verdict> objection(Session& session, const v1::Answer& head) = 0;
  virtual void deliver(Session& session, Delivery delivery) = 0;
  /// The session ends, or has ended, for this; to be counted and written down.
  virtual void refused(const Session& session, const Refusal& refusal) = 0;
  /// It goes by itself, and may say why; its connection ends soon.
  virtual void said_goodbye(Session& session, const std::string& why) = 0;
  virtual void left(Session& session) = 0;
};

/// How long a message may be on its way, and by which clock: so long, and its size over `bytes_per_second`.
struct TransferPace {
  Clock::duration base = std::chrono::minutes(1);
  double bytes_per_second = 65536;
  const Clock* clock = &Clock::machine();

  [[nodiscard]] static TransferPace of(const ServerOptions& options);
  [[nodiscard]] Clock::duration allowance(std::size_t bytes) const;
};

/**
 * The server's end of one connection, without the network: frames in, frames out. The transport calls `receive` for
 * each frame and writes what `next` gives whenever it can; `wake` tells it that there is something to write.
 */
class Session : public std::enable_shared_from_this<Session> {
 public:
  struct Limits {
    std::uint64_t largest = 0;  ///< bytes of an answer
    TransferPace pace = {};
  };

  Session(SessionEvents& events, Peer peer, Limits limits, std::string nonce, std::function<void()> wake);

  // ---- the transport's side ----
  void receive(const v1::ClientFrame& frame);
  /// Something arrived that is no frame.
  void receive_unreadable();
  /// What arrived could not be read, for want of memory most likely: not the client's fault, it is to come again.
  void receive_failed(const std::exception& error);
  /// The next frame to write; absent where there is none now.
  [[nodiscard]] std::optional<v1::ServerFrame> next();
  /// What `next` gave is written.
  void wrote();
  /// Whether nothing will follow what `next` still has.
  [[nodiscard]] bool closing() const;
  /// The connection is gone.
  void disconnected();

  // ---- the hub's side; from any thread ----
  void welcome(const v1::Welcome& welcome);
  void give(const v1::Task& task, Parcel parcel);
  void tell(const v1::Verdict& verdict);
  /// `phases` of this client's answers went into the round.
  void tell_committed(Round round, int phases);
  /// Says goodbye; what is queued before it is still sent, but for tasks. False where the session had its end before.
  bool close(const Refusal& refusal);
  /// Ends the connection without waiting for the other side to read; returns what `close` does.
  bool abort(const Refusal& refusal);
  [[nodiscard]] bool aborted() const;
  /// Whether it was closed or aborted, or its connection is gone.
  [[nodiscard]] bool has_its_end() const;
  [[nodiscard]] Clock::time_point last_heard() const;
  /// Whether something has been on its way for longer than its size allows.
  [[nodiscard]] bool overdue(Clock::time_point now) const;

  [[nodiscard]] const Peer& peer() const { return peer_; }
  /// Who the client is; set when it was greeted.
  [[nodiscard]] std::optional<ClientId> client() const;
  void identify(ClientId client, Origin origin = {});
  [[nodiscard]] Origin origin() const;

 private:
  struct Outgoing {
    v1::ServerFrame frame;
    Parcel parcel = {};
    std::size_t sent = 0;  ///< bytes of the parcel
    Clock::time_point began = {};
  };
  struct Incoming {
    Delivery delivery;
    Clock::time_point began = {};
    std::uint64_t received = 0;  ///< bytes, kept or not
  };

  /// Does what a frame asks for; whatever it throws becomes this session's end.
  void attend(const std::function<void()>& act);
  void handle(const v1::ClientFrame& frame);
  void check_size(const v1::Answer& head) const;
  /// Both return an answer that is whole now.
  [[nodiscard]] std::optional<Delivery> begin_answer(const v1::Answer& head, std::optional<v1::Verdict> objection);
  [[nodiscard]] std::optional<Delivery> take_piece(const v1::Piece& piece);
  void deliver(Delivery delivery);
  void check_freshness(const v1::ClientFrame& frame);
  void push(v1::ServerFrame frame, Parcel parcel = {});
  /// Forgets frames that are still to be written: newer ones make them useless.
  void drop_waiting(const std::function<bool(const v1::ServerFrame&)>& which);

  SessionEvents& events_;
  const Peer peer_;
  const Limits limits_;
  const std::string nonce_;
  const std::function<void()> wake_;
  mutable std::mutex mutex_;
  std::optional<ClientId> client_;
  Origin origin_;
  bool greeted_ = false;
  bool closing_ = false;
  bool aborted_ = false;
  std::uint64_t received_ = 0;
  std::uint64_t numbered_ = 0;  ///< frames given a number so far
  std::deque<Outgoing> outbox_;
  std::optional<Incoming> incoming_;
  std::optional<Clock::time_point> writing_;  ///< since when a frame is on its way out
  Clock::time_point last_heard_;
};

}  // namespace feroma::net
