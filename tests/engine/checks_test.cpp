#include "engine/checks.h"

#include <gtest/gtest.h>

#include <limits>

#include "tests/expect_error.h"

namespace feroma {
namespace {

const ModelSpec kSpec{"tiny", {1, 2, 2}, 3, {Flatten{}, Linear{"fc", 3}}};

Batch two_samples() {
  Batch batch;
  batch.size = 2;
  batch.shape = {1, 2, 2};
  batch.inputs.assign(8, 0.5F);
  batch.labels = {0, 2};
  return batch;
}

void check_batch(const Batch& batch) { require_batch(kSpec, BatchLayout::sample_major, batch); }

TEST(RequireBatch, AcceptsWhatFits) {
  EXPECT_NO_THROW(check_batch(two_samples()));
  EXPECT_NO_THROW(require_objective(kSpec, two_samples(), {}));
}

TEST(RequireBatch, CountsWholeGroupsAndBordersInTheSampleInnermostLayout) {
  Batch batch = two_samples();
  batch.layout = BatchLayout::sample_innermost;
  batch.inputs.assign(4 * 16, 0.0F);
  EXPECT_NO_THROW(require_batch(kSpec, BatchLayout::sample_innermost, batch));
  batch.size = 17;
  expect_error(ErrorCode::invalid_data, "need 128 values, got 64",
               [&] { require_batch(kSpec, BatchLayout::sample_innermost, batch); });
  batch.size = 2;
  const BatchLayout bordered(BatchLayout::sample_innermost, 1);
  expect_error(ErrorCode::internal, "with a border of 1, got 1 with 0", [&] { require_batch(kSpec, bordered, batch); });
  batch.layout = bordered;
  expect_error(ErrorCode::invalid_data, "need 128 values, got 64", [&] { require_batch(kSpec, bordered, batch); });
}

TEST(RequireBatch, RefusesAnotherLayoutShapeSizeOrLength) {
  Batch batch = two_samples();
  batch.layout = BatchLayout::sample_innermost;
  expect_error(ErrorCode::internal, "layout", [&] { check_batch(batch); });
  batch = two_samples();
  batch.shape = {2, 2, 1};
  expect_error(ErrorCode::invalid_data, "1 x 2 x 2, got 2 x 2 x 1", [&] { check_batch(batch); });
  batch = two_samples();
  batch.size = 0;
  expect_error(ErrorCode::internal, "at least one sample, got 0", [&] { check_batch(batch); });
  batch = two_samples();
  batch.inputs.pop_back();
  expect_error(ErrorCode::invalid_data, "need 8 values, got 7", [&] { check_batch(batch); });
}

TEST(RequireTargets, RefusesMissingOrUnknownLabels) {
  Batch batch = two_samples();
  batch.labels = {0};
  expect_error(ErrorCode::invalid_data, "as many labels, got 1", [&] { require_objective(kSpec, batch, {}); });
  batch.labels = {0, 3};
  expect_error(ErrorCode::invalid_data, "in 0..2, got 3", [&] { require_objective(kSpec, batch, {}); });
  batch.labels = {-1, 0};
  expect_error(ErrorCode::invalid_data, "in 0..2, got -1", [&] { require_objective(kSpec, batch, {}); });
}

TEST(RequireTargets, RefusesWrongWeights) {
  Batch batch = two_samples();
  batch.weights = {1.0F};
  expect_error(ErrorCode::invalid_data, "as many weights or none, got 1", [&] { require_objective(kSpec, batch, {}); });
  batch.weights = {1.0F, std::numeric_limits<float>::infinity()};
  expect_error(ErrorCode::invalid_data, "must be finite", [&] { require_objective(kSpec, batch, {}); });
}

TEST(RequireParameters, RefusesAModelOfAnotherSize) {
  const auto layout = make_layout(kSpec);
  EXPECT_NO_THROW(require_parameters(*layout, Parameters(layout)));
  expect_error(ErrorCode::invalid_data, "15 parameters, got 0", [&] { require_parameters(*layout, Parameters()); });
}

TEST(RequireObjective, ReadsOnlyWhatTheLossNeeds) {
  Batch batch = two_samples();
  batch.labels.clear();
  EXPECT_NO_THROW(require_objective(kSpec, batch, {Loss::entropy, {}, {}}));
  expect_error(ErrorCode::invalid_data, "2 samples need 6 targets, got 0", [&] {
    require_objective(kSpec, batch, {Loss::binary_cross_entropy, {}, {}});
  });
  batch.targets = {0, 1, 0.5F, 1, 0, 1.5F};
  expect_error(ErrorCode::invalid_data, "in [0, 1], got 1.5", [&] {
    require_objective(kSpec, batch, {Loss::binary_cross_entropy, {}, {}});
  });
  batch.targets.back() = 1;
  EXPECT_NO_THROW(require_objective(kSpec, batch, {Loss::binary_cross_entropy, {}, {}}));
}

TEST(RequireObjective, ALatentLossNeedsAModelWithThatLatent) {
  const LatentLoss nothing = [](std::span<const float>, std::span<float>) { return 0.0; };
  const ModelSpec plain{"plain", {3, 1, 1}, 3, {Relu{}}};
  EXPECT_NO_THROW(require_objective(kSpec, two_samples(), {Loss::cross_entropy, nothing, Latent::penultimate}));
  EXPECT_NO_THROW(require_objective(plain, two_samples(), {Loss::cross_entropy, {}, Latent::penultimate}));
  expect_error(ErrorCode::invalid_config, "no penultimate latent", [&] {
    require_objective(plain, two_samples(), {Loss::cross_entropy, nothing, Latent::penultimate});
  });
}

}  // namespace
}  // namespace feroma
