#include <fmt/format.h>
#include <gtest/gtest.h>

#include <atomic>

#include "feroma/runtime/run.h"
#include "tests/data/synthetic.h"
#include "tests/expect_error.h"
#include "tests/runtime/two_class_table.h"

namespace feroma {
namespace {

struct NoOptions {
  template <class Self, class Visit>
  static void fields(Self&, Visit&&) {}
};

/// How many labelled samples the last test client got to choose by.
std::atomic<std::size_t> labels_seen = 0;

/// Does nothing but look at what a test client may choose by.
class LabelCounter final : public Algorithm {
 public:
  void init(const ServerContext&) override {}
  [[nodiscard]] Message downlink(Round, int, ClientId) const override { return {}; }
  [[nodiscard]] Message client_step(Round, int, ClientContext&, const Message&) const override { return {}; }
  void uplink(Round, int, std::map<ClientId, Message>&, StageSeconds&) override {}
  [[nodiscard]] std::unique_ptr<Predictor> predictor(TestPolicy policy, TestContext& context) const override {
    if (policy == TestPolicy::few_label && context.few_labels != nullptr) {
      labels_seen = context.few_labels->size();
    }
    return nullptr;
  }
  [[nodiscard]] std::vector<ServedModel> served() const override { return {}; }
  void save(ModelWriter&) const override {}
  void load(ModelReader&) override {}
};

class FewLabels : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    register_algorithm({"label-counter", "test", "nobody", {}, plan_of<NoOptions>([](const NoOptions&) {
                          return std::make_unique<LabelCounter>();
                        })});
  }
  FewLabels() { test::write_two_class_table(scratch.path(), /*rows=*/200); }
  std::size_t labels_with(const std::string& line) const {
    const std::string text = fmt::format(
        "[scenario]\ndataset = '{}'\nshift = 'iid'\ndrift_mode = 'static'\nclients = 2\nrounds = 1\ndrifts = 1\n{}\n"
        "[training]\nmodel = 'mlp'\n[[algorithm]]\nname = 'label-counter'\n",
        scratch.path().string(), line);
    RunOptions options;
    options.out = scratch.path() / "run";
    options.existing = Existing::overwrite;
    const std::atomic<bool> never = false;
    static_cast<void>(run_experiment(read_experiment(parse_settings(text, "my.toml")), options, never));
    return labels_seen;
  }

  test::ScratchFolder scratch;
};

TEST_F(FewLabels, TheScenarioSaysHowManyATestClientMayChooseBy) {
  EXPECT_EQ(labels_with("few_labels = 1"), 2U) << "one of each of two classes";
  EXPECT_EQ(labels_with("few_labels = 4"), 8U);
}

TEST_F(FewLabels, ThereIsAtLeastOne) {
  expect_error(ErrorCode::invalid_config, "my.toml:8: scenario.few_labels must be >= 1, got 0",
               [&] { return labels_with("few_labels = 0"); });
}

TEST(FewLabelsDefault, IsThePapersTwenty) { EXPECT_EQ(ScenarioOptions().few_labels, 20); }

}  // namespace
}  // namespace feroma
