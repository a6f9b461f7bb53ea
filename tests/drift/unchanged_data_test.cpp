// Data of published results: every shard of the first four shifts, pinned. A scenario file must mean the same data in
// every version.
#include <gtest/gtest.h>

#include <string_view>

#include "tests/drift/federation_support.h"

namespace feroma {
namespace {

using test::client;
using test::make_dataset;
using test::scenario;

/// FNV-1a over the numbers that make up views.
class Fingerprint {
 public:
  void add(std::uint64_t value) {
    for (int byte = 0; byte < 8; ++byte) {
      hash_ = (hash_ ^ ((value >> (8 * byte)) & 0xFF)) * 0x100000001b3ULL;
    }
  }
  void add(const View& view) {
    add(view.size());
    for (std::size_t i = 0; i < view.size(); ++i) {
      const ViewItem item = view.items[i];
      const auto label = static_cast<std::size_t>(view.samples->labels[item.source]);
      const Transform transform = view.recipes[item.recipe].transform_of_class[label];
      add(item.source);
      add(static_cast<std::uint64_t>(view.label(i)));
      add(static_cast<std::uint64_t>(transform.quarter_turns));
      add(static_cast<std::uint64_t>(transform.tint + 1));
    }
  }
  [[nodiscard]] std::uint64_t value() const { return hash_; }

 private:
  std::uint64_t hash_ = 0xcbf29ce484222325ULL;
};

std::uint64_t fingerprint(const ScenarioOptions& options) {
  static const std::shared_ptr<const Dataset> dataset = make_dataset(6007, 1003);
  const Federation federation(dataset, options);
  Fingerprint print;
  for (const std::uint32_t k : {0U, 7U, 19U}) {
    for (const Round round : {1, 10, 20}) {
      const ClientShard shard = federation.shard(client(k), round);
      print.add(static_cast<std::uint64_t>(shard.window));
      print.add(static_cast<std::uint64_t>(shard.distribution));
      print.add(shard.train);
      print.add(shard.held_out);
    }
    const TestShard test = federation.test(client(k), 3);
    print.add(static_cast<std::uint64_t>(test.distribution));
    print.add(test.data);
    print.add(test.few_labels);
  }
  return print.value();
}

struct UnchangedCase {
  Shift shift;
  Generator generator;
  std::uint64_t low, medium, high, drawn, forced;
};

class UnchangedData : public testing::TestWithParam<UnchangedCase> {};

TEST_P(UnchangedData, HasTheBitsOfTheFirstVersion) {
  const UnchangedCase& c = GetParam();
  const auto print = [&c](Level level, auto edit) {
    ScenarioOptions options = scenario(c.shift, c.generator, 10);
    options.level = level;
    edit(options);
    return fingerprint(options);
  };
  const auto as_is = [](ScenarioOptions&) {};
  EXPECT_EQ(print(Level::low, as_is), c.low);
  EXPECT_EQ(print(Level::medium, as_is), c.medium);
  EXPECT_EQ(print(Level::high, as_is), c.high);
  EXPECT_EQ(print(Level::medium, [](ScenarioOptions& o) { o.samples_per_client = 250; }), c.drawn);
  EXPECT_EQ(print(Level::medium,
                  [](ScenarioOptions& o) {
                    o.force_change = true;
                    o.drifts = 20;
                  }),
            c.forced);
}

INSTANTIATE_TEST_SUITE_P(
    All, UnchangedData,
    testing::Values(UnchangedCase{Shift::covariate, Generator::clean, 3338512536230135580U, 16504262257218012167U,
                                  2958406479426139130U, 9282732175619692302U, 8761256726320409356U},
                    UnchangedCase{Shift::covariate, Generator::feroma, 4291701818309484728U, 17856703570279152161U,
                                  11305940985279078665U, 12427656703510869903U, 3845872678080031953U},
                    UnchangedCase{Shift::label_prior, Generator::clean, 8025103319352840822U, 5883385034916609942U,
                                  9557626960233984239U, 14509645438740212508U, 8378576451425216786U},
                    UnchangedCase{Shift::label_prior, Generator::feroma, 5139677461209870535U, 14565303369140863449U,
                                  17339901029021956571U, 15585427101507355767U, 6617255819310171431U},
                    UnchangedCase{Shift::concept_label, Generator::clean, 7992166166514201661U, 13720916425153097954U,
                                  3819933535456925016U, 16394151407752585985U, 10659171771780552991U},
                    UnchangedCase{Shift::concept_label, Generator::feroma, 11427142917086842059U, 837541492812698249U,
                                  9443649856753926203U, 2690579010953423321U, 16255575080588002779U},
                    UnchangedCase{Shift::concept_feature, Generator::clean, 5733833128749008841U, 5993990065432617953U,
                                  12101557606454163256U, 18082050716953263046U, 16222760696218335668U},
                    UnchangedCase{Shift::concept_feature, Generator::feroma, 8376633750779620076U, 2305194975911942405U,
                                  14237160851954182305U, 16420640527832333289U, 16086966871571158801U}));

}  // namespace
}  // namespace feroma
