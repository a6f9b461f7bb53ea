// Clustered federated learning with clients that answer what a test says.
#pragma once

#include <set>

#include "feroma/algorithms/cfl.h"
#include "tests/algorithms/toy_run.h"

namespace feroma::test {

using Steps = std::map<std::uint32_t, std::vector<float>>;  // what each client adds to the first parameters
using Groups = std::vector<std::set<std::uint32_t>>;

/// A server whose clients answer what the test says.
class Scripted {
 public:
  explicit Scripted(const CflOptions& options = {}, ModelSpec model = toy_model({1, 2, 2}, 2))
      : algorithm_(make_cfl(options)) {
    ServerContext server;
    server.initial = share(Parameters(make_layout(model)));
    algorithm_->init(server);
  }

  void play(const Steps& steps, std::int64_t examples = 10) {
    ++round_;
    std::map<ClientId, Message> answers;
    for (const auto& [client, step] : steps) {
      Parameters model = received(client)->clone();
      for (std::size_t i = 0; i < step.size(); ++i) {
        model.values()[i] += step[i];
      }
      answers[ClientId{client}] = {{{"model", share(std::move(model))}, {"num_examples", Ints{examples}}}};
    }
    StageSeconds seconds;
    algorithm_->uplink(round_, 0, answers, seconds);
  }

  /// Rounds in which all clients move alike, so that there is a largest mean update.
  void move_together(std::uint32_t clients, int rounds) {
    Steps steps;
    for (std::uint32_t k = 0; k < clients; ++k) {
      steps[k] = {3, 3};
    }
    for (int i = 0; i < rounds; ++i) {
      play(steps);
    }
  }

  [[nodiscard]] ParametersPtr received(std::uint32_t client) const {
    return algorithm_->downlink(round_, 0, ClientId{client}).model("model");
  }
  [[nodiscard]] Groups groups() const {
    const ClusterView view = *algorithm_->clusters();
    Groups groups(view.models.size());
    for (const auto& [client, shares] : view.shares) {
      for (std::size_t c = 0; c < shares.size(); ++c) {
        if (shares[c] == 1) {
          groups[c].insert(to_index(client));
        }
      }
    }
    return groups;
  }
  [[nodiscard]] Algorithm& algorithm() { return *algorithm_; }

 private:
  std::unique_ptr<Algorithm> algorithm_;
  Round round_ = 0;
};

/// Even clients pull one way and odd ones the other, with a little noise.
inline Steps opposed(std::uint32_t clients, float length) {
  Steps steps;
  for (std::uint32_t k = 0; k < clients; ++k) {
    const float sign = k % 2 == 0 ? 1.0F : -1.0F;
    steps[k] = {sign * length, sign * length, 0.01F * static_cast<float>(k)};
  }
  return steps;
}

}  // namespace feroma::test
