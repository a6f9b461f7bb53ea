#include "feroma/runtime/workers.h"

#include <gtest/gtest.h>

#include <set>

#include "tests/expect_error.h"
#include "tests/toy_engine.h"

namespace feroma {
namespace {

Workers::EngineFactory toy_factory() {
  return [] { return std::make_unique<test::ToyEngine>(test::toy_model({1, 2, 2}, 2)); };
}

TEST(Workers, RunEveryTaskOnce) {
  Workers workers(3, toy_factory());
  const std::atomic<bool> stop = false;
  for (int repeat = 0; repeat < 20; ++repeat) {
    std::vector<std::atomic<int>> done(50);
    workers.run(
        50, [&](std::size_t i, Trainer&) { ++done[i]; }, stop);
    for (const auto& count : done) {
      EXPECT_EQ(count, 1);
    }
  }
}

TEST(Workers, NoTasksReturnAtOnce) {
  Workers workers(2, toy_factory());
  const std::atomic<bool> stop = false;
  workers.run(
      0, [](std::size_t, Trainer&) { FAIL(); }, stop);
}

TEST(Workers, AnErrorReachesTheCallerAndTheNextRunWorks) {
  Workers workers(2, toy_factory());
  const std::atomic<bool> stop = false;
  expect_error(ErrorCode::io, "disk", [&] {
    workers.run(
        10, [](std::size_t i, Trainer&) { require(i != 4, ErrorCode::io, "disk is full"); }, stop);
    return 0;
  });
  std::atomic<int> count = 0;
  workers.run(
      3, [&](std::size_t, Trainer&) { ++count; }, stop);
  EXPECT_EQ(count, 3);
}

TEST(Workers, NothingIsStartedAfterAFailure) {
  Workers workers(1, toy_factory());
  const std::atomic<bool> stop = false;
  int count = 0;
  expect_error(ErrorCode::io, "disk", [&] {
    workers.run(
        10,
        [&](std::size_t i, Trainer&) {
          ++count;
          require(i != 4, ErrorCode::io, "disk is full");
        },
        stop);
    return 0;
  });
  EXPECT_EQ(count, 5);
}

TEST(Workers, StopEndsWithInterrupted) {
  Workers workers(2, toy_factory());
  std::atomic<bool> stop = false;
  std::atomic<int> count = 0;
  expect_error(ErrorCode::interrupted, "interrupted", [&] {
    workers.run(
        1000,
        [&](std::size_t, Trainer&) {
          ++count;
          stop = true;
        },
        stop);
    return 0;
  });
  EXPECT_LE(count, 2);
}

TEST(Workers, AnEngineThatCannotBeMadeIsReported) {
  Workers workers(2, []() -> std::unique_ptr<Engine> { fail(ErrorCode::unsupported, "no engine here"); });
  const std::atomic<bool> stop = false;
  expect_error(ErrorCode::unsupported, "no engine here", [&] {
    workers.run(
        1, [](std::size_t, Trainer&) {}, stop);
    return 0;
  });
}

TEST(Workers, NeedAThread) {
  expect_error(ErrorCode::invalid_config, "--threads must be >= 1", [] { return Workers(0, toy_factory()).threads(); });
}

}  // namespace
}  // namespace feroma
