#include "feroma/data/view.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <numeric>

#include "tests/data/synthetic.h"
#include "tests/only_simd.h"

namespace feroma {
namespace {

using test::error_of;

/// One picture and one recipe that treats every class alike.
struct OnePicture {
  Samples samples;
  std::vector<Recipe> recipes;

  OnePicture(SampleShape shape, std::vector<std::uint8_t> pixels, Transform transform) {
    samples.shape = shape;
    samples.pixels = std::move(pixels);
    samples.labels = {0};
    recipes = {{.transform_of_class = {transform}, .label_of_class = {0}}};
  }
  [[nodiscard]] View view(int channels) const {
    return {.samples = &samples,
            .recipes = recipes,
            .shape = {channels, samples.shape.height, samples.shape.width},
            .items = {{0, 0}}};
  }
  /// The picture as the client sees it, back as bytes.
  [[nodiscard]] std::vector<int> seen(int channels) const {
    const std::vector<std::uint32_t> order{0};
    const Batch batch = assemble(view(channels), order, BatchLayout::sample_major);
    std::vector<int> bytes;
    for (const float value : batch.inputs) {
      bytes.push_back(static_cast<int>(value * 255.0F + 0.5F));
    }
    return bytes;
  }
};

// 1 2 3      3 6 9      9 8 7      7 4 1
// 4 5 6  ->  2 5 8  ->  6 5 4  ->  8 5 2   (counter-clockwise)
// 7 8 9      1 4 7      3 2 1      9 6 3
TEST(Assemble, TurnsPicturesCounterClockwise) {
  const std::vector<std::uint8_t> picture{1, 2, 3, 4, 5, 6, 7, 8, 9};
  const auto turned = [&](int turns) { return OnePicture({1, 3, 3}, picture, {turns, -1}).seen(1); };
  EXPECT_EQ(turned(0), (std::vector<int>{1, 2, 3, 4, 5, 6, 7, 8, 9}));
  EXPECT_EQ(turned(1), (std::vector<int>{3, 6, 9, 2, 5, 8, 1, 4, 7}));
  EXPECT_EQ(turned(2), (std::vector<int>{9, 8, 7, 6, 5, 4, 3, 2, 1}));
  EXPECT_EQ(turned(3), (std::vector<int>{7, 4, 1, 8, 5, 2, 9, 6, 3}));
}

TEST(Assemble, DividesEveryByteBy255ExactlyInEveryLayout) {
  std::vector<std::uint8_t> bytes(256);
  std::iota(bytes.begin(), bytes.end(), std::uint8_t{0});
  const OnePicture picture({1, 16, 16}, bytes, {0, -1});
  const std::vector<std::uint32_t> order{0};
  for (const BatchLayout layout :
       {BatchLayout{BatchLayout::sample_major}, BatchLayout{BatchLayout::sample_innermost}}) {
    const Batch batch = assemble(picture.view(1), order, layout);
    const std::size_t stride = batch.inputs.size() / bytes.size();
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      ASSERT_EQ(batch.inputs[i * stride], static_cast<float>(i) / 255.0F) << "byte " << i;
    }
  }
}

TEST(Assemble, TurnsRectanglesUpsideDown) {
  EXPECT_EQ(OnePicture({1, 2, 3}, {1, 2, 3, 4, 5, 6}, {2, -1}).seen(1), (std::vector<int>{6, 5, 4, 3, 2, 1}));
}

TEST(Assemble, ReplicatesGrayAndSaturatesTheTintedChannel) {
  const auto tinted = [](int tint) { return OnePicture({1, 1, 2}, {10, 20}, {0, tint}).seen(3); };
  EXPECT_EQ(tinted(-1), (std::vector<int>{10, 20, 10, 20, 10, 20}));
  EXPECT_EQ(tinted(0), (std::vector<int>{255, 255, 10, 20, 10, 20}));
  EXPECT_EQ(tinted(1), (std::vector<int>{10, 20, 255, 255, 10, 20}));
  EXPECT_EQ(tinted(2), (std::vector<int>{10, 20, 10, 20, 255, 255}));
}

TEST(Assemble, KeepsTheOtherChannelsOfAColourPicture) {
  EXPECT_EQ(OnePicture({3, 1, 2}, {1, 2, 3, 4, 5, 6}, {2, 1}).seen(3), (std::vector<int>{2, 1, 255, 255, 6, 5}));
}

TEST(Assemble, GivesExactlyByteOver255) {
  std::vector<std::uint8_t> picture(256);
  std::iota(picture.begin(), picture.end(), std::uint8_t{0});
  const OnePicture one({1, 16, 16}, picture, {});
  const std::vector<std::uint32_t> order{0};
  const Batch major = assemble(one.view(1), order, BatchLayout::sample_major);
  const Batch innermost = assemble(one.view(1), order, BatchLayout::sample_innermost);
  for (std::size_t i = 0; i < 256; ++i) {
    EXPECT_EQ(major.inputs[i], static_cast<float>(i) / 255.0F);
    EXPECT_EQ(innermost.inputs[i * 16], static_cast<float>(i) / 255.0F);
  }
}

TEST(Assemble, UsesTheRecipeOfTheSourceClass) {
  Samples samples;
  samples.shape = {1, 1, 2};
  samples.pixels = {1, 2, 3, 4};
  samples.labels = {0, 1};
  const std::vector<Recipe> recipes{{.transform_of_class = {{}, {2, -1}}, .label_of_class = {1, 0}},
                                    {.transform_of_class = {{2, -1}, {}}, .label_of_class = {0, 1}}};
  const View view{.samples = &samples, .recipes = recipes, .shape = {1, 1, 2}, .items = {{0, 0}, {1, 0}, {0, 1}}};
  const std::vector<std::uint32_t> order{2, 1, 0};
  const Batch batch = assemble(view, order, BatchLayout::sample_major);
  const auto level = [](int byte) { return static_cast<float>(byte) / 255.0F; };
  EXPECT_EQ(batch.inputs, (AlignedVector{level(2), level(1), level(4), level(3), level(1), level(2)}));
  EXPECT_EQ(batch.labels, (std::vector<std::int32_t>{0, 0, 1}));
  EXPECT_EQ(view.label(0), 1);
}

TEST(Assemble, CopiesNumbersAsTheyAre) {
  Samples samples;
  samples.shape = {2, 1, 2};
  samples.values = {-1.5F, 2.0F, 3e5F, 4.0F, 5.0F, 6.0F, 7.0F, -8.25F};
  samples.labels = {0, 0};
  const std::vector<Recipe> recipes{{.transform_of_class = {{}}, .label_of_class = {0}}};
  const View view{.samples = &samples, .recipes = recipes, .shape = {2, 1, 2}, .items = {{0, 0}, {1, 0}}};
  const std::vector<std::uint32_t> order{1, 0};
  EXPECT_EQ(assemble(view, order, BatchLayout::sample_major).inputs,
            (AlignedVector{5.0F, 6.0F, 7.0F, -8.25F, -1.5F, 2.0F, 3e5F, 4.0F}));
  const Batch innermost = assemble(view, order, BatchLayout(BatchLayout::sample_innermost, 1));
  ASSERT_EQ(innermost.inputs.size(), std::size_t{16} * 2 * 4);
  EXPECT_EQ(innermost.inputs[16], 5.0F);
  EXPECT_EQ(innermost.inputs[17], -1.5F);
  EXPECT_EQ(innermost.inputs[16 * 6], -8.25F);
}

TEST(Assemble, GivesEverySampleOfMultiLabelDataItsTargets) {
  Samples samples;
  samples.shape = {1, 1, 1};
  samples.pixels = {1, 2};
  samples.labels = {0, 0};
  samples.targets = {1, 0, 1, 0, 0, 1};
  const std::vector<Recipe> recipes{{.transform_of_class = {{}, {}, {}}, .label_of_class = {0, 1, 2}}};
  const View view{.samples = &samples, .recipes = recipes, .shape = {1, 1, 1}, .items = {{1, 0}, {0, 0}}};
  const std::vector<std::uint32_t> order{0, 1};
  const Batch batch = assemble(view, order, BatchLayout::sample_major);
  EXPECT_EQ(batch.targets, (std::vector<float>{0, 0, 1, 1, 0, 1}));
  EXPECT_TRUE(batch.labels.empty());
  EXPECT_TRUE(assemble(view, order, BatchLayout::sample_major, /*labelled=*/false).targets.empty());
}

TEST(Assemble, LeavesLabelsOutWhereAsked) {
  const OnePicture one({1, 1, 2}, {10, 20}, {});
  const std::vector<std::uint32_t> order{0, 0};
  EXPECT_TRUE(assemble(one.view(1), order, BatchLayout::sample_major, /*labelled=*/false).labels.empty());
  EXPECT_EQ(assemble(one.view(1), order, BatchLayout::sample_major).labels.size(), 2U);
}

TEST(Assemble, AnEmptyOrderIsAnEmptyBatch) {
  const OnePicture one({1, 1, 2}, {10, 20}, {});
  const Batch batch = assemble(one.view(1), {}, BatchLayout::sample_innermost);
  EXPECT_EQ(batch.size, 0);
  EXPECT_TRUE(batch.inputs.empty());
}

// Scales come last: a tinted channel is 1 before it is scaled. Lanes without a sample stay zero.
TEST(Assemble, ScalesEveryChannelAfterTurningAndTinting) {
  OnePicture one({3, 1, 2}, {0, 51, 102, 153, 204, 255}, {2, 1});
  const std::vector<InputScale> scales{{2.0F, -1.0F}, {10.0F, 0.5F}, {1.0F, 0.0F}};
  View view = one.view(3);
  view.scales = scales;
  const AlignedVector expected{0.2F * 2 - 1, -1, 10.5F, 10.5F, 1, 0.8F};
  const Batch major = assemble(view, std::vector<std::uint32_t>{0}, BatchLayout::sample_major);
  const Batch innermost = assemble(view, std::vector<std::uint32_t>{0}, BatchLayout::sample_innermost);
  ASSERT_EQ(major.inputs.size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_FLOAT_EQ(major.inputs[i], expected[i]);
    EXPECT_EQ(innermost.inputs[i * 16], major.inputs[i]);
    EXPECT_EQ(innermost.inputs[i * 16 + 1], 0.0F);
  }
  view.scales = std::span(scales).first(2);
  EXPECT_EQ(error_of([&] { (void)assemble(view, std::vector<std::uint32_t>{0}, BatchLayout::sample_major); }).code(),
            ErrorCode::internal);
}

TEST(Assemble, ScalesEveryChannelOfAGrayPictureAndEveryColumnOfATable) {
  OnePicture gray({1, 1, 2}, {0, 255}, {});
  const std::vector<InputScale> colours{{4.0F, -1.0F}, {1.0F, 0.0F}, {2.0F, 0.5F}};
  View view = gray.view(3);
  view.scales = colours;
  const Batch sides = assemble(view, std::vector<std::uint32_t>{0}, BatchLayout::sample_major);
  EXPECT_EQ(sides.inputs, (AlignedVector{-1, 3, 0, 1, 0.5F, 2.5F}));
  const std::vector<InputScale> scales{{4.0F, -1.0F}, {0.5F, 10.0F}};
  view.scales = scales;
  view.shape = {1, 1, 2};
  EXPECT_EQ(assemble(view, std::vector<std::uint32_t>{0}, BatchLayout::sample_major).inputs, (AlignedVector{-1, 10.5F}))
      << "bytes may be rows too";
  EXPECT_EQ(assemble(view, std::vector<std::uint32_t>{0}, BatchLayout::sample_innermost).inputs[16], 10.5F);
  Samples numbers;
  numbers.shape = {1, 1, 2};
  numbers.values = {0.5F, 2.0F};
  numbers.labels = {0};
  view.samples = &numbers;
  view.shape = {1, 1, 2};
  EXPECT_EQ(assemble(view, std::vector<std::uint32_t>{0}, BatchLayout::sample_major).inputs, (AlignedVector{1, 11}));
  const Batch innermost = assemble(view, std::vector<std::uint32_t>{0}, BatchLayout::sample_innermost);
  EXPECT_EQ(innermost.inputs[0], 1);
  EXPECT_EQ(innermost.inputs[16], 11);
  EXPECT_EQ(innermost.inputs[17], 0);
}

TEST(Assemble, FillsUnusedLanesWithZerosEvenUnderATint) {
  const OnePicture one({1, 1, 2}, {10, 20}, {0, 0});
  const std::vector<std::uint32_t> order{0, 0};
  const Batch batch = assemble(one.view(3), order, BatchLayout::sample_innermost);
  ASSERT_EQ(batch.inputs.size(), 16U * 3 * 2);
  EXPECT_EQ(batch.inputs[0], 1.0F);
  EXPECT_EQ(batch.inputs[1], 1.0F);
  for (std::size_t i = 0; i < batch.inputs.size(); ++i) {
    if (i % 16 >= 2) {
      ASSERT_EQ(batch.inputs[i], 0.0F) << i;
    }
  }
}

TEST(Assemble, RefusesWhatCannotBeSeen) {
  const std::vector<std::uint32_t> first{0};
  const std::vector<std::uint32_t> second{1};
  const auto refuses = [](const View& view, const std::vector<std::uint32_t>& order) {
    return error_of([&] { (void)assemble(view, order, BatchLayout::sample_major); }).code() == ErrorCode::internal;
  };
  const std::vector<std::uint8_t> six{1, 2, 3, 4, 5, 6};
  EXPECT_TRUE(refuses(OnePicture({1, 2, 3}, six, {}).view(1), second)) << "position outside the view";
  EXPECT_TRUE(refuses(OnePicture({1, 2, 3}, six, {1, -1}).view(1), first)) << "rectangle turned by 90 degrees";
  EXPECT_TRUE(refuses(OnePicture({1, 2, 3}, six, {4, -1}).view(1), first)) << "five quarters";
  EXPECT_TRUE(refuses(OnePicture({1, 2, 3}, six, {0, 1}).view(1), first)) << "tint of a missing channel";
  EXPECT_TRUE(refuses(OnePicture({1, 2, 3}, six, {}).view(2), first)) << "gray as two channels";
}

std::vector<int> turn(const std::vector<int>& picture, int side, int turns, int tint) {
  std::vector<std::uint8_t> bytes(picture.begin(), picture.end());
  const int channels = static_cast<int>(picture.size()) / (side * side);
  return OnePicture({channels, side, side}, std::move(bytes), {turns, tint}).seen(3);
}

RC_GTEST_PROP(AssembleProperty, TurnsAddUpAndCommuteWithTints, ()) {
  const int side = *rc::gen::inRange(1, 9);
  const int tint = *rc::gen::inRange(-1, 3);
  const std::vector<int> picture =
      *rc::gen::container<std::vector<int>>(static_cast<std::size_t>(3 * side * side), rc::gen::inRange(0, 256));
  std::vector<int> four = picture;
  for (int i = 0; i < 4; ++i) {
    four = turn(four, side, 1, -1);
  }
  RC_ASSERT(four == picture);
  RC_ASSERT(turn(turn(picture, side, 1, -1), side, 1, -1) == turn(picture, side, 2, -1));
  RC_ASSERT(turn(turn(picture, side, 1, -1), side, 2, -1) == turn(picture, side, 3, -1));
  RC_ASSERT(turn(turn(picture, side, 1, tint), side, 0, -1) == turn(turn(picture, side, 0, tint), side, 1, -1));
  const std::vector<int> turned = turn(picture, side, 1, -1);
  for (int channel = 0; channel < 3; ++channel) {
    const auto plane = static_cast<std::ptrdiff_t>(side * side);
    RC_ASSERT(std::is_permutation(picture.begin() + channel * plane, picture.begin() + (channel + 1) * plane,
                                  turned.begin() + channel * plane));
  }
}

TEST(Assemble, NothingIsLeftOfTheBatchWhoseMemoryIsUsedAgain) {
  const OnePicture bright({1, 2, 2}, {255, 255, 255, 255}, {0, 0});
  const OnePicture dark({1, 2, 2}, {1, 2, 3, 4}, {});
  for (const BatchLayout layout : {BatchLayout(BatchLayout::sample_major), {BatchLayout::sample_innermost, 1}}) {
    Batch batch;
    batch.weights = {1};
    batch.targets = {1};
    for (const std::size_t size : {40U, 17U, 3U, 20U}) {
      const std::vector<std::uint32_t> order(size, 0);
      assemble_(batch, bright.view(3), order, layout);
      EXPECT_TRUE(batch.weights.empty() && batch.targets.empty());
      assemble_(batch, dark.view(3), std::span(order).first(size / 2), layout);
      const Batch fresh = assemble(dark.view(3), std::span(order).first(size / 2), layout);
      EXPECT_EQ(batch.inputs, fresh.inputs);
      EXPECT_EQ(batch.labels, fresh.labels);
    }
    assemble_(batch, dark.view(1), std::vector<std::uint32_t>{0}, layout);
    EXPECT_EQ(batch.inputs, assemble(dark.view(1), std::vector<std::uint32_t>{0}, layout).inputs);
  }
}

RC_GTEST_PROP(AssembleProperty, BothLayoutsHoldTheSameSamples, ()) {
  const int stored_channels = *rc::gen::element(1, 3);
  const int side = *rc::gen::inRange(1, 14);
  const Samples samples = test::make_samples(5, {stored_channels, side, side}, 2);
  std::vector<Recipe> recipes;
  for (int turns = 0; turns < 4; ++turns) {
    recipes.push_back({.transform_of_class = {{turns, turns - 1}, {3 - turns, -1}}, .label_of_class = {1, 0}});
  }
  View view{.samples = &samples, .recipes = recipes, .shape = {3, side, side}, .items = {}};
  const InputScales scales{{2.5F, -1.0F}, {0.3F, 0.25F}, {7.0F, 3.0F}};
  if (*rc::gen::arbitrary<bool>()) {
    view.scales = scales;
  }
  for (std::uint32_t i = 0; i < 20; ++i) {
    view.items.push_back({i % 5, i % 4});
  }
  const auto size = *rc::gen::inRange<std::size_t>(1, 150);
  const auto order = *rc::gen::container<std::vector<std::uint32_t>>(size, rc::gen::inRange<std::uint32_t>(0, 20));
  const Batch major = assemble(view, order, BatchLayout::sample_major);
  const int border = *rc::gen::inRange(0, 4);
  const Batch innermost = assemble(view, order, {BatchLayout::sample_innermost, border});
  for (const SimdTarget target : simd_targets()) {
    const OnlySimd only(target);
    RC_ASSERT(assemble(view, order, {BatchLayout::sample_innermost, border}).inputs == innermost.inputs);
  }
  const auto values = static_cast<std::size_t>(view.shape.size());
  RC_ASSERT(major.labels == innermost.labels);
  const auto columns = static_cast<std::size_t>(side + 2 * border);
  const std::size_t group = static_cast<std::size_t>(3 * side) * columns * 16;
  RC_ASSERT(innermost.inputs.size() == (order.size() + 15) / 16 * group);
  for (std::size_t i = 0; i < (order.size() + 15) / 16 * 16; ++i) {
    for (std::size_t p = 0; p < static_cast<std::size_t>(3 * side) * columns; ++p) {
      const auto x = static_cast<int>(p % columns) - border;
      const bool inside = i < order.size() && x >= 0 && x < side;
      const std::size_t v = p / columns * static_cast<std::size_t>(side) + static_cast<std::size_t>(std::max(x, 0));
      RC_ASSERT(innermost.inputs[i / 16 * group + p * 16 + i % 16] == (inside ? major.inputs[i * values + v] : 0.0F));
    }
  }
}

}  // namespace
}  // namespace feroma
