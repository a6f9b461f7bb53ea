#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <string_view>

#include "feroma/client/trainer.h"
#include "feroma/core/ids.h"
#include "feroma/core/rng.h"
#include "feroma/data/view.h"
#include "feroma/metrics/tally.h"
#include "feroma/models/message.h"

namespace feroma {

class Disclosure;

/// Where time goes; the keys of `seconds` in summary.json.
enum class Stage { data, train, profile, map, aggregate, evaluate, save };
inline constexpr std::array<std::string_view, 7> kStageNames{"data",      "train",    "profile", "map",
                                                             "aggregate", "evaluate", "save"};

/// Seconds spent per stage; workers keep their own and add them up.
struct StageSeconds {
  std::array<double, kStageNames.size()> values{};

  double& operator[](Stage stage) { return values[static_cast<std::size_t>(stage)]; }
  StageSeconds& operator+=(const StageSeconds& other);
};

/// Adds the time until its end of life to one stage.
class StageTimer {
 public:
  StageTimer(StageSeconds& seconds, Stage stage) : target_(seconds[stage]), start_(std::chrono::steady_clock::now()) {}
  ~StageTimer() { target_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count(); }
  StageTimer(const StageTimer&) = delete;
  StageTimer& operator=(const StageTimer&) = delete;

 private:
  double& target_;
  std::chrono::steady_clock::time_point start_;
};

/// What a client says about its own round, for the record; it is telemetry, not part of the protocol.
struct ClientReport {
  std::int64_t num_examples = 0;
  double train_loss = 0;
  Tally before;  ///< the received model on the held-out split
  Tally after;   ///< the locally trained model on the same split
};

/// Everything a client step may touch. There is no way from here to the server or to another client.
struct ClientContext {
  ClientId id{};
  Round round = 0;
  int window = 0;  ///< data version: changes when the client's data are replaced
  const View& train;
  const View& held_out;
  Message& state;  ///< what the client remembers between rounds; owned by the engine room, serialisable
  Rng rng;         ///< keyed by (run seed, client, round)
  Trainer& trainer;
  ClientReport& report;
  StageSeconds& seconds;
  /// The client's training data of a window it has reached, this one or an earlier one; for methods whose clients keep
  /// what they had. Anything else is an internal error.
  std::function<View(int window)> train_of_window = {};
  /// How the client tells of its data under a budget; null without one.
  Disclosure* disclosure = nullptr;
};

}  // namespace feroma
