#pragma once

#include <condition_variable>
#include <deque>
#include <filesystem>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <variant>

#include "feroma/core/stop.h"
#include "feroma/net/client_data.h"
#include "feroma/net/note.h"
#include "feroma/privacy/options.h"
#include "feroma/runtime/experiment.h"
#include "net/client_state.h"
#include "net/client_work.h"
#include "net/intake.h"
#include "net/watchdog.h"

namespace feroma::net {

struct AgentOptions {
  std::filesystem::path state;  ///< the client's own folder
  /// Which client this is: claimed where there are no certificates, else compared with what they say. Absent: whatever
  /// the certificate says.
  std::optional<std::uint32_t> id = {};
  PrivacyOptions privacy = {};         ///< the least that this client asks for; `off` asks for nothing
  std::filesystem::path witness = {};  ///< the file that counts what is told of the data; empty: there is none
  double patience_seconds = 10;        ///< for the server's first word; later it says how often it is heard
  Note note = {};
  double sign_seconds = 60;                ///< between lines that say that the client waits, at least
  const Clock* clock = &Clock::machine();  ///< every time above is by it, and the server's
};

/**
 * A client of a federation: says hello, takes the steps that the server asks for on its own data, and remembers what it
 * must not lose. One object serves any number of connections, one after the other.
 */
class Agent {
 public:
  /// Holds the state folder; an invalid_config error where another client does.
  Agent(AgentOptions options, ClientData& data, const Stop& stop);
  ~Agent();

  /// Works for the server at the other end until the connection ends.
  [[nodiscard]] Ending serve(ServerLink& link);
  /// Steps taken since the object was made; those answered from memory are not counted.
  [[nodiscard]] int steps() const { return steps_; }

 private:
  struct Work;
  struct Inbox;
  struct Wait;

  /// What is said first on a new connection.
  [[nodiscard]] v1::Hello hello();
  /// Reads the server's config and makes what the work needs; what cannot be agreed to is an error.
  void prepare_work(const v1::Welcome& welcome);
  /// Refuses a ledger that is behind what the server knows of it.
  void hold_to(const v1::Welcome& welcome) const;
  /// Tells the server that this client takes no part, so that nobody waits for it.
  void take_leave(ServerLink& link, Watchdog& watchdog, const std::string& why);
  /// Takes steps and remembers until the connection ends; `finished` is the last round that was.
  [[nodiscard]] Ending work(Inbox& inbox, Round finished);
  /// The next that arrives; now and then a line says that it is waited for.
  [[nodiscard]] Saying next_of(Inbox& inbox, const Wait& wait);
  void read_frames(ServerLink& link, const std::string& session, Watchdog& watchdog, Inbox& inbox);
  /// Lets the server know that the client is there, and that it goes when it is told to stop.
  void beat(const std::stop_token& end, double pause_seconds);
  [[nodiscard]] bool answer(const v1::Task& task, std::span<const std::byte> bytes);
  /// What the client has in a round; nothing, and why in `step`, where it cannot be read just now.
  [[nodiscard]] std::optional<ClientShard> shard_for(TakenStep& step);
  [[nodiscard]] TakenStep take(const v1::Task& task, std::span<const std::byte> bytes);
  /// The sums of its training samples, for the scale of everybody's inputs.
  [[nodiscard]] TakenStep survey(const v1::Task& task);
  /// Whether the server may ask this: the sums only where inputs are scaled, and before the first round.
  [[nodiscard]] bool may_be_asked(const v1::Task& task) const;
  void note(const std::string& text, std::initializer_list<log::Field> fields) const;

  AgentOptions options_;
  ClientData& data_;
  const Stop& stop_;
  const detail::PosixFile held_;  ///< the state folder
  std::unique_ptr<Work> work_;
  bool guarded_ = false;  ///< by the federation's config or by its own, so that reasons stay with the client
  int steps_ = 0;
  const std::string process_;       ///< a name that no other process has
  std::uint64_t attempts_ = 0;      ///< connections so far
  Clock::time_point next_sign_;     ///< of life, for people
  std::unique_ptr<Outbox> outbox_;  ///< of the present connection
};

}  // namespace feroma::net
