#include <gtest/gtest.h>

#include <cmath>

#include "feroma/core/files.h"
#include "feroma/core/rng.h"
#include "feroma/engine/engine.h"
#include "tests/expect_error.h"
#include "tests/places.h"

namespace feroma {
namespace {

constexpr SampleShape kInput{1, 12, 12};
constexpr int kClasses = 3;

std::string file(const std::string& name) { return test::golden_file("script/" + name).string(); }

/// The files were written by examples/torchscript/make_model.py (small.pt) and variants that break one rule each.
class ScriptModelTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!engine_available(EngineKind::torch)) {
      GTEST_SKIP() << "libtorch is not built in, so TorchScript models are NOT tested";
    }
  }
  static Batch batch_of(int size) {
    Rng rng(3);
    Batch batch;
    batch.size = size;
    batch.shape = kInput;
    for (int i = 0; i < size * kInput.size(); ++i) {
      batch.inputs.push_back(static_cast<float>(rng.uniform()));
    }
    for (int i = 0; i < size; ++i) {
      batch.labels.push_back(i % kClasses);
    }
    return batch;
  }
  static void refuses(const std::string& name, const std::string& part, SampleShape input = kInput,
                      int classes = kClasses) {
    expect_error(ErrorCode::invalid_config, part, [&] { (void)read_script_model(file(name), input, classes); });
  }
};

TEST_F(ScriptModelTest, TellsWhatIsInTheFile) {
  const ModelSpec spec = read_script_model(file("small.pt"), kInput, kClasses);
  EXPECT_EQ(spec.name, "small");
  EXPECT_EQ(latent_size(spec, Latent::flatten), 16);
  EXPECT_EQ(latent_size(spec, Latent::penultimate), 16);
  const Parameters params = initialise(spec, Rng(1));
  EXPECT_EQ(params.layout().segments.front().name, "body.0.weight");
  EXPECT_EQ(params.layout().segments.front().shape, (std::vector<std::int64_t>{8, 1, 5, 5}));
  EXPECT_EQ(params.layout().segments.back().kind, SegmentKind::buffer);
  EXPECT_TRUE(params.all_finite());
  expect_error(ErrorCode::unsupported, "needs the engine \"torch\"",
               [&] { (void)make_engine(EngineKind::native, spec); });
}

TEST_F(ScriptModelTest, GradientsAgreeWithFiniteDifferences) {
  const ModelSpec spec = read_script_model(file("small.pt"), kInput, kClasses);
  const auto engine = make_engine(EngineKind::torch, spec);
  const Batch batch = batch_of(7);
  Parameters params = initialise(spec, Rng(1));
  std::vector<float> gradient(params.size());
  Parameters moved = params.clone();
  const double loss = engine->gradient(moved, batch, gradient);
  EXPECT_GT(loss, 0.5);
  std::vector<float> ignored(params.size());
  for (const Segment& segment : params.layout().segments) {
    if (segment.kind == SegmentKind::buffer) {
      continue;
    }
    const std::size_t at = segment.offset + segment.size / 2;
    const auto loss_at = [&](float step) {
      Parameters probe = params.clone();
      probe.values()[at] += step;
      return engine->gradient(probe, batch, ignored);
    };
    constexpr float kStep = 1e-2F;
    const double slope = (loss_at(kStep) - loss_at(-kStep)) / (2 * static_cast<double>(kStep));
    EXPECT_NEAR(static_cast<double>(gradient[at]), slope, 5e-3 + 0.02 * std::abs(slope)) << segment.name;
  }
}

TEST_F(ScriptModelTest, TrainingMovesBuffersAndForwardUsesThem) {
  const ModelSpec spec = read_script_model(file("small.pt"), kInput, kClasses);
  const auto engine = make_engine(EngineKind::torch, spec);
  const Batch batch = batch_of(5);
  Parameters params = initialise(spec, Rng(1));
  const Activations before = engine->forward(params, batch, Latent::flatten);
  EXPECT_EQ(before.latent_size, 16);
  EXPECT_EQ(before.latents.size(), 80U);
  std::vector<float> gradient(params.size());
  (void)engine->gradient(params, batch, gradient);
  for (std::size_t i = 0; i < params.layout().segments.size(); ++i) {
    const Segment& segment = params.layout().segments[i];
    if (segment.name.ends_with("num_batches_tracked")) {
      EXPECT_EQ(params.segment(i)[0], 1.0F);
    }
    if (segment.kind == SegmentKind::buffer) {
      EXPECT_EQ(gradient[segment.offset], 0.0F);
    }
  }
  EXPECT_NE(engine->forward(params, batch, Latent::flatten).logits, before.logits);
  // The engine keeps nothing: the same parameters give the same bits again.
  EXPECT_EQ(engine->forward(initialise(spec, Rng(2)), batch, Latent::flatten).logits, before.logits);
}

TEST_F(ScriptModelTest, ABatchItRefusesIsTheClientsProblem) {
  const ModelSpec spec = read_script_model(file("small.pt"), kInput, kClasses);
  const auto engine = make_engine(EngineKind::torch, spec);
  Parameters params = initialise(spec, Rng(1));
  std::vector<float> gradient(params.size());
  expect_error(ErrorCode::invalid_data, "refuses 1 samples",
               [&] { (void)engine->gradient(params, batch_of(1), gradient); });
}

TEST_F(ScriptModelTest, RefusesWhatIsNoModelForTheData) {
  refuses("nowhere.pt", "is no file");
  refuses("../native_bits.txt", "libtorch refuses");
  refuses("no_head.pt", "must export head");
  refuses("other_forward.pt", "must be head(features(x))");
  refuses("maps.pt", "must be samples x features, got 4 dimensions");
  refuses("small.pt", "must give 4 logits per sample", kInput, 4);
  refuses("small.pt", "small.pt refuses 2 samples of 3x12x12: ", {3, 12, 12});
}

}  // namespace
}  // namespace feroma
