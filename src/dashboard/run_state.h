#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "feroma/report/record.h"
#include "report/client_line.h"

namespace feroma::dashboard {

/// A profile that moved further than this, in units of its sampling noise, is an alarm.
inline constexpr double kAlarm = 3;
inline constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();
/// Rounds of an algorithm that are kept at most; beyond, every other one is forgotten.
inline constexpr std::size_t kMostRounds = 20000;
/// Clients of an algorithm that are kept; of others it is only known that there are some.
inline constexpr std::size_t kMostClients = 200000;

/// One point of the curves.
struct RoundPoint {
  RoundRecord record;  ///< without clients
  int dropped = 0;
  int alarms = 0;
  int drift_known = 0;  ///< clients of which it is known how far their profiles moved
};

/// How accurate clients were in a round.
struct Spread {
  int round = 0;
  double low = kUnknown;  ///< a tenth of them is below
  double middle = kUnknown;
  double high = kUnknown;
  std::size_t clients = 0;
};

/// The last that is known of a client.
struct ClientState {
  int rounds = 0;  ///< that it took part in
  int last_round = 0;
  double last_time = kUnknown;  ///< seconds since 1970
  int distribution = 0;
  std::int64_t num_examples = 0;
  double loss = kUnknown;
  double accuracy_before = kUnknown;
  double accuracy_after = kUnknown;
  std::string strategy;
  std::int64_t bytes_up = 0;
  std::int64_t bytes_down = 0;
  int drops = 0;
  int last_drop = 0;   ///< the round
  std::string reason;  ///< of the last one
  double moved = kUnknown;
  int alarms = 0;
  int last_alarm = 0;  ///< the round
  double epsilon = kUnknown;

  /// Whether its profile moved too far in the last round it took part in.
  [[nodiscard]] bool alarmed() const { return last_alarm > 0 && last_alarm == last_round; }
};

/// Where a line, or the lines of a round, stand; they are read again when somebody asks.
struct Place {
  int round = 0;
  std::uint64_t offset = 0;
  std::size_t size = 0;
};

/// The place of a round or, where it has none, of the last one before it; null before the first.
[[nodiscard]] const Place* place_of(const std::vector<Place>& places, int round);

struct AlgorithmState {
  std::string label;
  std::vector<RoundPoint> rounds;
  int stride = 1;      ///< one in so many rounds is kept
  int last_round = 0;  ///< that was finished
  double seconds = 0;  ///< of all rounds
  double recent = 0;   ///< of a round, lately
  std::int64_t bytes_up = 0;
  std::int64_t bytes_down = 0;
  std::vector<Spread> spreads;
  std::uint64_t client_rows = 0;  ///< of clients.csv that were read
  std::unordered_map<std::uint32_t, ClientState> clients;
  bool has_more_clients = false;  ///< than are kept
  std::map<int, int> drops;       ///< of rounds that are not finished yet
  std::vector<Place> mixing;      ///< lines of events.jsonl
  std::vector<Place> profiles;
  std::vector<Place> client_columns;
  std::vector<Place> client_lines;  ///< of clients.csv
  std::optional<ResultRecord> result;
};

/// What is damaged, as far as anybody wants to read it.
struct Damage {
  std::vector<std::string> first;
  std::size_t count = 0;

  void add(std::string text);
};

/**
 * A run as its growing files tell it, aggregated: what is kept depends on the number of rounds and clients, never on
 * their product. Lines may come in any order between the two files. Owned by one thread at a time.
 */
class RunState {
 public:
  /// A line of events.jsonl; what cannot be read is added to the damage.
  void take_event(std::string_view text, const std::string& where, std::uint64_t offset);
  /// A line of clients.csv.
  void take_client(std::string_view text, const std::string& where, std::uint64_t offset);
  /// The accuracies of the round whose lines came last, so far.
  void settle();

  [[nodiscard]] const AlgorithmState* find(const std::string& label) const;

  std::map<std::string, std::string> config;  ///< dotted keys, values as they are written in a config
  std::vector<AlgorithmState> algorithms;     ///< in the order in which they appeared
  bool finished = false;
  bool refused = false;  ///< of a version that is not known: nothing of it is read
  int resumed = 0;
  Damage damage;
  detail::ClientLines client_columns;  ///< of clients.csv, as its first line has them

 private:
  AlgorithmState& algorithm(const std::string& label);
  ClientState* client(AlgorithmState& algorithm, std::uint32_t id);
  friend class EventReader;

  struct Batch {
    std::string label;
    int round = 0;
    std::vector<double> accuracies;
  };
  Batch batch_;
  bool foreign_clients_ = false;  ///< clients.csv lacks columns
};

}  // namespace feroma::dashboard
