#pragma once

#include <map>
#include <memory>
#include <numeric>
#include <vector>

#include "feroma/algorithms/algorithm.h"
#include "feroma/engine/engine.h"

namespace feroma::test {

/// What a round costs a LeNet-5 client with one picture of each class.
struct RoundCost {
  std::int64_t bytes_down = 0;
  std::int64_t bytes_up = 0;
  Passes passes;
};
inline constexpr std::int64_t kLeNetBytes = 4 * 61706;
inline constexpr std::int64_t kCostSamples = 10;

/// Who takes part until the round that is looked at.
struct LeNetRounds {
  Round last = 1;                 ///< the round that is looked at
  std::uint32_t clients = 1;      ///< all with the same pictures
  std::vector<int> windows = {};  ///< the data version of every round; empty: always the first
  Round scheduled = 20;           ///< rounds before those that a method adds
};

/// Plays rounds of two epochs with batches of four; what the first client's last one cost.
inline RoundCost lenet_cost(Algorithm& algorithm, const LeNetRounds& rounds = {}) {
  Samples samples;
  samples.shape = {1, 28, 28};
  samples.labels.resize(kCostSamples);
  std::iota(samples.labels.begin(), samples.labels.end(), 0);
  samples.pixels.resize(kCostSamples * 28 * 28, 9);
  Recipe recipe;
  recipe.transform_of_class.resize(10);
  recipe.label_of_class = samples.labels;
  const std::vector<Recipe> recipes{recipe};
  View view{&samples, recipes, samples.shape, {}};
  for (std::uint32_t i = 0; i < kCostSamples; ++i) {
    view.items.push_back({i, 0});
  }
  const ModelSpec spec = lenet5(samples.shape, 10);
  ServerContext server;
  server.model = spec;
  server.initial = share(initialise(spec, Rng(1)));
  server.fit = {2, 4, 0.01, 0.9, MomentumReset::round};
  server.rounds = rounds.scheduled;
  algorithm.init(server);
  const std::unique_ptr<Engine> engine = make_engine(EngineKind::native, spec);
  Trainer trainer(*engine);
  RoundCost cost;
  std::vector<Message> states(rounds.clients);
  for (Round round = 1; round <= rounds.last; ++round) {
    cost = {};
    const int window = rounds.windows.empty() ? 0 : rounds.windows[static_cast<std::size_t>(round) - 1];
    for (int phase = 0; phase < algorithm.phases(round); ++phase) {
      std::map<ClientId, Message> answers;
      StageSeconds seconds;
      for (std::uint32_t client = 0; client < rounds.clients; ++client) {
        const ClientId id{client};
        ClientReport report;
        ClientContext context{id,
                              round,
                              window,
                              view,
                              view,
                              states[client],
                              Rng(2).derive("client", client),
                              trainer,
                              report,
                              seconds,
                              [&](int) { return view; }};
        const Passes before = trainer.passes();
        const Message down = algorithm.downlink(round, phase, id);
        const Message up = algorithm.client_step(round, algorithm.task(round, phase), context, down);
        if (client == 0) {
          cost.bytes_down += down.bytes();
          cost.bytes_up += up.bytes();
          cost.passes += trainer.passes() - before;
        }
        answers[id] = up;
      }
      algorithm.uplink(round, phase, answers, seconds);
    }
  }
  return cost;
}

}  // namespace feroma::test
