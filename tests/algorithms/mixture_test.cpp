#include "algorithms/mixture.h"

#include <gtest/gtest.h>

#include <cmath>

#include "feroma/algorithms/components.h"
#include "feroma/algorithms/fedem.h"
#include "feroma/core/rng.h"
#include "tests/algorithms/toy_run.h"
#include "tests/algorithms/two_concepts.h"
#include "tests/expect_error.h"

namespace feroma {
namespace {

using test::TwoConcepts;

ComponentTable random_losses(std::size_t components, std::size_t samples) {
  Rng rng(3);
  ComponentTable losses(components, std::vector<double>(samples));
  for (auto& row : losses) {
    for (double& loss : row) {
      loss = rng.uniform(0, 5);
    }
  }
  return losses;
}

TEST(Mixture, ResponsibilitiesOfASampleSumToOneAndSoDoShares) {
  const std::vector<double> before{0.2, 0.5, 0.3};
  const ComponentTable g = responsibilities(before, random_losses(3, 40));
  for (std::size_t i = 0; i < 40; ++i) {
    EXPECT_NEAR(g[0][i] + g[1][i] + g[2][i], 1, 1e-12);
  }
  const std::vector<double> shares = shares_from(g, before);
  EXPECT_NEAR(shares[0] + shares[1] + shares[2], 1, 1e-12);
}

TEST(Mixture, ResponsibilityIsShareTimesLikelihood) {
  // 0.25 e^-1 and 0.75 e^-2.
  const ComponentTable g = responsibilities(std::vector<double>{0.25, 0.75}, {{1.0}, {2.0}});
  const double first = 0.25 * std::exp(-1.0);
  const double second = 0.75 * std::exp(-2.0);
  EXPECT_NEAR(g[0][0], first / (first + second), 1e-12);
}

TEST(Mixture, ALossThatIsNoNumberExplainsNothingAndPoisonsNothing) {
  const double nan = std::nan("");
  const std::vector<double> before{0.25, 0.75};
  const ComponentTable g = responsibilities(before, {{1.0, nan, nan, HUGE_VAL}, {1.0, 2.0, nan, HUGE_VAL}});
  EXPECT_NEAR(g[0][0], 0.25, 1e-12);
  EXPECT_EQ(g[0][1], 0);  // the other component explains it
  EXPECT_EQ(g[1][1], 1);
  for (const std::size_t nobody : {2U, 3U}) {  // divided by the shares
    EXPECT_EQ(g[0][nobody], 0.25);
    EXPECT_EQ(g[1][nobody], 0.75);
  }
  const std::vector<double> shares = shares_from(g, before);
  EXPECT_NEAR(shares[0] + shares[1], 1, 1e-12);
}

TEST(Mixture, PriorsAreMassesBroughtToTheSumOne) {
  const std::vector<double> priors = label_priors({3, 1, 0});
  EXPECT_NEAR(priors[0], 0.75, 1e-8);
  EXPECT_NEAR(priors[1], 0.25, 1e-8);
  EXPECT_NEAR(priors[2], 1e-8 / 4, 1e-12);  // no label is impossible
  EXPECT_NEAR(priors[0] + priors[1] + priors[2], 1, 1e-12);
  EXPECT_EQ(label_priors({0, 0, 0, 0}), std::vector<double>(4, 0.25));
}

TEST(Mixture, RatesOfLabelsThatDoNotExcludeOneAnotherStayBetweenZeroAndOne) {
  const std::vector<double> rates = label_rates({5, 10, 0}, 10);
  EXPECT_EQ(rates[0], 0.5);
  EXPECT_LT(static_cast<float>(rates[1]), 1.0F);
  EXPECT_GT(static_cast<float>(rates[1]), 0.999F);
  EXPECT_GT(rates[2], 0);
  EXPECT_EQ(label_rates({0, 0}, 0), std::vector<double>(2, 0.5));
}

TEST(Mixture, OneComponentExplainsEverythingExactly) {
  for (const auto& row : responsibilities(std::vector<double>{1.0}, random_losses(1, 9))) {
    EXPECT_EQ(row, std::vector<double>(9, 1.0));
  }
}

TEST(Mixture, PriorsThatAreTheSameForAllComponentsSayNothing) {
  const TwoConcepts toy;
  const std::vector<double> shares{0.2, 0.5, 0.3};
  const ComponentTable losses = random_losses(3, toy.view(0).size());
  std::vector<float> priors;
  for (int m = 0; m < 3; ++m) {
    for (int u = 0; u < 10; ++u) {
      priors.push_back(static_cast<float>(u + 1) / 55.0F);
    }
  }
  const ComponentTable em = responsibilities(shares, losses);
  const ComponentTable rc = responsibilities(shares, losses, log_label_priors(priors, 3, toy.view(0)));
  for (std::size_t m = 0; m < 3; ++m) {
    for (std::size_t i = 0; i < em[m].size(); ++i) {
      EXPECT_NEAR(em[m][i], rc[m][i], 1e-12);
    }
  }
}

TEST(Mixture, TheShareOfABetterComponentGrowsWithEveryStep) {
  ComponentTable losses = random_losses(2, 30);
  for (std::size_t i = 0; i < 30; ++i) {
    losses[1][i] = losses[0][i] - 0.1;
  }
  std::vector<double> shares{0.9, 0.1};
  for (int step = 0; step < 50; ++step) {
    const double before = shares[1];
    shares = shares_from(responsibilities(shares, losses), shares);
    EXPECT_GT(shares[1], before);
  }
  EXPECT_GT(shares[1], 0.9);
}

/// Component 0 has nothing but class 0 and says so always: probability 1 where the prior is 1. Component 1 has all ten
/// classes alike and is right with probability 0.1, its prior. Neither knows anything that the prior does not.
TEST(Mixture, SpecialisingOnALabelBringsNothingUnderPriors) {
  TwoConcepts toy;
  toy.give(0, 0, [](std::int32_t label) { return label == 0; });
  const View& view = toy.view(0);
  std::vector<float> priors(20, 0.1F);
  std::fill(priors.begin(), priors.begin() + 10, 0.0F);
  priors[0] = 1.0F;
  const ComponentTable losses{std::vector<double>(view.size(), 0.0), std::vector<double>(view.size(), std::log(10.0))};
  const std::vector<double> half{0.5, 0.5};
  EXPECT_NEAR(responsibilities(half, losses)[0][0], 10.0 / 11, 1e-12);
  EXPECT_NEAR(responsibilities(half, losses, log_label_priors(priors, 2, view))[0][0], 0.5, 1e-7);
}

TEST(Mixture, SharesNeverReachZeroForGood) {
  const std::vector<double> shares = floored_shares(std::vector<float>{1.0F, 0.0F});
  EXPECT_NEAR(shares[1], 1e-8, 1e-12);
  EXPECT_NEAR(shares[0] + shares[1], 1, 1e-15);
  const ComponentTable g = responsibilities(shares, {{800.0}, {1.0}});
  EXPECT_NEAR(g[1][0], 1, 1e-12);
}

TEST(Mixture, AClientWithoutSamplesKeepsItsShares) {
  const std::vector<double> before{0.2, 0.8};
  EXPECT_EQ(shares_from(responsibilities(before, {{}, {}}), before), before);
}

// The first sample is three times as likely in the first component, the second is alike in both.
// From halves: (3/4 + 1/2) / 2 = 5/8. From there: 3 * 5/8 to 3/8 is 5 to 1, so (5/6 + 5/8) / 2 = 35/48.
TEST(Mixture, SharesOfANewClientFollowFromItsLosses) {
  const ComponentTable losses{{std::log(1.0), 1.0}, {std::log(3.0), 1.0}};
  EXPECT_EQ(shares_after(0, losses), (std::vector<double>{0.5, 0.5}));
  EXPECT_NEAR(shares_after(1, losses)[0], 5.0 / 8, 1e-6);
  EXPECT_NEAR(shares_after(2, losses)[0], 35.0 / 48, 1e-6);
  EXPECT_NEAR(shares_after(2, losses)[1], 13.0 / 48, 1e-6);
  // Its label is three times as common there too: that explains it all.
  const ComponentTable log_priors{{std::log(0.75), std::log(0.5)}, {std::log(0.25), std::log(0.5)}};
  EXPECT_NEAR(shares_after(2, losses, log_priors)[0], 0.5, 1e-6);
  EXPECT_NEAR(shares_after(1000, {{0.0}, {100.0}})[0], 1, 1e-12) << "a share of 0 spoils nothing";
}

TEST(Mixture, LabelMassIsResponsibilityByLabel) {
  const TwoConcepts toy;
  const View& view = toy.view(5);  // of the second concept: labels are what the client sees
  ComponentTable g(2, std::vector<double>(view.size()));
  std::vector<double> expected(20);
  for (std::size_t i = 0; i < view.size(); ++i) {
    g[0][i] = static_cast<double>(i) / 100;
    g[1][i] = 1 - g[0][i];
    expected[static_cast<std::size_t>(view.label(i))] += g[0][i];
    expected[10 + static_cast<std::size_t>(view.label(i))] += g[1][i];
  }
  const Floats mass = label_mass(g, view, 10);
  for (std::size_t i = 0; i < 20; ++i) {
    EXPECT_NEAR(mass[i], expected[i], 1e-5);
  }
}

/// Two labels per sample: 10, 01 and 11; the component has the first with 0.5 and the second with 0.25.
TEST(Mixture, SeveralLabelsHaveAPriorEach) {
  Samples samples;
  samples.shape = {1, 1, 1};
  samples.pixels = {0, 0, 0};
  samples.labels = {0, 0, 0};
  samples.targets = {1, 0, 0, 1, 1, 1};
  const View view{&samples, {}, samples.shape, {{0, 0}, {1, 0}, {2, 0}}};
  const ComponentTable logs = log_label_priors(std::vector<float>{0.5F, 0.25F}, 1, view);
  EXPECT_NEAR(logs[0][0], (std::log(0.5) + std::log(0.75)) / 2, 1e-12);
  EXPECT_NEAR(logs[0][1], (std::log(0.5) + std::log(0.25)) / 2, 1e-12);
  EXPECT_EQ(label_mass({{1.0, 0.5, 0.25}}, view, 2), (Floats{1.25F, 0.75F}));
}

/// A test client that has samples of class 0 alone, labelled. Component 0 says class 0 whatever it sees and has nothing
/// else; component 1 finds all ten classes alike and has them alike.
class FewLabels : public testing::Test {
 protected:
  FewLabels() {
    toy_.give(0, 0, [](std::int32_t label) { return label == 0; });
  }

