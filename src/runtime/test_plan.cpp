#include "feroma/runtime/test_plan.h"

#include <algorithm>
#include <map>
#include <set>

#include "feroma/models/cost.h"
#include "feroma/models/spec.h"

namespace feroma {
namespace {

/// A forward pass, where a training step on a sample (a pass forward and one backward) is 1.
constexpr double kForward = 0.45;
constexpr double kBackward = 1 - kForward;
/// What a round scores on held-out samples: what clients received, what they trained, and what they would be served.
constexpr double kValidations = 3;

/// Clients need not have equally much; so many are looked at, evenly.
constexpr std::size_t kLookedAt = 16;

/// What all clients take together, from some of them; `cost_of(client)`.
template <class CostOf>
double over_clients(std::size_t clients, CostOf cost_of) {
  const std::size_t some = std::min(clients, kLookedAt);
  double sum = 0;
  for (std::size_t i = 0; i < some; ++i) {
    sum += cost_of(static_cast<ClientId>(i * clients / some));
  }
  return some == 0 ? 0 : sum * static_cast<double>(clients) / static_cast<double>(some);
}

double cost_of(const Passes& passes) {
  return kForward * static_cast<double>(passes.forward) + kBackward * static_cast<double>(passes.backward);
}

/// Mixing so many models for a client, whose profiles are compared with one another. Both wait for memory, which makes
/// them dearer than their arithmetic.
double cost_of_mixing(int models, const ModelSpec& model) {
  constexpr double kParameter = 50;  // multiply-adds that take as long
  constexpr double kPair = 8000;
  const auto parameters = static_cast<double>(make_layout(model)->size);
  const double step = std::max(step_products(model), 3 * parameters);  // of a model from a file nothing else is known
  return (models * parameters * kParameter + static_cast<double>(models) * models * kPair) / step;
}

/// The share of the test clients whose distribution no training client has at a stage.
double strangers_at(const Federation& federation, std::size_t trained, std::size_t stage) {
  const Schedule& schedule = federation.schedule();
  std::set<int> held;
  for (std::size_t client = 0; client < trained; ++client) {
    held.insert(schedule.ids[client][stage]);
  }
  const auto clients = static_cast<std::ptrdiff_t>(federation.test_clients());
  const auto strangers = std::count_if(schedule.test_ids.begin(), schedule.test_ids.begin() + clients,
                                       [&held](int id) { return !held.contains(id); });
  return static_cast<double>(strangers) / static_cast<double>(clients);
}

/// What a run takes, in training steps on a sample.
class Costs {
 public:
  Costs(const Experiment& experiment, const Federation& federation, const ModelSpec& model,
        const std::vector<AlgorithmCheck>& checks) {
    const ScenarioOptions& scenario = experiment.scenario;
    const auto trained = static_cast<std::size_t>(scenario.clients - experiment.membership.test_only);
    const double round = scenario.participation * over_clients(trained, [&](ClientId client) {
                           const ClientShard shard = federation.shard(client, 1);
                           return experiment.training.fit.local_epochs * static_cast<double>(shard.train.size()) +
                                  kValidations * kForward * static_cast<double>(shard.held_out.size());
                         });
    const double samples = over_clients(federation.test_clients(), [&](ClientId client) {
      return static_cast<double>(federation.test(client, 0).data.size());
    });
    double known = 0;
    double stranger = 0;
    double mixing = 0;
    for (const AlgorithmCheck& check : checks) {
      if (!check.not_applicable) {
        training_ += round * (scenario.rounds + check.extra_rounds);
        known += cost_of(check.to_serve);
        stranger += cost_of(check.to_serve_stranger);
        mixing += static_cast<double>(federation.test_clients()) * cost_of_mixing(check.mixed_to_serve, model);
      }
    }
    // The last round's test is the final one.
    std::map<std::size_t, double> strangers;
    for (Round r = 1; r < scenario.rounds && stranger > known; ++r) {
      const auto stage = static_cast<std::size_t>(federation.schedule().stage_of_round[static_cast<std::size_t>(r)]);
      if (const auto [at, is_new] = strangers.try_emplace(stage); is_new) {
        at->second = strangers_at(federation, trained, stage);
      }
      tests_.push_back(mixing + samples * (known + strangers[stage] * (stranger - known)));
    }
    tests_.resize(static_cast<std::size_t>(scenario.rounds - 1), mixing + samples * known);
  }

  /// The share that tests every so many rounds have.
  [[nodiscard]] double share_of_tests(int every) const {
    double tests = 0;
    for (std::size_t round = static_cast<std::size_t>(every); round <= tests_.size();
         round += static_cast<std::size_t>(every)) {
      tests += tests_[round - 1];
    }
    return tests == 0 ? 0 : tests / (training_ + tests);
  }

 private:
  double training_ = 0;
  std::vector<double> tests_;  ///< by round, from the first to the last but one
};

}  // namespace

TestPlan plan_tests(const Experiment& experiment, const Federation& federation, const ModelSpec& model,
                    const std::vector<AlgorithmCheck>& checks) {
  TestPlan plan{experiment.evaluation.every, 0};
  if (plan.every == 0) {
    return plan;
  }
  const Costs costs(experiment, federation, model, checks);
  if (plan.every == EvaluationOptions::kAutomatic) {
    plan.every = 1;
    while (plan.every < experiment.scenario.rounds && costs.share_of_tests(plan.every) > kMostForTests) {
      ++plan.every;
    }
  }
  plan.share = costs.share_of_tests(plan.every);
  return plan;
}

}  // namespace feroma
