#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <string>

#include "tests/algorithms/every_algorithm.h"
#include "tests/algorithms/toy_run.h"

namespace feroma {
namespace {

/// What serves a client that nobody knows.
enum class Strangers {
  own_rule,  ///< one model for all, or the method's own way: profiles, adaptation
  nearest,   ///< the one model whose data are most like the client's
  clusters,  ///< no rule: the expectation over the clusters
  personal,  ///< no rule, no clusters: the mean of all personal models
};

/// Which scores a result has besides that of the method's own way, which every method has.
struct Policies {
  Strangers strangers = Strangers::own_rule;
  bool known = true;  ///< test client k as training client k: the global model where everybody has the same
  bool few_label = false;
  bool nearest = false;
  bool expectation = false;
  bool personal = false;
};

/// One model, which a known client gets too; labels have nothing to choose from.
constexpr Policies kGlobal{};
/// Clusters give the expectation, a client's own shares of them, and a choice by labels.
constexpr Policies kClusters{.strangers = Strangers::clusters, .few_label = true, .expectation = true};
/// The shared model for strangers, the mean of the personal ones beside it; labels choose between those.
constexpr Policies kPersonalised{.few_label = true, .personal = true};
/// The same without a shared model.
constexpr Policies kOnlyPersonal{.strangers = Strangers::personal, .few_label = true, .personal = true};
/// Profiles choose a mixture, or the nearest model; so may labels.
constexpr Policies kProfiles{.few_label = true, .nearest = true};
/// Experts are clusters too, but strangers get the one whose signature is nearest.
constexpr Policies kExperts{.strangers = Strangers::nearest, .few_label = true, .nearest = true, .expectation = true};
/// Labels are for training on, from the one model.
constexpr Policies kTuned{.few_label = true};

/// From the papers' own rules and how methods without one are scored, not from what the code happens to give.
const std::map<std::string, Policies>& policies_of_methods() {
  static const std::map<std::string, Policies> kPolicies{
      {"feroma", kProfiles},     {"fedavg", kGlobal},      {"fedprox", kGlobal},     {"scaffold", kGlobal},
      {"fedavgm", kGlobal},      {"fedadam", kGlobal},     {"fedyogi", kGlobal},     {"fedgps", kGlobal},
      {"foogd", kGlobal},        {"ifca", kClusters},      {"fesem", kClusters},     {"cfl", kClusters},
      {"fedem", kClusters},      {"fedrc", kClusters},     {"feddrift", kClusters},  {"shiftex", kExperts},
      {"pfedme", kPersonalised}, {"apfl", kPersonalised},  {"ditto", kPersonalised}, {"fedproto", kOnlyPersonal},
      {"atp", kGlobal},          {"cola", kGlobal},        {"finetune", kTuned},     {"fedavg-ft", kProfiles},
      {"local", kOnlyPersonal},  {"centralised", kGlobal},
  };
  return kPolicies;
}

class EveryAlgorithm : public testing::TestWithParam<test::AlgorithmCase> {};

TEST_P(EveryAlgorithm, ServesItsPolicies) {
  const auto& table = policies_of_methods();
  ASSERT_TRUE(table.contains(GetParam().name)) << "say in the table which policies it serves";
  const Policies& expected = table.at(GetParam().name);
  test::ToyRun run;
  RoundLoop loop = run.loop(toml_of(GetParam()));
  test::play_all(loop);
  const ResultRecord result = loop.evaluate();
  EXPECT_TRUE(std::isfinite(result.accuracy));
  EXPECT_EQ(result.accuracy_known.has_value(), expected.known);
  EXPECT_EQ(result.accuracy_few_label.has_value(), expected.few_label);
  EXPECT_EQ(result.accuracy_nearest.has_value(), expected.nearest);
  EXPECT_EQ(result.accuracy_expectation.has_value(), expected.expectation);
  EXPECT_EQ(result.accuracy_personal.has_value(), expected.personal);
  if (expected.strangers == Strangers::clusters) {
    EXPECT_NEAR(result.accuracy, result.accuracy_expectation.value_or(-1), 1e-9);
  }
  if (expected.strangers == Strangers::nearest) {
    EXPECT_NEAR(result.accuracy, result.accuracy_nearest.value_or(-1), 1e-9);
  }
  if (expected.strangers == Strangers::personal) {
    EXPECT_NEAR(result.accuracy, result.accuracy_personal.value_or(-1), 1e-9);
  }
}

INSTANTIATE_TEST_SUITE_P(Registry, EveryAlgorithm, testing::ValuesIn(test::all_algorithms()), test::case_name);

}  // namespace
}  // namespace feroma
