#include "feroma/data/input_sums.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>

#include "feroma/data/plain_view.h"
#include "tests/core/expect_error.h"

namespace feroma {
namespace {

constexpr SampleShape kTwoColumns{1, 1, 2};

ClientId client_number(std::uint32_t number) { return static_cast<ClientId>(number); }

View whole_view(const Dataset& dataset) {
  std::vector<std::uint32_t> rows(dataset.train.count());
  std::iota(rows.begin(), rows.end(), 0U);
  return plain_view(dataset, rows);
}

Dataset table_of(std::vector<float> values) {
  Dataset dataset;
  dataset.classes = 1;
  dataset.train.shape = kTwoColumns;
  dataset.train.values = std::move(values);
  dataset.train.labels.resize(dataset.train.values.size() / 2);
  return dataset;
}

InputScales scale_of_one(const View& view) { return scales_of({{client_number(0), input_sums(view)}}, view.shape); }

// Channel 0 has the bytes 0, 0, 51, 51 (0 and 0.2): mean 0.1, standard deviation 0.1. Channel 1 does not vary.
TEST(InputSums, OfBytesPerChannel) {
  Dataset dataset;
  dataset.classes = 1;
  dataset.train.shape = {2, 1, 2};
  dataset.train.pixels = {0, 51, 255, 255, 51, 0, 255, 255};
  dataset.train.labels = {0, 0};
  const InputSums sums = input_sums(whole_view(dataset));
  EXPECT_EQ(sums.samples, 2);
  EXPECT_EQ(sums.sums, (std::vector<double>{0.4, 4}));
  EXPECT_EQ(sums.squares[1], 4) << "bytes are exact";
  const InputScales scales = scale_of_one(whole_view(dataset));
  ASSERT_EQ(scales.size(), 2U);
  EXPECT_FLOAT_EQ(scales[0].factor, 10.0F);
  EXPECT_FLOAT_EQ(scales[0].offset, -1.0F);
  EXPECT_EQ(scales[1], (InputScale{1.0F, -1.0F}));
}

TEST(InputSums, OfNumbersPerColumn) {
  const Dataset dataset = table_of({998, 7, 1002, 7});
  const InputScales scales = scale_of_one(whole_view(dataset));
  ASSERT_EQ(scales.size(), 2U);
  EXPECT_FLOAT_EQ(scales[0].factor, 0.5F);
  EXPECT_FLOAT_EQ(scales[0].offset, -500.0F);
  EXPECT_EQ(scales[1], (InputScale{1.0F, -7.0F}));
}

// What a client sees is what its model gets: a gray picture that is shown in colour has three channels, one of them
// lit.
TEST(InputSums, ATintIsPartOfThePicture) {
  Dataset dataset;
  dataset.classes = 1;
  dataset.train.shape = {1, 2, 2};
  dataset.train.pixels = {0, 0, 51, 51};
  dataset.train.labels = {0};
  View view = whole_view(dataset);
  view.shape = {3, 2, 2};
  const std::vector<Recipe> recipes{{{{.quarter_turns = 1, .tint = 2}}, {0}}};
  view.recipes = recipes;
  EXPECT_EQ(input_sums(view).sums, (std::vector<double>{0.4, 0.4, 4}));
  EXPECT_EQ(input_sums(view).squares[2], 4);
}

TEST(InputSums, AreOfValuesBeforeTheyAreScaled) {
  const Dataset dataset = table_of({1, 2, 3, 4});
  const InputScales scales{{5, 6}, {7, 8}};
  EXPECT_EQ(input_sums(with_scales(whole_view(dataset), scales)), input_sums(whole_view(dataset)));
}

// A unit must not matter: only what is the same up to rounding has no spread.
TEST(InputScales, OfTinyAndHugeColumns) {
  for (const float unit : {1e-30F, 1e-9F, 1.0F, 1e9F, 1e30F}) {
    const Dataset dataset = table_of({unit, unit, 3 * unit, unit});
    const InputScales scales = scale_of_one(whole_view(dataset));
    EXPECT_NEAR(scales[0].factor * unit, 1, 1e-5) << unit;
    EXPECT_NEAR(scales[0].offset, -2, 1e-5) << unit;
    EXPECT_EQ(scales[1].factor, 1) << unit;
  }
}

TEST(InputScales, OfManyClientsAreThoseOfAllTheirSamples) {
  const Dataset a = table_of({1, 0, 2, 0, 9, 1});
  const Dataset b = table_of({4, 1, 8, 1});
  const Dataset both = table_of({1, 0, 2, 0, 9, 1, 4, 1, 8, 1});
  const InputScales apart = scales_of(
      {{client_number(0), input_sums(whole_view(a))}, {client_number(3), input_sums(whole_view(b))}}, kTwoColumns);
  const InputScales together = scale_of_one(whole_view(both));
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_FLOAT_EQ(apart[i].factor, together[i].factor);
    EXPECT_FLOAT_EQ(apart[i].offset, together[i].offset);
  }
}

TEST(InputSums, WhatNoSamplesCanHaveIsRefused) {
  const InputSums good{4, {4, 8}, {8, 16}};
  EXPECT_NO_THROW(check_input_sums(client_number(5), good, kTwoColumns));
  const auto error = [&](auto change) {
    InputSums sums = good;
    change(sums);
    return test::error_of(ErrorCode::invalid_data, [&] { check_input_sums(client_number(5), sums, kTwoColumns); });
  };
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_TRUE(test::holds(error([](auto& s) { s.squares[1] = 15.9; }),
                          "client 5's sums of input 2 must have no negative variance"));
  EXPECT_TRUE(test::holds(error([&](auto& s) { s.sums[0] = nan; }), "client 5's sums of input 1 must be finite"));
  EXPECT_TRUE(test::holds(error([](auto& s) { s.squares[0] = INFINITY; }), "input 1 must be finite"));
  EXPECT_TRUE(test::holds(error([](auto& s) { s.squares[0] = 1e300; }), "must be those of 32-bit numbers"));
  EXPECT_TRUE(test::holds(error([](auto& s) { s.squares[0] = -1; }), "negative variance"));
  EXPECT_TRUE(test::holds(error([](auto& s) { s.samples = 0; }), "samples must be >= 1"));
  EXPECT_TRUE(test::holds(error([](auto& s) { s.sums.pop_back(); }), "must be of 2 inputs, got 1 and 2"));
}

TEST(InputSums, NobodyDecidesForEverybody) {
  std::map<ClientId, InputSums> all;
  for (std::uint32_t i = 0; i < 5; ++i) {
    all[client_number(i)] = {100, {100, 0}, {200, 0}};
  }
  EXPECT_TRUE(inflated_sums(all).empty());
  all[client_number(1)].samples = 50;  // a few more or fewer are no reason
  EXPECT_TRUE(inflated_sums(all).empty());
  all[client_number(2)] = {100'001, {1e5, 0}, {2e5, 0}};
  all[client_number(3)] = {100, {1e6, 0}, {1e10, 0}};
  all[client_number(4)] = {100, {100, 5}, {200, 9}};  // a column that the others have empty
  const std::map<ClientId, std::string> refused = inflated_sums(all);
  ASSERT_EQ(refused.size(), 2U);
  EXPECT_TRUE(test::holds(refused.at(client_number(2)), "counts 1000 times as many samples"));
  EXPECT_TRUE(test::holds(refused.at(client_number(3)), "its input 1 is 7071 times as large"));
  EXPECT_TRUE(
      inflated_sums({{client_number(0), all[client_number(0)]}, {client_number(3), all[client_number(3)]}}).empty())
      << "of two nobody can say which one is right";
}

TEST(InputSums, TwoThatDifferAreToldOf) {
  const ClientId one = client_number(4);
  const ClientId other = client_number(7);
  std::map<ClientId, InputSums> all{{one, {100, {100, 0}, {200, 0}}}, {other, {50, {3100, 0}, {192'200, 0}}}};
  EXPECT_EQ(unlike_sums(all), "input 1 of one is 44 times as large as the other's");
  std::swap(all[one], all[other]);
  EXPECT_EQ(unlike_sums(all), "input 1 of one is 44 times as large as the other's");
  const std::vector<std::string> columns{"pressure", "age"};
  EXPECT_EQ(unlike_sums(all, columns), "input 1 (pressure) of one is 44 times as large as the other's");
  all[one] = {50, {1000, 5}, {80'000, 9}};
  EXPECT_EQ(unlike_sums(all), "") << "28 times, and a column that the other has empty";
  all[one] = {50, {3100, 0}, {192'200, 0}};
  all[client_number(9)] = all[other];
  EXPECT_EQ(unlike_sums(all), "") << "of three the odd one is left out";
}

}  // namespace
}  // namespace feroma
