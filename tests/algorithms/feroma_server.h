// Feroma's server with clients that are messages made by hand.
#pragma once

#include <gtest/gtest.h>

#include "feroma/algorithms/feroma.h"
#include "feroma/profile/projector.h"
#include "tests/algorithms/toy_run.h"

namespace feroma::test {

/// Four pixels, two classes; a profile is [mean, std] of four latents, then one projected coordinate per class.
inline const ModelSpec kServerModel = toy_model({1, 2, 2}, 2);

class ServerTest : public ::testing::Test {
 protected:
  ServerTest() {
    options.warmup_rounds = 1;
    options.server_momentum = 0;
    options.global_share = 0;
    options.dimensions = 1;
    options.full_marginal = false;
    options.metric = Metric::euclidean;
    options.kernel = Kernel::inverse;
  }

  void start() {
    algorithm = make_feroma(options);
    ServerContext server;
    server.model = kServerModel;
    server.initial = filled(0);
    server.rng = Rng(7);
    algorithm->init(server);
  }
  static ParametersPtr filled(float value) {
    Parameters params(make_layout(kServerModel));
    std::fill(params.values().begin(), params.values().end(), value);
    return share(std::move(params));
  }
  static Message trained(float value, std::int64_t examples = 10) {
    return {{{"model", filled(value)}, {"num_examples", Ints{examples}}}};
  }
  /// A profile whose label-free mean is `x`.
  static Message profiled(float x) {
    return {{{"profile", Floats{x, 1, 0, 1, 0, 1, 0.5F, 0.5F}}, {"num_samples", Ints{50}}}};
  }
  void answer(Round round, int phase, std::map<ClientId, Message> answers) {
    deliver(*algorithm, round, phase, std::move(answers));
  }
  /// The first weight of the model a client is sent to train.
  float sent_to(Round round, std::uint32_t client) const {
    return algorithm->downlink(round, 1, ClientId{client}).model("model")->values()[0];
  }
  std::vector<float> projector(Round round, int phase) const {
    return algorithm->downlink(round, phase, ClientId{9}).floats("projector.components");
  }
  Rows points(const Bounds& box) const { return uniform_points(box, 200, Rng(7).derive("projector")); }

  FeromaOptions options;
  std::unique_ptr<Algorithm> algorithm;
};

}  // namespace feroma::test
