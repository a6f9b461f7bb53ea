#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "net/flower_ids.h"
#include "net/flower_job.h"

namespace feroma::net {

/**
 * A Flower peer as a client of the hub, without the network: towards the hub it speaks our protocol, so that quorum,
 * deadlines and every check of answers hold for it too; towards the peer it speaks Flower's, one request at a time. The
 * transport calls `receive` for each message, never two at once, and writes what `next` gives; `wake` tells it to ask.
 */
class FlowerBridge {
 public:
  struct Options {
    std::string address;         ///< of the peer, for the log
    double restart_seconds = 0;  ///< when peers come again after the server was stopped
    TransferPace pace = {};      ///< of messages to the peer
    /// Told once whether the peer is let in, when it has said who it is.
    std::function<void(bool let_in)> judged = {};
  };

  FlowerBridge(Hub& hub, FlowerIds& ids, const FlowerDialect& dialect, Options options, std::function<void()> wake);

  void receive(const flower::ClientMessage& message);
  /// Something arrived that is no message.
  void receive_unreadable();
  /// What arrived could not be read, for want of memory most likely.
  void receive_failed(const std::exception& error);
  /// The next request; absent while the peer is busy or there is nothing to ask.
  [[nodiscard]] std::optional<flower::ServerMessage> next();
  /// What `next` gave is written.
  void wrote();
  /// Whether the goodbye was said: nothing will follow.
  [[nodiscard]] bool closing() const;
  /// Whether the connection is to be cut at once.
  [[nodiscard]] bool aborted() const;
  /// Keeps the hub from giving up on a peer that is silent because it trains, and gives up on one that does not take
  /// what it is sent; called now and then while it is connected.
  void beat();
  /// The connection is gone.
  void disconnected();

 private:
  /// A task that is arriving.
  struct Arriving {
    v1::Task task;
    Bytes bytes;
  };

  // ---- with the lock ----
  void read_frames();
  void take_task(Arriving arrived);
  void take_goodbye(const v1::Goodbye& goodbye);
  [[nodiscard]] std::optional<flower::ServerMessage> request(std::optional<FlowerReply>& reply);
  [[nodiscard]] std::optional<FlowerReply> handle(const flower::ClientMessage& message);
  /// What the peer says of itself becomes the greeting of a client, or a goodbye.
  void identify(const flower::ClientMessage::GetPropertiesRes& properties);
  void say_goodbye(double seconds);
  void abort(v1::Reason reason, const std::string& why);
  /// Something that only the transport must not see ended what a message began.
  void abort(const std::exception& error);

  // ---- without it ----
  /// Whether the peer was cut off just now.
  [[nodiscard]] bool give_up_if_overdue();
  void greet(const v1::Hello& hello);
  void deliver(const FlowerReply& reply);
  void send(v1::ClientFrame frame);

  Hub& hub_;
  FlowerIds& ids_;
  const FlowerDialect& dialect_;
  const Options options_;
  const std::function<void()> wake_;
  const std::shared_ptr<Session> session_;

  mutable std::mutex mutex_;  // never held while the session is told anything
  std::string nonce_;         ///< empty before the welcome
  std::optional<ClientId> id_;
  std::optional<v1::Hello> hello_;  ///< to be sent
  std::optional<Arriving> arriving_;
  std::optional<FlowerJob> waiting_;
  std::optional<FlowerJob> job_;
  FlowerPeer peer_;
  bool introduced_ = false;                         ///< the peer was asked who it is
  bool busy_ = false;                               ///< it was asked something and has not answered
  std::optional<Clock::time_point> write_ends_by_;  ///< where something is on its way out
  std::optional<std::int64_t> goodbye_;
  bool closing_ = false;
  bool aborted_ = false;

  std::mutex sending_;  // keeps an answer and its pieces together
  std::uint64_t sent_ = 0;
};

}  // namespace feroma::net
