#include "algorithms/prototypes.h"

#include <gtest/gtest.h>

#include <array>
#include <limits>

#include "tests/algorithms/toy_run.h"

namespace feroma {
namespace {

using test::ToyRun;

TEST(Prototypes, TheNearestPrototypeWinsAndAnUnknownClassNever) {
  ToyRun run;
  test::ToyEngine engine(run.model);
  Trainer trainer(engine);
  const View data = run.federation.test(ClientId{0}, 0).data;
  const ParametersPtr model = share(initialise(run.model, Rng(1)));
  Prototypes prototypes(10, 48);
  const ClassMeans means = class_means(trainer, *model, data, Latent::penultimate, 10, 48);
  for (std::int32_t label = 0; label < 9; ++label) {
    prototypes.set(label, means.means.of(label));
  }
  const auto predictor = make_nearest_prototype_predictor(model, prototypes, Latent::penultimate);
  const std::vector<float> all = predictor->predict(trainer, data);
  ASSERT_EQ(all.size(), data.size() * 10);
  for (std::size_t i = 0; i < data.size(); ++i) {
    const auto row = std::span(all).subspan(i * 10, 10);
    EXPECT_EQ(row[9], 0);
    float sum = 0;
    for (const float p : row) {
      sum += p;
    }
    EXPECT_NEAR(sum, 1, 1e-5);
    // The latent of the toy model is the picture.
    const Batch one = assemble(data, std::array{static_cast<std::uint32_t>(i)}, engine.layout());
    std::int32_t nearest = 0;
    double least = std::numeric_limits<double>::infinity();
    for (std::int32_t label = 0; label < 9; ++label) {
      double distance = 0;
      for (std::size_t j = 0; j < 48; ++j) {
        const float away = one.inputs[j] - prototypes.of(label)[j];
        distance += static_cast<double>(away * away);
      }
      nearest = distance < least ? label : nearest;
      least = std::min(least, distance);
    }
    EXPECT_EQ(std::max_element(row.begin(), row.end()) - row.begin(), nearest);
  }
}

}  // namespace
}  // namespace feroma
