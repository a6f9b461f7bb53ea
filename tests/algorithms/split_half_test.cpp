// Profiles of real data tell distributions apart: what sampling moves is small beside what a shift moves.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "feroma/algorithms/extractor.h"
#include "feroma/algorithms/registry.h"
#include "feroma/data/catalog.h"
#include "feroma/mapping/match.h"
#include "feroma/runtime/round_loop.h"

namespace feroma {
namespace {

constexpr int kWarmup = 5;
constexpr int kHalvedClients = 12;

double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2), values.end());
  return values[values.size() / 2];
}

/// Every second sample of a client's data, starting at `first`.
View half(const View& view, std::size_t first) {
  View part = view;
  part.items.clear();
  for (std::size_t i = first; i < view.size(); i += 2) {
    part.items.push_back(view.items[i]);
  }
  return part;
}

struct Separation {
  double within = 0;   ///< median distance between two halves of one client's data
  double between = 0;  ///< median distance between clients of different distributions
};

/// Warms a LeNet-5 up for five rounds of FedAvg, then profiles halves of every client's data with it.
Separation separation(const FeromaOptions& options) {
  ScenarioOptions scenario;
  scenario.dataset = "fmnist";
  scenario.clients = kHalvedClients;
  scenario.rounds = kWarmup;
  scenario.drifts = 1;
  scenario.level = Level::medium;
  const Federation federation(load_dataset("fmnist", ""), scenario);
  const ModelSpec model = lenet5(federation.shape(), federation.classes());
  std::atomic<bool> stop = false;
  Workers workers(2, [&] { return make_engine(EngineKind::native, model); });
  const Rng rng(7);
  ServerContext server;
  server.model = model;
  server.initial = share(initialise(model, rng.derive("init")));
  Problems problems;
  SettingsReader reader(parse_settings("[[algorithm]]\nname = 'fedavg'", "test"), problems);
  const AlgorithmPlan plan = plan_algorithm(reader, "algorithm.0", problems);
  RoundLoop loop({federation, plan, server, workers, rng, stop, std::nullopt});
  while (loop.finished_rounds() < kWarmup) {
    static_cast<void>(loop.play_round());
  }
  const ParametersPtr encoder = loop.algorithm().served().front().model;
  const Extractor extractor{encoder, orthonormal_projector(encoder_width(options, model), options.dimensions, rng)};
  const std::unique_ptr<Engine> engine = make_engine(EngineKind::native, model);
  Trainer trainer(*engine);
  std::array<std::vector<Profile>, 2> halves;
  std::vector<int> ids;
  for (std::uint32_t k = 0; k < kHalvedClients; ++k) {
    const ClientShard shard = federation.shard(ClientId{k}, kWarmup);
    ids.push_back(shard.distribution);
    for (const std::size_t h : {0U, 1U}) {
      const EncodedSamples samples = encode_samples(options, encoder, trainer, half(shard.train, h), true);
      halves[h].push_back(extract_profile(options, extractor, samples, model.classes, Subsampling::off, rng));
    }
  }
  std::vector<Profile> all = halves[0];
  all.insert(all.end(), halves[1].begin(), halves[1].end());
  const Gauge gauge = fit_gauge(options.metric, profile_shape(options, model), false, {}, all);
  const Matrix distances = compare(gauge, halves[0], halves[1]).plain();
  std::vector<double> within;
  std::vector<double> between;
  for (std::size_t a = 0; a < kHalvedClients; ++a) {
    within.push_back(distances.at(a, a));
    for (std::size_t b = 0; b < kHalvedClients; ++b) {
      if (ids[a] != ids[b]) {
        between.push_back(distances.at(a, b));
      }
    }
  }
  return {median(within), median(between)};
}

class SplitHalfSlow : public testing::TestWithParam<Metric> {};

TEST_P(SplitHalfSlow, HalvesAreAtLeastFiveTimesNearerThanOtherDistributions) {
  FeromaOptions options;
  options.metric = GetParam();
  const Separation found = separation(options);
  EXPECT_GT(found.within, 0);
  EXPECT_GE(found.between, 5 * found.within) << "within " << found.within << ", between " << found.between;
}

INSTANTIATE_TEST_SUITE_P(Metrics, SplitHalfSlow, testing::Values(Metric::euclidean, Metric::reliable),
                         [](const auto& tested) { return std::string(name_of(tested.param)); });

}  // namespace
}  // namespace feroma
