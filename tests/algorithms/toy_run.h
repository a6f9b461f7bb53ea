#pragma once

#include <algorithm>
#include <atomic>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "feroma/algorithms/registry.h"
#include "feroma/runtime/round_loop.h"
#include "tests/toy_engine.h"

namespace feroma::test {

using MakeEngine = std::function<std::unique_ptr<Engine>(const ModelSpec&)>;
inline std::unique_ptr<Engine> make_toy_engine(const ModelSpec& model) { return std::make_unique<ToyEngine>(model); }

/// A whole federation in memory: toy data, toy model, one or more workers.
class ToyRun {
 public:
  explicit ToyRun(ScenarioOptions scenario = toy_scenario(), int threads = 1, MakeEngine make_engine = make_toy_engine)
      : federation(toy_dataset(), scenario),
        model(toy_model(federation.shape(), federation.classes())),
        workers(threads, [this, make_engine] { return make_engine(model); }) {}

  /// The loop of an algorithm given as TOML, e.g. "name = 'feroma'\nwarmup_rounds = 2".
  /// `wrap` may put a layer around every algorithm that is made.
  using Wrap = std::function<std::unique_ptr<Algorithm>(std::unique_ptr<Algorithm>)>;
  RoundLoop loop(const std::string& algorithm, std::optional<std::uint64_t> task_order_seed = std::nullopt,
                 const MembershipOptions& membership = {}, const Wrap& wrap = {}) {
    return RoundLoop(setup(algorithm, task_order_seed, membership, wrap));
  }
  /// What the loop is made of, for tests that change some of it.
  RoundLoop::Setup setup(const std::string& algorithm, std::optional<std::uint64_t> task_order_seed = std::nullopt,
                         const MembershipOptions& membership = {}, const Wrap& wrap = {}) {
    Problems problems;
    SettingsReader reader(parse_settings("[[algorithm]]\n" + algorithm, "test"), problems);
    plans.push_back(std::make_unique<AlgorithmPlan>(plan_algorithm(reader, "algorithm.0", problems)));
    reader.reject_unknown();
    problems.raise();
    if (wrap) {
      plans.back()->make = [make = plans.back()->make, wrap] { return wrap(make()); };
    }
    ServerContext server;
    server.model = model;
    const Rng rng(static_cast<std::uint64_t>(federation.options().seed));
    server.initial = share(initialise(model, rng.derive("init")));
    server.fit = {2, 16, 0.2, 0.9, MomentumReset::round};
    server.rng = rng.derive("server");
    const ScenarioOptions& scenario = federation.options();
    server.clients = scenario.clients - membership.test_only;
    return {
        federation, *plans.back(), std::move(server), workers,
        rng,        stop,          task_order_seed,   Membership(membership, scenario.clients, scenario.rounds, rng),
        attack};
  }

  Federation federation;
  ModelSpec model;
  AttackOptions attack;  ///< of the loops made from here on
  std::atomic<bool> stop = false;
  std::vector<std::unique_ptr<AlgorithmPlan>> plans;
  Workers workers;
};

/// The bits of everything an algorithm serves.
inline std::vector<float> served_bits(const Algorithm& algorithm) {
  std::vector<float> bits;
  for (const ServedModel& served : algorithm.served()) {
    bits.insert(bits.end(), served.model->values().begin(), served.model->values().end());
    bits.insert(bits.end(), served.profile.begin(), served.profile.end());
  }
  return bits;
}

/// What the round loop does with answers, but that the error of one that is refused comes through.
inline void deliver(Algorithm& algorithm, Round round, int phase, std::map<ClientId, Message> answers) {
  for (const auto& [client, answer] : answers) {
    algorithm.check_answer(round, phase, client, answer);
  }
  StageSeconds seconds;
  algorithm.uplink(round, phase, answers, seconds);
}

/// Everything the clients remember, by client and name; bits survive the way through double.
using RememberedBits = std::map<ClientId, std::map<std::string, std::vector<double>>>;
inline RememberedBits remembered_bits(const RoundLoop& loop) {
  RememberedBits bits;
  for (const auto& [client, memory] : loop.memories()) {
    for (const auto& [name, value] : memory->values) {
      std::vector<double>& out = bits[client][name];
      if (const auto* model = std::get_if<ParametersPtr>(&value)) {
        out.assign((*model)->values().begin(), (*model)->values().end());
      } else if (const auto* floats = std::get_if<Floats>(&value)) {
        out.assign(floats->begin(), floats->end());
      } else {
        const Ints& ints = std::get<Ints>(value);
        std::transform(ints.begin(), ints.end(), std::back_inserter(out),
                       [](std::int64_t one) { return static_cast<double>(one); });
      }
    }
  }
  return bits;
}

inline void play_all(RoundLoop& loop) {
  while (loop.finished_rounds() < loop.rounds()) {
    static_cast<void>(loop.play_round());
  }
}

}  // namespace feroma::test
