#pragma once

#include <memory>
#include <vector>

#include "tests/algorithms/toy_run.h"

namespace feroma::test {

/// One client that answers an algorithm by hand, round by round, on data that never change.
class OneClient {
 public:
  explicit OneClient(std::unique_ptr<Algorithm> tested, FitOptions fit = {2, 16, 0.2, 0.9, MomentumReset::round},
                     MakeEngine make_engine = make_toy_engine, int clients = 0)
      : run(still_scenario(), 1, std::move(make_engine)),
        algorithm(std::move(tested)),
        pool(run.federation, run.workers, Rng(42), run.stop) {
    ServerContext server;
    server.model = run.model;
    server.initial = share(initialise(run.model, Rng(42).derive("init")));
    server.fit = fit;
    server.rng = Rng(42).derive("server");
    server.clients = clients;
    algorithm->init(server);
  }

  /// The client's part of a round; a client that drops out fails the test.
  ClientOutcome step(Round round = 1, int phase = 0) {
    const std::vector<ClientId> one{ClientId{0}};
    return pool.exchange(*algorithm, round, phase, one).at(ClientId{0});
  }
  /// Both parts of a round; returns the client's answer.
  Message play(Round round = 1) {
    Message answer = std::get<ClientAnswer>(step(round).answer).message;
    std::map<ClientId, Message> answers{{ClientId{0}, answer}};
    StageSeconds seconds;
    algorithm->uplink(round, 0, answers, seconds);
    return answer;
  }
  [[nodiscard]] const Message& memory() const {
    const std::vector<ClientId> one{ClientId{0}};
    return *pool.memories(one).at(ClientId{0});
  }

  ToyRun run;
  std::unique_ptr<Algorithm> algorithm;
  SimulatedPool pool;

 private:
  static ScenarioOptions still_scenario() {
    ScenarioOptions scenario = toy_scenario();
    scenario.drifts = 1;
    return scenario;
  }
};

/// Loss (curvature / 2) * ||params - centre||^2 whatever the data are, so that minima are known; all samples weigh as
/// much as the first.
class QuadraticEngine final : public Engine {
 public:
  QuadraticEngine(ModelSpec spec, float curvature, float centre)
      : spec_(std::move(spec)), curvature_(curvature), centre_(centre) {}

  [[nodiscard]] std::string_view name() const override { return "quadratic"; }
  [[nodiscard]] BatchLayout layout() const override { return BatchLayout::sample_major; }
  using Engine::gradient;
  double gradient(Parameters& params, const Batch& batch, const Objective&, std::span<float> gradient) override {
    const float curvature = curvature_ * (batch.weights.empty() ? 1.0F : batch.weights.front());
    double loss = 0;
    for (std::size_t i = 0; i < gradient.size(); ++i) {
      const float away = params.values()[i] - centre_;
      gradient[i] = curvature * away;
      loss += 0.5 * static_cast<double>(curvature * away * away);
    }
    return loss;
  }
  [[nodiscard]] Activations forward(const Parameters&, const Batch& batch, Latent) override {
    const auto size = static_cast<std::size_t>(batch.size);
    return {batch.size, spec_.classes, 1, std::vector<float>(size * static_cast<std::size_t>(spec_.classes)),
            std::vector<float>(size)};
  }

 private:
  ModelSpec spec_;
  float curvature_;
  float centre_;
};

inline MakeEngine make_quadratic(float curvature, float centre) {
  return [=](const ModelSpec& spec) { return std::make_unique<QuadraticEngine>(spec, curvature, centre); };
}

/// Every client has its own labels for the same pictures, so that one model cannot serve all.
inline ScenarioOptions concept_scenario() {
  ScenarioOptions scenario = toy_scenario();
  scenario.shift = Shift::concept_label;
  scenario.level = Level::high;
  scenario.swapped_classes = 8;
  return scenario;
}

/// The same without drift and with time enough to learn it.
inline ScenarioOptions lasting_concepts() {
  ScenarioOptions scenario = concept_scenario();
  scenario.drifts = 1;
  scenario.rounds = 20;
  return scenario;
}

inline std::vector<float> bits_of(const ParametersPtr& model) {
  return {model->values().begin(), model->values().end()};
}

}  // namespace feroma::test
