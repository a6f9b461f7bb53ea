#include "feroma/bench/requirements.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <set>

#include "src/bench/probe.h"
#include "src/bench/requirement_parts.h"
#include "src/bench/workload.h"

namespace feroma {
namespace {

using Side = Target::Side;

TEST(Requirement, IsMetWhereEveryTargetIs) {
  Requirement requirement{"R1", "title"};
  EXPECT_FALSE(requirement.met()) << "nothing was measured";
  requirement.results.push_back({"count", "no target", 7});
  EXPECT_FALSE(requirement.met());
  requirement.results.push_back({"good", "above", 2, Target{Side::at_least, 1}});
  EXPECT_EQ(requirement.met(), true);
  requirement.results.push_back({"bad", "above", 2, Target{Side::at_most, 1}});
  requirement.results.push_back({"good_again", "above", 2, Target{Side::at_least, 1}});
  EXPECT_EQ(requirement.met(), false);
  EXPECT_EQ(requirement.results[2].met(), false);
  EXPECT_FALSE(requirement.results[0].met());
}

TEST(Requirement, PrivacyBoundsAreReachedAndNeverPassed) {
  Requirement r4{"R4", ""};
  detail::measure_privacy(r4);
  EXPECT_EQ(r4.met(), true);
  for (const RequirementResult& result : r4.results) {
    if (result.name != "accountant_error") {
      EXPECT_GT(result.value, 0.99) << result.name;
    }
  }
}

// 2 x 400 + 10 x 20 + 10 and 2 x 2048 + 100 x 20 + 100; the paper's own 220 of 62 006.
TEST(Requirement, LengthsAreThoseOfTheProfiles) {
  Requirement r5{"R5", ""};
  detail::measure_lengths(r5);
  std::map<std::string, double> values;
  for (const RequirementResult& result : r5.results) {
    values[result.name] = result.value;
  }
  EXPECT_EQ(values.at("floats_lenet5_auto"), 1010);
  EXPECT_EQ(values.at("floats_resnet9_auto"), 6196);
  EXPECT_DOUBLE_EQ(values.at("share_lenet5_paper"), 220.0 / 62006);
}

/// One tiny federation for the tests that need data.
std::vector<std::string> tiny(const std::string& dataset, const std::string& shift) {
  return {"scenario.dataset=" + dataset, "scenario.shift=" + shift, "scenario.clients=4", "scenario.rounds=8",
          "scenario.drifts=8"};
}

// Everything measured on data rests on this: what is made here is what clients send.
TEST(ProbeSlow, MakesTheProfilesThatClientsSend) {
  const std::string dataset = detail::available_dataset();
  if (dataset.empty()) {
    GTEST_SKIP() << "no dataset is here: the requirements are NOT measured";
  }
  for (const char* preset : {"auto", "paper"}) {
    detail::Probe probe(preset, tiny(dataset, "label_prior"), 2);
    EXPECT_EQ(probe.first_round(), 6);
    std::size_t compared = 0;
    probe.cell().each(1, [&](std::size_t, Trainer& trainer) {
      for (const detail::DataVersion& version : probe.versions()) {
        if (version.rounds.front() == probe.first_round()) {
          const EncodedSamples samples = probe.profiled_samples(version, probe.first_round(), trainer);
          const Profile profile = probe.profile_of(version, probe.first_round(), samples);
          EXPECT_EQ(encode(profile, probe.shape()), encode(probe.sent_profile(version.client), probe.shape()))
              << preset << " " << to_index(version.client);
          compared += 1;
        }
      }
    });
    EXPECT_EQ(compared, 4U);
    EXPECT_GT(probe.versions().size(), 4U);
  }
}

TEST(RequirementsSlow, QuickHasAllFiveWithNamesOfTheirOwn) {
  BenchOptions options;
  options.quick = true;
  options.threads = 2;
  int said = 0;
  options.say = [&](std::string_view) { said += 1; };
  const std::vector<Requirement> all = measure_requirements(options);
  ASSERT_EQ(all.size(), 5U);
  EXPECT_GT(said, 0);
  for (std::size_t r = 0; r < all.size(); ++r) {
    EXPECT_EQ(all[r].id, fmt::format("R{}", r + 1));
    std::set<std::string> names;
    for (const RequirementResult& result : all[r].results) {
      EXPECT_TRUE(names.insert(result.name).second) << result.name;
      EXPECT_TRUE(std::isfinite(result.value)) << result.name;
      EXPECT_FALSE(result.what.empty()) << result.name;
    }
  }
  if (detail::available_dataset().empty()) {
    GTEST_SKIP() << "no dataset is here: the requirements are NOT measured";
  }
  EXPECT_EQ(all[1].met(), true) << "bit-identity does not depend on the size of the scenario";
  EXPECT_EQ(all[3].met(), true);
  for (const Requirement& requirement : all) {
    EXPECT_FALSE(requirement.results.empty()) << requirement.id;
  }
}

}  // namespace
}  // namespace feroma