  /// What the client's mixture says of class 0: its share of component 0, and a tenth of the rest.
  double share_of_class_0(std::unique_ptr<Algorithm> algorithm, bool label_priors) {
    algorithm->init(toy_.server());
    Message answer = message_of(Models{test::says(toy_.spec(), 0), test::constant_model(toy_.spec(), 0)});
    answer.values["shares"] = Floats{0.5F, 0.5F};
    answer.values["num_examples"] = Ints{20};
    if (label_priors) {
      Floats mass(20, 1.0F);
      std::fill(mass.begin(), mass.begin() + 10, 0.0F);
      mass[0] = 10;
      answer.values["label_mass"] = mass;
    }
    test::deliver(*algorithm, 1, 0, {{ClientId{0}, answer}});
    StageSeconds seconds;
    TestContext context{ClientId{7}, toy_.view(0), &toy_.view(0), Rng(1), toy_.trainer(), seconds};
    const auto predictor = serve(*algorithm, TestPolicy::few_label, context);
    return static_cast<double>(predictor->predict(toy_.trainer(), toy_.view(0)).front());
  }
  double fedem(int steps) {
    return share_of_class_0(make_fedem({.components = 2, .test_steps = steps}), /*label_priors=*/false);
  }
  double fedrc(int steps, TestPriors priors) {
    return share_of_class_0(make_fedrc({.components = 2, .test_steps = steps, .test_priors = priors}),
                            /*label_priors=*/true);
  }

