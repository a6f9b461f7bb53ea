#pragma once

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <vector>

#include "feroma/algorithms/algorithm.h"
#include "feroma/evaluation/serve.h"
#include "tests/toy_engine.h"

namespace feroma::test {

/// Clients that see the same kind of pictures and name them in two ways: the second half of them swaps the classes in
/// pairs. Plays rounds by hand, so that a test can look at every message.
class TwoConcepts {
 public:
  static constexpr int kClasses = 10;

  explicit TwoConcepts(std::uint32_t clients = 6, std::size_t samples_each = 60)
      : samples_(toy_samples(clients * samples_each, kClasses, Rng(7))),
        spec_(toy_model(samples_.shape, kClasses)),
        engine_(spec_),
        trainer_(engine_),
        states_(clients) {
    recipes_.resize(2);
    for (std::int32_t u = 0; u < kClasses; ++u) {
      for (Recipe& recipe : recipes_) {
        recipe.transform_of_class.emplace_back();
      }
      recipes_[0].label_of_class.push_back(u);
      recipes_[1].label_of_class.push_back(u % 2 == 0 ? u + 1 : u - 1);
    }
    for (std::uint32_t client = 0; client < clients; ++client) {
      give(client, client < clients / 2 ? 0 : 1, [](std::int32_t) { return true; });
    }
  }

  /// Replaces a client's data by those of a concept, and of the wanted classes alone.
  template <class Wanted>
  void give(std::uint32_t client, std::uint32_t concept_index, Wanted wanted) {
    View view{&samples_, recipes_, samples_.shape, {}};
    const std::size_t each = samples_.count() / states_.size();
    for (std::size_t i = client * each; i < (client + 1) * each; ++i) {
      if (wanted(samples_.labels[i])) {
        view.items.push_back({static_cast<std::uint32_t>(i), concept_index});
      }
    }
    views_[client] = std::move(view);
  }

  [[nodiscard]] ServerContext server(std::uint64_t seed = 42) const {
    ServerContext server;
    server.model = spec_;
    server.initial = share(initialise(spec_, Rng(seed).derive("init")));
    server.fit = {2, 16, 0.2, 0.9, MomentumReset::round};
    server.rng = Rng(seed).derive("server");
    return server;
  }

  /// One client's answer to what it is sent.
  Message answer(const Algorithm& algorithm, Round round, std::uint32_t client, const Message& received) {
    StageSeconds seconds;
    report = {};
    ClientContext context{static_cast<ClientId>(client),
                          round,
                          0,
                          views_.at(client),
                          views_.at(client),
                          states_[client],
                          Rng(9).derive("client", client, static_cast<std::uint64_t>(round)),
                          trainer_,
                          report,
                          seconds};
    return algorithm.client_step(round, algorithm.task(round, 0), context, received);
  }
  Message answer(const Algorithm& algorithm, Round round, std::uint32_t client) {
    return answer(algorithm, round, client, algorithm.downlink(round, 0, static_cast<ClientId>(client)));
  }

  void play(Algorithm& algorithm, int rounds) {
    for (int i = 0; i < rounds; ++i) {
      ++round_;
      std::map<ClientId, Message> answers;
      for (std::uint32_t client = 0; client < states_.size(); ++client) {
        answers[static_cast<ClientId>(client)] = answer(algorithm, round_, client);
      }
      StageSeconds seconds;
      algorithm.uplink(round_, 0, answers, seconds);
    }
  }

  /// Mean accuracy of the clients, each served as the training client that it is; in percent.
  double known_accuracy(const Algorithm& algorithm) { return accuracy(algorithm, TestPolicy::known_association); }
  double accuracy(const Algorithm& algorithm, TestPolicy policy) {
    double sum = 0;
    for (const auto& [client, view] : views_) {
      StageSeconds seconds;
      TestContext context{static_cast<ClientId>(client), view, nullptr, Rng(1), trainer_, seconds};
      sum += score(*serve(algorithm, policy, context), trainer_, view).accuracy();
    }
    return sum / static_cast<double>(views_.size());
  }

  [[nodiscard]] const ModelSpec& spec() const { return spec_; }
  [[nodiscard]] const View& view(std::uint32_t client) const { return views_.at(client); }
  [[nodiscard]] Trainer& trainer() { return trainer_; }
  [[nodiscard]] Message& state(std::uint32_t client) { return states_[client]; }

  ClientReport report;  ///< of the last answer

 private:
  Samples samples_;
  std::vector<Recipe> recipes_;
  ModelSpec spec_;
  ToyEngine engine_;
  Trainer trainer_;
  std::map<std::uint32_t, View> views_;
  std::vector<Message> states_;
  Round round_ = 0;
};

/// A model all of whose values are the same.
inline ParametersPtr constant_model(const ModelSpec& spec, float value) {
  Parameters params(make_layout(spec));
  std::fill(params.values().begin(), params.values().end(), value);
  return share(std::move(params));
}

/// A model that gives one class a high logit whatever it sees.
inline ParametersPtr says(const ModelSpec& spec, std::size_t favourite, float strength = 20) {
  Parameters params(make_layout(spec));
  params.values()[params.size() - static_cast<std::size_t>(spec.classes) + favourite] = strength;
  return share(std::move(params));
}

inline std::vector<float> bits(const ParametersPtr& model) { return {model->values().begin(), model->values().end()}; }

/// What one algorithm saves, loaded by another of the same kind.
inline void copy_state(const Algorithm& from, Algorithm& to, const ModelSpec& spec) {
  ArchiveWriter archive;
  ModelWriter writer(archive);
  from.save(writer);
  ArchiveReader reader(archive.bytes(), "state");
  ModelReader models(reader, make_layout(spec));
  to.load(models);
  reader.expect_end();
}

inline void expect_view(const Algorithm& algorithm, const std::map<ClientId, std::vector<double>>& shares,
                        const std::vector<ClientId>& present) {
  const ClusterView view = *algorithm.clusters();
  EXPECT_EQ(view.shares, shares);
  EXPECT_EQ(view.present, present);
}

}  // namespace feroma::test
