#include "feroma/algorithms/fedprox.h"

#include <gtest/gtest.h>

#include "algorithms/prox.h"
#include "tests/algorithms/one_client.h"
#include "tests/expect_error.h"

namespace feroma {
namespace {

using test::bits_of;
using test::OneClient;
using test::ToyRun;

TEST(FedProx, WithoutPullIsFedAvg) {
  ToyRun run;
  RoundLoop fedavg = run.loop("name = 'fedavg'");
  RoundLoop fedprox = run.loop("name = 'fedprox'\nmu = 0.0");
  test::play_all(fedavg);
  test::play_all(fedprox);
  EXPECT_EQ(test::served_bits(fedavg.algorithm()), test::served_bits(fedprox.algorithm()));
}

TEST(FedProx, FindsTheProximalPointOfAQuadratic) {
  // min (a/2)(p - c)^2 + (mu/2)(p - w)^2 is at (a c + mu w) / (a + mu); a = 1, c = 2, mu = 3.
  FedProxOptions options;
  options.mu = 3;
  OneClient client(make_fedprox(options), {200, 100000, 0.1, 0, MomentumReset::round}, test::make_quadratic(1, 2));
  const std::vector<float> w = test::served_bits(*client.algorithm);
  const std::vector<float> trained = bits_of(client.play().model("model"));
  for (std::size_t i = 0; i < w.size(); ++i) {
    EXPECT_NEAR(trained[i], (2 + 3 * w[i]) / 4, 1e-5);
  }
}

TEST(FedProx, EveryOptionChangesSomething) {
  ToyRun run;
  const auto bits = [&](const std::string& options) {
    RoundLoop loop = run.loop("name = 'fedprox'\n" + options);
    static_cast<void>(loop.play_round());
    return test::served_bits(loop.algorithm());
  };
  EXPECT_NE(bits("mu = 1.0"), bits(""));
  EXPECT_NE(bits("momentum_reset = 'epoch'"), bits(""));
}

TEST(FedProx, CostsWhatFedAvgCosts) {
  ToyRun run;
  RoundLoop loop = run.loop("name = 'fedprox'");
  const RoundRecord record = loop.play_round();
  const auto model_bytes = static_cast<std::int64_t>(4 * make_layout(run.model)->size);
  EXPECT_EQ(record.bytes_down, 6 * model_bytes);
  EXPECT_EQ(record.bytes_up, 6 * (model_bytes + 8));
  EXPECT_EQ(loop.totals().passes.backward, 2 * loop.totals().samples_held);
}

TEST(FedProx, AnswersAreChecked) {
  OneClient client(make_fedprox({}));
  const auto before = test::served_bits(*client.algorithm);
  const auto uplink = [&](ParametersPtr model, std::int64_t examples) {
    std::map<ClientId, Message> answers{
        {ClientId{0}, {{{"model", std::move(model)}, {"num_examples", Ints{examples}}}}}};
    test::deliver(*client.algorithm, 1, 0, std::move(answers));
    return 0;
  };
  const ParametersPtr model = client.algorithm->served()[0].model;
  expect_error(ErrorCode::invalid_data, "num_examples must be in 0..1000000000, got -1",
               [&] { return uplink(model, -1); });
  const ModelSpec other = test::toy_model({1, 2, 2}, 2);
  expect_error(ErrorCode::invalid_data, "must have", [&] { return uplink(share(initialise(other, Rng(1))), 3); });
  uplink(model, 0);  // nobody had any data
  EXPECT_EQ(test::served_bits(*client.algorithm), before);
}

TEST(FedProx, RefusesAPullWhoseStepsCannotSettle) {
  ToyRun run;
  expect_error(ErrorCode::invalid_config, "mu times training.learning_rate must be < 3.8", [&] {
    return run.loop("name = 'fedprox'\nmu = 19.0").rounds();  // the toy's rate is 0.2, its momentum 0.9
  });
  EXPECT_GT(run.loop("name = 'fedprox'\nmu = 18.0").rounds(), 0);
}

TEST(Prox, BuffersAreNeverPulled) {
  auto layout = std::make_shared<ParamLayout>();
  layout->add("norm.weight", SegmentKind::affine, {2});
  layout->add("norm.mean", SegmentKind::buffer, {2});
  const std::vector<float> params{1, 2, 3, 4};
  const std::vector<float> anchor{0, 0, 0, 0};
  std::vector<float> gradient{10, 10, 10, 10};
  add_prox_gradient(*layout, params, anchor, 0.5, gradient);
  EXPECT_EQ(gradient, (std::vector<float>{10.5, 11, 10, 10}));
  Parameters target(layout);
  Parameters source(layout);
  std::copy(params.begin(), params.end(), source.values().begin());
  copy_buffers_(target, source);
  EXPECT_EQ(bits_of(share(std::move(target))), (std::vector<float>{0, 0, 3, 4}));
}

}  // namespace
}  // namespace feroma
