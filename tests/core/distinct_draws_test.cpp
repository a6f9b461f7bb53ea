#include "feroma/core/distinct_draws.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "tests/core/expect_error.h"

namespace feroma {
namespace {

/// The shuffle that the draws are the beginning of.
std::vector<std::uint32_t> whole_sample(std::uint64_t seed, std::size_t size) { return Rng(seed).sample(size, size); }

std::vector<std::uint32_t> drawn(std::uint64_t seed, std::size_t size, std::size_t count) {
  Rng rng(seed);
  DistinctDraws draws(rng, size);
  std::vector<std::uint32_t> values(count);
  for (std::uint32_t& value : values) {
    value = draws.next();
  }
  return values;
}

RC_GTEST_PROP(DistinctDrawsProperty, AreTheBeginningOfAShuffle, (std::uint64_t seed)) {
  const auto size = *rc::gen::inRange<std::size_t>(1, 300);
  const auto count = *rc::gen::inRange<std::size_t>(0, size + 1);
  std::vector<std::uint32_t> expected = whole_sample(seed, size);
  expected.resize(count);
  RC_ASSERT(drawn(seed, size, count) == expected);
}

RC_GTEST_PROP(DistinctDrawsProperty, GiveTheSampleOfAnySize, (std::uint64_t seed)) {
  const auto size = *rc::gen::inRange<std::size_t>(1, 20000);
  const auto count = *rc::gen::inRange<std::size_t>(0, std::min<std::size_t>(size, 400) + 1);
  RC_ASSERT(drawn(seed, size, count) == Rng(seed).sample(size, count));
}

// Few out of many go another way through Rng::sample than many out of few; both are the same shuffle.
TEST(DistinctDraws, SamplingFewOutOfManyIsTheBeginningOfAShuffle) {
  std::vector<std::uint32_t> expected = whole_sample(9, 100000);
  expected.resize(50);
  EXPECT_EQ(Rng(9).sample(100000, 50), expected);
}

TEST(DistinctDraws, SamplingLeavesTheStreamAfterItsDraws) {
  Rng sampled(4);
  Rng counted(4);
  (void)sampled.sample(100000, 3);
  for (std::uint64_t i = 0; i < 3; ++i) {
    (void)counted.below(100000 - i);
  }
  EXPECT_EQ(sampled.next_u64(), counted.next_u64());
}

TEST(DistinctDraws, EndWithTheLastNumber) {
  Rng rng(1);
  DistinctDraws draws(rng, 1);
  EXPECT_EQ(draws.next(), 0U);
  EXPECT_EQ(test::error_of(ErrorCode::internal, [&] { (void)draws.next(); }),
            "[rng] cannot draw more than 1 distinct values");
}

}  // namespace
}  // namespace feroma
