#include "feroma/privacy/record_sums.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "feroma/core/rng.h"
#include "tests/expect_error.h"

namespace feroma {
namespace {

constexpr float kHuge = 3e38F;
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

std::vector<SumShape> shapes() {
  std::vector<SumShape> all;
  for (const int coordinates : {1, 2, 3, 10}) {
    all.push_back(box_shape(coordinates, 4));
    all.push_back({.coordinates = coordinates, .classes = 4});
  }
  return all;
}

/// A record's norm over the bound, in the units of the clipping's own norm.
double share_of_bound(const SumShape& shape, const std::vector<float>& x) {
  double norm = 0;
  for (const std::int64_t value : block_of(shape, x)) {
    const auto size = static_cast<double>(std::abs(value));
    norm += shape.clip == Clip::box ? size : size * size;
  }
  const double share = norm / static_cast<double>(block_bound(shape));
  return shape.clip == Clip::box ? share : std::sqrt(share);
}

TEST(RecordSums, NoRecordIsBeyondTheBound) {
  Rng rng(1);
  for (const SumShape& shape : shapes()) {
    const auto l = static_cast<std::size_t>(shape.coordinates);
    const std::vector<float> corners{-1, -0.5F, 0, 0.5F, 1};
    std::vector<std::vector<float>> records;
    for (const float odd : {0.0F, 1e-45F, kHuge, -kHuge, kNan, kInfinity}) {
      records.emplace_back(l, odd);
      records.push_back(std::vector<float>(l));
      records.back()[0] = odd;
    }
    for (int i = 0; i < 20000; ++i) {
      std::vector<float> x(l);
      const double size = std::exp(rng.uniform(-3, 3));
      for (float& value : x) {
        value = i % 2 == 0 ? corners[rng.below(5)] : static_cast<float>(size * rng.normal());
      }
      if (i % 5 == 0) {  // on the sphere
        double squared = 0;
        for (const float value : x) {
          squared += static_cast<double>(value) * static_cast<double>(value);
        }
        for (float& value : x) {
          value = squared > 0 ? static_cast<float>(static_cast<double>(value) / std::sqrt(squared)) : 0.0F;
        }
      }
      records.push_back(x);
    }
    for (const std::vector<float>& x : records) {
      ASSERT_TRUE(within_bound(shape, block_of(shape, x)));
    }
  }
}

// A bound that nobody reaches would cost accuracy for nothing.
TEST(RecordSums, HillClimbingReachesTheBound) {
  Rng rng(2);
  for (const SumShape& shape : shapes()) {
    std::vector<float> x(static_cast<std::size_t>(shape.coordinates), 0.3F);
    double best = share_of_bound(shape, x);
    for (int i = 0; i < 40000 && best < 0.9995; ++i) {
      std::vector<float> moved = x;
      moved[rng.below(moved.size())] += static_cast<float>(0.3 * rng.normal());
      const double share = share_of_bound(shape, moved);
      if (share >= best) {
        best = share;
        x = moved;
      }
    }
    EXPECT_GE(best, 0.999) << shape.coordinates;
    EXPECT_LE(best, 1);
  }
}

TEST(RecordSums, BoundsAreThoseOfThePaper) {
  EXPECT_NEAR(static_cast<double>(block_bound(box_shape(10, 10))) / 65536, 12.25, 3e-4);
  EXPECT_NEAR(std::sqrt(static_cast<double>(block_bound({}))) / 65536, 1.2182, 1e-4);
  EXPECT_NEAR(std::sqrt(static_cast<double>(sensitivity({}, Neighbours::replace_one))) / 65536, 2.301, 1e-3);
  EXPECT_DOUBLE_EQ(box_shape(10, 10).offset(), 0.875);
}

std::int64_t distance(const SumShape& shape, const RecordSums& a, const RecordSums& b) {
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < a.values().size(); ++i) {
    const std::int64_t difference = a.values()[i] - b.values()[i];
    sum += shape.clip == Clip::box ? std::abs(difference) : difference * difference;
  }
  return sum;
}

struct Record {
  std::vector<float> x;
  std::vector<int> labels;
};

RecordSums sums_of(const SumShape& shape, const std::vector<Record>& records) {
  RecordSums sums(shape);
  for (const Record& record : records) {
    sums.add(record.x, record.labels);
  }
  return sums;
}

TEST(RecordSums, NeighboursAreWithinTheSensitivity) {
  Rng rng(3);
  for (SumShape shape : shapes()) {
    for (const int labels : {1, 2}) {
      shape.labels = labels;
      shape.multi_label = labels > 1;
      const auto random_record = [&] {
        Record record{std::vector<float>(static_cast<std::size_t>(shape.coordinates)), {}};
        for (float& value : record.x) {
          value = static_cast<float>(rng.uniform() < 0.3 ? (rng.uniform() < 0.5 ? -9 : 9) : rng.normal());
        }
        for (int u = 0; u < shape.classes; ++u) {
          if (labels == 1 ? static_cast<int>(record.labels.size()) < (rng.uniform() < 0.4 ? 1 : 0) || u == 3
                          : rng.uniform() < 0.5) {
            record.labels.push_back(u);
          }
        }
        if (labels == 1) {
          record.labels.resize(1);
        }
        return record;
      };
      for (int pair = 0; pair < 400; ++pair) {
        std::vector<Record> records(std::vector<std::size_t>{0, 1, 2, 30}[rng.below(4)]);
        for (Record& record : records) {
          record = random_record();
        }
        const RecordSums before = sums_of(shape, records);
        std::vector<Record> more = records;
        more.push_back(random_record());
        EXPECT_LE(distance(shape, before, sums_of(shape, more)), sensitivity(shape, Neighbours::add_remove));
        if (!records.empty()) {
          records[rng.below(records.size())] = random_record();
          EXPECT_LE(distance(shape, before, sums_of(shape, records)), sensitivity(shape, Neighbours::replace_one));
        }
      }
    }
  }
}

TEST(RecordSums, AreTheSumsThatTheySay) {
  const SumShape shape{.coordinates = 2, .classes = 2};
  RecordSums sums(shape);
  sums.add(std::vector<float>{0.5F, -0.25F}, std::vector<int>{1});
  sums.add(std::vector<float>{0.5F, 0}, std::vector<int>{1});
  const double unit = 65536;
  const std::vector<double> expected{0, 0, 0, 0, 0, 0.8, 1, -0.25, 0.6 * (0.5 - 1), 0.6 * (0.0625 - 1)};
  ASSERT_EQ(sums.values().size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_NEAR(static_cast<double>(sums.values()[i]) / unit, expected[i], 2 / unit);
  }
}

TEST(RecordSums, DoNotDependOnTheOrderOfRecords) {
  Rng rng(4);
  std::vector<Record> records;
  for (int i = 0; i < 50; ++i) {
    records.push_back({{static_cast<float>(rng.normal()), static_cast<float>(rng.normal())}, {i % 3}});
  }
  const SumShape shape{.coordinates = 2, .classes = 3};
  const RecordSums forward = sums_of(shape, records);
  const RecordSums backward = sums_of(shape, {records.rbegin(), records.rend()});
  EXPECT_TRUE(std::equal(forward.values().begin(), forward.values().end(), backward.values().begin()));
}

TEST(RecordSums, OfSeveralLabelsTheLowestCountAndEveryRecordOnceInTheLastBlock) {
  SumShape shape{.coordinates = 1, .classes = 3, .labels = 2, .multi_label = true};
  RecordSums sums(shape);
  sums.add(std::vector<float>{0.5F}, std::vector<int>{0, 1, 2});
  sums.add(std::vector<float>{0.5F}, std::vector<int>{});
  const std::int64_t one = block_of(shape, std::vector<float>{0.5F})[0];
  EXPECT_EQ(sums.values()[0], one);
  EXPECT_EQ(sums.values()[3], one);
  EXPECT_EQ(sums.values()[6], 0) << "a third label is beyond the limit";
  EXPECT_EQ(sums.values()[9], 2 * one);
}

TEST(RecordSums, RefuseWhatTheProofDoesNotCover) {
  SumShape box = box_shape(10, 10);
  box.sum = 3;
  expect_error(ErrorCode::invalid_config, "at most twice that of squares", [&] { return block_bound(box); });
  const SumShape one{.coordinates = 1, .count = 1, .sum = 0.5, .square = 1};
  expect_error(ErrorCode::invalid_config, "at least that of squares", [&] { return block_bound(one); });
  expect_error(ErrorCode::internal, "must have 10 coordinates", [] { return block_of({}, std::vector<float>(3)); });
}

}  // namespace
}  // namespace feroma