  TwoConcepts toy_;
};

// Likelihoods 1 and 0.1: shares 10/11 after one E-step, then 10 * 10 to 1.
TEST_F(FewLabels, FindTheSharesOfFedEmByESteps) {
  EXPECT_NEAR(fedem(1), 10.0 / 11 + 0.1 * 1 / 11, 1e-5);
  EXPECT_NEAR(fedem(2), 100.0 / 101 + 0.1 * 1 / 101, 1e-5);
}

// Each likelihood is its component's prior, so that neither knows anything: one half.
TEST_F(FewLabels, SpeakForNoComponentOfFedRcThatMerelyHasTheLabel) {
  EXPECT_NEAR(fedrc(1, TestPriors::learned), 0.5 + 0.1 * 0.5, 1e-5);
  EXPECT_NEAR(fedrc(5, TestPriors::learned), 0.5 + 0.1 * 0.5, 1e-5);
}

TEST_F(FewLabels, AreFedEmsWithUniformPriors) {
  for (const int steps : {1, 2, 5}) {
    EXPECT_EQ(fedrc(steps, TestPriors::uniform), fedem(steps)) << steps;
  }
}

// Losses 0 and ln 10, at a temperature at which that is all the difference in the world.
TEST_F(FewLabels, WeighByLossesWithoutESteps) {
  EXPECT_NEAR(fedem(0), 1, 1e-6);
  EXPECT_NEAR(fedrc(0, TestPriors::learned), 1, 1e-6);
}

TEST(FewLabelOptions, ThatWouldBeIgnoredAreMistakes) {
  test::ToyRun run;
  const auto refuses = [&](const std::string& options, std::string_view part) {
    expect_error(ErrorCode::invalid_config, part, [&] { return run.loop(options).rounds(); });
  };
  refuses("name = 'fedem'\ncomponents = 1\ntest_steps = 2", "test_steps would be ignored: it needs components > 1");
  refuses("name = 'fedrc'\ncomponents = 1\ntest_steps = 2", "test_steps would be ignored: it needs components > 1");
  refuses("name = 'fedrc'\ntest_priors = 'uniform'", "test_priors would be ignored: it needs test_steps > 0");
}

// Visitors are not sent label priors, so that theirs would be another choice than the one that was asked for.
TEST(FewLabelOptions, EStepsAreNotForVisitors) {
  const auto algorithm = make_fedrc({.components = 2, .test_steps = 2});
  const TwoConcepts toy;
  algorithm->init(toy.server());
  EXPECT_FALSE(algorithm->offer({}, {.few_labels = false, .candidates = 3}));
  EXPECT_FALSE(algorithm->offer({}, {.few_labels = true, .candidates = 0}));
  expect_error(ErrorCode::unsupported, "[fedrc] visitors choose by losses: test_steps must be 0, got 2",
               [&] { return algorithm->offer({}, {.few_labels = true, .candidates = 3}).has_value(); });
}

}  // namespace
}  // namespace feroma
