#include <algorithm>
#include <map>

#include "bench/measurements.h"
#include "bench/memory_meter.h"
#include "bench/workload.h"
#include "feroma/algorithms/extractor.h"
#include "feroma/algorithms/feroma.h"
#include "feroma/core/error.h"

namespace feroma::detail {
namespace {

constexpr std::size_t kClients = 1000;
constexpr std::size_t kSamplesPerClient = 1600;
const char* const kShare = "map_aggregate_share_k1000";
const char* const kMemory = "map_aggregate_memory_k1000";

/// Preset auto without a warm-up: profiles exist from the first round on.
FeromaOptions options_without_warmup() {
  FeromaOptions options = feroma_preset("auto");
  options.warmup_rounds = 0;
  return options;
}

/// A client like no other: every coordinate tells something, and nobody is so near that the rest weighs nothing.
std::vector<float> distinct_profile(const ProfileShape& shape, std::size_t client) {
  Rng rng = Rng(3).derive("profile", client);
  std::vector<float> values(shape.size());
  for (float& value : values) {
    value = static_cast<float>(rng.uniform(0.5, 1.0));
  }
  std::fill(values.end() - shape.classes, values.end(), 1.0F / static_cast<float>(shape.classes));
  return values;
}

/// The server's side of Feroma among a thousand clients, fed with messages as in a run; no client computes.
class ThousandClients {
 public:
  explicit ThousandClients(const ModelSpec& spec) : algorithm_(make_feroma(options_without_warmup())) {
    const ProfileShape shape = profile_shape(options_without_warmup(), spec);
    ServerContext server;
    server.model = spec;
    server.initial = share(initialise(spec, Rng(4)));
    algorithm_->init(server);
    for (std::size_t i = 0; i < kClients; ++i) {
      const auto client = static_cast<ClientId>(i);
      profiles_[client] = {{{"profile", distinct_profile(shape, i)}, {"num_samples", Ints{400}}}};
      models_[client] = {{{"model", share(initialise(spec, Rng(i)))},
                          {"num_examples", Ints{static_cast<std::int64_t>(kSamplesPerClient)}},
                          {"gain", Ints{1}}}};
    }
    model_bytes_ = static_cast<double>(kClients * server.initial->size() * sizeof(float));
    static_cast<void>(receive_profiles());
    receive_models();
  }

  /// Maps every client to last round's models and mixes them: seconds of both stages.
  [[nodiscard]] StageSeconds receive_profiles() {
    StageSeconds seconds;
    algorithm_->uplink(++round_, /*phase=*/0, profiles_, seconds);
    return seconds;
  }
  void receive_models() {
    StageSeconds ignored;
    algorithm_->uplink(round_, /*phase=*/1, models_, ignored);
  }
  [[nodiscard]] double model_bytes() const { return model_bytes_; }
  [[nodiscard]] bool dense() const {
    const std::vector<double>& weights = algorithm_->trace()->mixing.values;
    return !weights.empty() &&
           std::all_of(weights.begin(), weights.end(), [](double w) { return static_cast<float>(w) > 0; });
  }

 private:
  std::unique_ptr<Algorithm> algorithm_;
  std::map<ClientId, Message> profiles_;
  std::map<ClientId, Message> models_;
  double model_bytes_ = 0;
  Round round_ = 0;
};

}  // namespace

Readings measure_thousand(const BenchOptions& options) {
  say(options, "mapping and mixing 1000 clients, and one client's training, in turns on one thread");
  const ModelSpec spec = lenet5({3, 28, 28}, 10);
  const auto engine = make_engine(EngineKind::native, spec);
  Trainer trainer(*engine);
  const NoiseClient client(kSamplesPerClient);
  ThousandClients clients(spec);
  std::vector<double> shares;
  std::vector<double> maps;
  std::vector<double> mixes;
  std::vector<double> trainings;
  std::vector<double> growths;
  for (int repeat = 0; repeat < (options.quick ? 1 : 5); ++repeat) {
    Parameters params = initialise(spec, Rng(5));
    trainings.push_back(thread_seconds_of([&] { trainer.fit(params, client.view(), FitOptions{}, Rng(6)); }));
    const MemoryMeter meter;
    StageSeconds seconds;
    const double server = thread_seconds_of([&] { seconds = clients.receive_profiles(); });
    if (const auto growth = meter.peak_growth_bytes()) {
      growths.push_back(*growth / clients.model_bytes());
    }
    require(clients.dense(), ErrorCode::internal, "[bench] every weight of the mixing must be above zero");
    clients.receive_models();
    // The stages are timed by the wall; their sum is the processor time of the whole exchange.
    const double mapped = seconds[Stage::map] / (seconds[Stage::map] + seconds[Stage::aggregate]);
    maps.push_back(server * mapped);
    mixes.push_back(server * (1 - mapped));
    shares.push_back(server / (static_cast<double>(kClients) * trainings.back()));
  }
  Readings readings;
  readings.notes[kShare] = "both in processor seconds of one thread; training is one client's times 1000";
  readings.values[kShare] = quartiles_of(shares);
  readings.values["map_k1000_s"] = quartiles_of(maps);
  readings.values["aggregate_k1000_s"] = quartiles_of(mixes);
  readings.values["train_one_client_s"] = quartiles_of(trainings);
  if (growths.empty()) {
    readings.notes[kMemory] = "this system does not tell a process's peak memory";
  } else {
    readings.values[kMemory] = quartiles_of(growths);
  }
  return readings;
}

}  // namespace feroma::detail
