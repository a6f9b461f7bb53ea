#include "feroma/privacy/options.h"

#include <gtest/gtest.h>

#include "feroma/privacy/notice.h"
#include "tests/expect_error.h"

namespace feroma {
namespace {

void expect_problem(const PrivacyOptions& options, const std::string& text) {
  Problems problems;
  options.check(problems);
  expect_error(ErrorCode::invalid_config, text, [&] {
    problems.raise();
    return 0;
  });
}

PrivacyOptions of_mode(PrivacyMode mode) {
  PrivacyOptions options;
  options.mode = mode;
  return options;
}

TEST(PrivacyOptions, DefaultsOfEveryModeAreFine) {
  for (const PrivacyMode mode : {PrivacyMode::off, PrivacyMode::paper, PrivacyMode::pure, PrivacyMode::gaussian}) {
    Problems problems;
    of_mode(mode).check(problems);
    EXPECT_NO_THROW(problems.raise()) << name_of(mode);
  }
}

TEST(PrivacyOptions, WhatWouldBeIgnoredIsRefused) {
  PrivacyOptions options = of_mode(PrivacyMode::off);
  options.epsilon_total = 1;
  expect_problem(options, "privacy.epsilon_total would be ignored");
  options = of_mode(PrivacyMode::paper);
  options.max_releases = 3;
  expect_problem(options, "privacy.max_releases would be ignored: it needs privacy.mode pure or gaussian");
  options = of_mode(PrivacyMode::pure);
  options.delta_total = 1e-6;
  expect_problem(options, "privacy.delta_total would be ignored: it needs privacy.mode gaussian");
  options = of_mode(PrivacyMode::gaussian);
  options.bounds_epsilon = 0.5;
  expect_problem(options, "privacy.bounds_epsilon would be ignored: it needs privacy.bounds histogram");
}

TEST(PrivacyOptions, DeltaIsSmallBesideTheLargestClient) {
  PrivacyOptions options = of_mode(PrivacyMode::gaussian);
  options.max_records = 100000;
  expect_problem(options, "privacy.delta_total must be <= 1e-06 for clients of up to 100000 records");
}

TEST(PrivacyOptions, BudgetsThatCannotWorkAreRefused) {
  PrivacyOptions options = of_mode(PrivacyMode::gaussian);
  options.epsilon_total = 0.01;
  options.bounds = BoundsRule::histogram;
  expect_problem(options, "the bounds' share must leave something for profiles");
  options = of_mode(PrivacyMode::gaussian);
  options.calibration = Calibration::analytic;
  options.bounds = BoundsRule::histogram;
  expect_problem(options, "needs privacy.bounds fixed");
  options = of_mode(PrivacyMode::pure);
  options.weight_sum = 5;
  expect_problem(options, "weights must be above 0");
  options = of_mode(PrivacyMode::gaussian);
  options.weight_count = 65536;  // squares of which would not fit 64 bits
  expect_problem(options, "weights must keep a record's block within 1024");
}

TEST(PrivacyOptions, WeightsReplaceTheModesOwn) {
  PrivacyOptions options = of_mode(PrivacyMode::gaussian);
  EXPECT_EQ(options.shape(10, 10, false).count, 0.4);
  options.weight_count = 0.8;
  EXPECT_EQ(options.shape(10, 10, false).count, 0.8);
  EXPECT_EQ(options.shape(10, 10, false).square, 0.6);
  options.max_labels = 3;
  EXPECT_EQ(options.shape(10, 10, true).labels, 3);
  EXPECT_EQ(options.shape(10, 10, false).labels, 1);
}

TEST(PrivacyNotice, NeverCallsThePublishedNoisePrivate) {
  const PrivacyOptions paper = of_mode(PrivacyMode::paper);
  const std::string notice = published_notice(10, {10, 10, 10}, 300);
  for (const std::string& text : {guarantee_of(paper), notice}) {
    EXPECT_NE(text.find("no DP guarantee"), std::string::npos) << text;
    EXPECT_EQ(text.find("-DP"), std::string::npos) << text;
    EXPECT_EQ(text.find("differential"), std::string::npos) << text;
  }
  EXPECT_NE(notice.find("61829"), std::string::npos) << "the composed value: " << notice;
}

TEST(PrivacyNotice, SaysWhatIsPromisedAndWhatIsNot) {
  const std::string gaussian = guarantee_of(of_mode(PrivacyMode::gaussian));
  EXPECT_NE(gaussian.find("(5, 1e-05)-differential privacy of one record (add_remove)"), std::string::npos) << gaussian;
  EXPECT_NE(gaussian.find("Model updates are not covered"), std::string::npos);
  EXPECT_NE(guarantee_of(of_mode(PrivacyMode::pure)).find("(5, 0)"), std::string::npos);
  PrivacyOptions disjoint = of_mode(PrivacyMode::gaussian);
  disjoint.versions_disjoint = true;
  EXPECT_NE(guarantee_of(disjoint).find("if no record outlives a data version"), std::string::npos);
  PrivacyOptions seeded = of_mode(PrivacyMode::gaussian);
  seeded.noise = NoiseSource::seeded;
  EXPECT_TRUE(guarantee_of(seeded).starts_with("none"));
}

}  // namespace
}  // namespace feroma
