#include "feroma/algorithms/registry.h"

#include <gtest/gtest.h>

#include <array>
#include <limits>
#include <set>

#include "feroma/algorithms/fedavg.h"
#include "feroma/core/config_identity.h"
#include "feroma/report/summary.h"
#include "tests/algorithms/every_algorithm.h"
#include "tests/algorithms/toy_run.h"
#include "tests/expect_error.h"

namespace feroma {
namespace {

using test::ToyRun;

class EveryAlgorithm : public testing::TestWithParam<test::AlgorithmCase> {};

TEST_P(EveryAlgorithm, RunsWithDriftAndResumesToTheSameBits) {
  ToyRun run;
  RoundLoop whole = run.loop(toml_of(GetParam()));
  test::play_all(whole);
  // Whoever serves no model of the server's has clients that remember theirs: there is always something to compare.
  EXPECT_FALSE(test::served_bits(whole.algorithm()).empty() && test::remembered_bits(whole).empty());
  for (int stop_after = 0; stop_after <= 5; ++stop_after) {
    RoundLoop first = run.loop(toml_of(GetParam()));
    for (int i = 0; i < stop_after; ++i) {
      static_cast<void>(first.play_round());
    }
    const Bytes saved = first.save();
    RoundLoop second = run.loop(toml_of(GetParam()));
    second.load(saved, "checkpoint");
    test::play_all(second);
    EXPECT_EQ(test::served_bits(whole.algorithm()), test::served_bits(second.algorithm())) << "after " << stop_after;
    EXPECT_EQ(test::remembered_bits(whole), test::remembered_bits(second)) << "after " << stop_after;
    EXPECT_EQ(whole.totals().best_round, second.totals().best_round);
    EXPECT_EQ(whole.totals().bytes_down, second.totals().bytes_down);
  }
}

/// Another algorithm with something done to some answers; by default to those of client 1 in the second round.
class Tampered final : public Algorithm {
 public:
  using Tamper = std::function<void(Message& answer)>;
  using Where = std::function<bool(Round round, int task, ClientId client)>;
  static bool in_second_round(Round round, int, ClientId client) { return round == 2 && client == ClientId{1}; }

  Tampered(std::unique_ptr<Algorithm> inner, Tamper tamper, Where where = in_second_round)
      : inner_(std::move(inner)), tamper_(std::move(tamper)), where_(std::move(where)) {}
  void init(const ServerContext& context) override { inner_->init(context); }
  [[nodiscard]] int phases(Round round) const override { return inner_->phases(round); }
  [[nodiscard]] Message downlink(Round round, int phase, ClientId client) const override {
    return inner_->downlink(round, phase, client);
  }
  [[nodiscard]] int task(Round round, int phase) const override { return inner_->task(round, phase); }
  [[nodiscard]] Message client_step(Round round, int task, ClientContext& context,
                                    const Message& received) const override {
    Message answer = inner_->client_step(round, task, context, received);
    if (where_(round, task, context.id)) {
      tamper_(answer);
    }
    return answer;
  }
  void check_answer(Round round, int phase, ClientId client, const Message& answer) const override {
    inner_->check_answer(round, phase, client, answer);
  }
  void uplink(Round round, int phase, std::map<ClientId, Message>& answers, StageSeconds& seconds) override {
    inner_->uplink(round, phase, answers, seconds);
  }
  [[nodiscard]] int extra_rounds() const override { return inner_->extra_rounds(); }
  void on_window_change(ClientContext& context) const override { inner_->on_window_change(context); }
  [[nodiscard]] std::unique_ptr<Predictor> predictor(TestPolicy policy, TestContext& context) const override {
    return inner_->predictor(policy, context);
  }
  [[nodiscard]] Community community(TestPolicy policy) const override { return inner_->community(policy); }
  [[nodiscard]] std::optional<ClusterView> clusters() const override { return inner_->clusters(); }
  [[nodiscard]] std::unique_ptr<Predictor> personal(const Message& memory) const override {
    return inner_->personal(memory);
  }
  [[nodiscard]] const RoundTrace* trace() const override { return inner_->trace(); }
  [[nodiscard]] std::vector<ServedModel> served() const override { return inner_->served(); }
  void save(ModelWriter& out) const override { inner_->save(out); }
  void load(ModelReader& in) override { inner_->load(in); }

 private:
  std::unique_ptr<Algorithm> inner_;
  Tamper tamper_;
  Where where_;
};

TEST_P(EveryAlgorithm, LivesWithArrivalsDeparturesAndAClientThatDropsOut) {
  ToyRun run;
  MembershipOptions membership;
  membership.initial = 4;
  membership.events = "2:+4-0 3:+5 4:+0";
  const auto loop = [&] {
    return run.loop(toml_of(GetParam()), std::nullopt, membership, [](std::unique_ptr<Algorithm> inner) {
      return std::make_unique<Tampered>(std::move(inner), [](Message&) { fail(ErrorCode::invalid_data, "no luck"); });
    });
  };
  RoundLoop whole = loop();
  std::vector<RoundRecord> records;
  while (whole.finished_rounds() < whole.rounds()) {
    records.push_back(whole.play_round());
  }
  ASSERT_EQ(records[1].dropped.size(), 1U);
  EXPECT_EQ(records[1].dropped[0].client, 1U);
  for (const ServedModel& served : whole.algorithm().served()) {
    EXPECT_TRUE(served.model->all_finite());
  }
  RoundLoop first = loop();
  for (int i = 0; i < 2; ++i) {
    static_cast<void>(first.play_round());
  }
  RoundLoop second = loop();
  second.load(first.save(), "checkpoint");
  test::play_all(second);
  EXPECT_EQ(test::served_bits(whole.algorithm()), test::served_bits(second.algorithm()));
  EXPECT_EQ(test::remembered_bits(whole), test::remembered_bits(second));
  const ResultRecord result = whole.evaluate();
  EXPECT_EQ(result.accuracy, second.evaluate().accuracy);
  EXPECT_GE(result.accuracy, 0);
  EXPECT_LE(result.accuracy, 100);
}

/// What a broken client may send: values that are none, too few of them, counts below zero, nothing.
void poison(Message& answer) {
  for (auto& [key, value] : answer.values) {
    if (auto* floats = std::get_if<Floats>(&value); floats != nullptr && !floats->empty()) {
      floats->back() = std::numeric_limits<float>::quiet_NaN();
    }
    if (auto* model = std::get_if<ParametersPtr>(&value)) {
      Parameters poisoned = (*model)->clone();
      poisoned.values().back() = std::numeric_limits<float>::quiet_NaN();
      *model = share(std::move(poisoned));
    }
  }
}

void shorten(Message& answer) {
  for (auto& [key, value] : answer.values) {
    if (auto* floats = std::get_if<Floats>(&value); floats != nullptr && !floats->empty()) {
      floats->pop_back();
    }
    if (auto* model = std::get_if<ParametersPtr>(&value)) {
      *model = share(Parameters(make_layout(test::toy_model({1, 1, 1}, 2))));
    }
  }
}

void turn_negative(Message& answer) {
  for (auto& [key, value] : answer.values) {
    if (auto* ints = std::get_if<Ints>(&value); ints != nullptr && !ints->empty()) {
      ints->front() = std::numeric_limits<std::int64_t>::min();
    }
  }
}

void forget(Message& answer) { answer.values.erase(answer.values.begin(), answer.values.end()); }

TEST_P(EveryAlgorithm, LeavesOutAnAnswerThatCannotBeBelieved) {
  if (GetParam().name == "local") {
    GTEST_SKIP() << "its clients answer nothing";
  }
  ToyRun run(test::toy_scenario(), 1, [](const ModelSpec& model) { return make_engine(EngineKind::native, model); });
  for (const auto& tamper : {poison, shorten, turn_negative, forget}) {
    const auto loop = [&] {
      return run.loop(toml_of(GetParam()), std::nullopt, {}, [&](std::unique_ptr<Algorithm> inner) {
        return std::make_unique<Tampered>(std::move(inner), tamper);
      });
    };
    RoundLoop whole = loop();
    static_cast<void>(whole.play_round());
    const RoundRecord record = whole.play_round();
    ASSERT_EQ(record.dropped.size(), 1U);
    EXPECT_EQ(record.dropped[0].client, 1U);
    EXPECT_NE(record.dropped[0].reason.find("] client 1's "), std::string::npos) << record.dropped[0].reason;
    EXPECT_EQ(record.clients.size(), 5U);
    RoundLoop second = loop();
    second.load(whole.save(), "checkpoint");
    EXPECT_EQ(whole.play_round().clients.size(), 6U);
    test::play_all(whole);
    test::play_all(second);
    EXPECT_EQ(test::served_bits(whole.algorithm()), test::served_bits(second.algorithm()));
    for (const ServedModel& served : whole.algorithm().served()) {
      EXPECT_TRUE(served.model->all_finite());
    }
  }
}

// Whatever is asked of clients, somebody answers it with a value more: client 1 the first task of a round, client 2 the
// second, and so on; of four clients, because some methods ask many times.
TEST_P(EveryAlgorithm, LeavesOutAnAnswerWithAValueThatNobodyAskedFor) {
  ToyRun run(test::toy_scenario(), 1, [](const ModelSpec& model) { return make_engine(EngineKind::native, model); });
  RoundLoop loop = run.loop(toml_of(GetParam()), std::nullopt, {}, [](std::unique_ptr<Algorithm> inner) {
    return std::make_unique<Tampered>(
        std::move(inner), [](Message& answer) { answer.values["extra\n"] = Floats{1}; },
        [](Round, int task, ClientId client) { return to_index(client) == static_cast<std::uint32_t>(task % 4 + 1); });
  });
  while (loop.finished_rounds() < loop.rounds()) {
    const int phases = std::min(loop.algorithm().phases(loop.finished_rounds() + 1), 4);
    const RoundRecord record = loop.play_round();
    ASSERT_EQ(record.dropped.size(), static_cast<std::size_t>(phases)) << "round " << record.round;
    for (const DroppedRecord& dropped : record.dropped) {
      EXPECT_NE(dropped.reason.find("'s extra? must be left out"), std::string::npos) << dropped.reason;
    }
  }
}

TEST_P(EveryAlgorithm, GivesTheSameBitsOnAnyThreadsInAnyOrder) {
  ToyRun one;
  RoundLoop serial = one.loop(toml_of(GetParam()));
  test::play_all(serial);
  ToyRun three(test::toy_scenario(), 3);
  for (const std::uint64_t order : {1U, 2U, 3U}) {
    RoundLoop shuffled = three.loop(toml_of(GetParam()), order);
    test::play_all(shuffled);
    EXPECT_EQ(test::served_bits(serial.algorithm()), test::served_bits(shuffled.algorithm()));
    EXPECT_EQ(test::remembered_bits(serial), test::remembered_bits(shuffled));
    EXPECT_EQ(serial.evaluate().accuracy, shuffled.evaluate().accuracy);
  }
}

/// A loop that tests after so many rounds.
RoundLoop testing_loop(ToyRun& run, const test::AlgorithmCase& c, int every,
                       std::optional<std::uint64_t> task_order_seed = std::nullopt) {
  RoundLoop::Setup setup = run.setup(toml_of(c), task_order_seed);
  setup.test_every = every;
  return RoundLoop(std::move(setup));
}

using Curve = std::vector<std::optional<double>>;

/// Plays what is left of a run; the test accuracy of each round.
Curve play_tested(RoundLoop& loop) {
  Curve curve;
  while (loop.finished_rounds() < loop.rounds()) {
    curve.push_back(loop.play_round().test_accuracy);
  }
  return curve;
}

/// All that a result says but for what differs from machine to machine and hour to hour.
std::string figures_of(ResultRecord result) {
  result.seconds.clear();
  result.seconds_total = result.samples_per_second = 0;
  result.peak_rss_bytes.reset();
  return summary_json({{}, {result}});
}

TEST_P(EveryAlgorithm, TestsOfRoundsChangeNothingAndEndWithTheTable) {
  ToyRun one;
  RoundLoop untested = one.loop(toml_of(GetParam()));
  EXPECT_EQ(play_tested(untested), Curve(static_cast<std::size_t>(untested.rounds()))) << "nobody asked for tests";
  const std::string figures = figures_of(untested.evaluate());

  RoundLoop tested = testing_loop(one, GetParam(), 1);
  const Curve curve = play_tested(tested);
  const Passes to_serve = tested.algorithm().passes_to_serve(6, /*stranger=*/true);
  EXPECT_EQ(test::served_bits(untested.algorithm()), test::served_bits(tested.algorithm()));
  EXPECT_EQ(test::remembered_bits(untested), test::remembered_bits(tested));
  const ResultRecord result = tested.evaluate();
  EXPECT_EQ(figures_of(result), figures);
  ASSERT_EQ(curve.size(), static_cast<std::size_t>(tested.rounds()));
  EXPECT_EQ(curve.back(), std::optional(result.accuracy)) << "to the last digit";
  EXPECT_LE(*result.test_forward_passes, static_cast<double>(to_serve.forward));
  EXPECT_LE(*result.test_backward_passes, static_cast<double>(to_serve.backward));

  // On any threads in any order, and where a run was interrupted.
  ToyRun three(test::toy_scenario(), 3);
  RoundLoop first = testing_loop(three, GetParam(), 1, /*task_order_seed=*/7);
  Curve resumed{first.play_round().test_accuracy, first.play_round().test_accuracy};
  RoundLoop second = testing_loop(three, GetParam(), 1);
  second.load(first.save(), "checkpoint");
  const Curve rest = play_tested(second);
  resumed.insert(resumed.end(), rest.begin(), rest.end());
  EXPECT_EQ(curve, resumed);
}

TEST_P(EveryAlgorithm, RefusesATruncatedCheckpoint) {
  ToyRun run;
  RoundLoop loop = run.loop(toml_of(GetParam()));
  static_cast<void>(loop.play_round());
  Bytes saved = loop.save();
  saved.resize(saved.size() / 2);
  RoundLoop other = run.loop(toml_of(GetParam()));
  expect_error(ErrorCode::invalid_data, "checkpoint", [&] {
    other.load(saved, "checkpoint");
    return 0;
  });
}

TEST_P(EveryAlgorithm, RefusesUnknownOptionsByName) {
  ToyRun run;
  expect_error(ErrorCode::invalid_config, "algorithm.0.nonsense",
               [&] { return run.loop(toml_of(GetParam()) + "\nnonsense = 1").rounds(); });
}

/// TOML of other types than a setting's, by its index. An integer is a number too; else nothing is converted.
const std::array<std::vector<std::string>, 4> kOtherTypes{{
    {"1", "'true'", "[true]"},         // instead of a boolean
    {"1.5", "'1'", "true", "[1]"},     // of an integer
    {"'1.5'", "true", "[1.5]"},        // of a number
    {"1", "1.5", "true", "['text']"},  // of a string, which may have to be one of some words
}};

TEST_P(EveryAlgorithm, RefusesOptionsOfAnotherTypeByName) {
  ToyRun run;
  static_cast<void>(run.loop(named(GetParam())));
  Settings options = run.plans.back()->settings;
  options["label"] = {"text", ""};  // which every method has
  ASSERT_GT(options.size(), 1U);
  for (const auto& [key, option] : options) {
    for (const std::string& other : kOtherTypes[option.value.index()]) {
      expect_error(ErrorCode::invalid_config, "algorithm.0." + key + " must be ",
                   [&] { return run.loop(named(GetParam()) + key + " = " + other).rounds(); });
    }
  }
}

TEST_P(EveryAlgorithm, ResolvedOptionsReadBackToThemselves) {
  ToyRun run;
  RoundLoop first = run.loop(toml_of(GetParam()));
  std::string text = named(GetParam());
  for (const auto& [key, setting] : run.plans.back()->settings) {
    text += key + " = " + to_string(setting.value) + "\n";
  }
  const Settings before = run.plans.back()->settings;
  RoundLoop second = run.loop(text);
  for (const auto& [key, setting] : run.plans.back()->settings) {
    EXPECT_EQ(setting.value, before.at(key).value) << key;
  }
}

INSTANTIATE_TEST_SUITE_P(Registry, EveryAlgorithm, testing::ValuesIn(test::all_algorithms()), test::case_name);

/// Methods that do something else by default than configs mean that were kept without the key.
TEST(Registry, WhatChangedByDefaultIsAnotherConfig) {
  std::set<std::string> changed;
  for (const AlgorithmEntry& entry : known_algorithms()) {
    Problems problems;
    SettingsReader reader({{"algorithm.0.name", {entry.name, "test"}}}, problems);
    for (const auto& [key, setting] : plan_algorithm(reader, "algorithm.0", problems).settings) {
      if (config_identity().differs_by("algorithm.0." + key, setting.value)) {
        changed.insert(entry.name + "." + key);
      }
    }
  }
  EXPECT_EQ(changed, (std::set<std::string>{"fedadam.averaging", "feddrift.idle_models", "feddrift.latecomers",
                                            "fedgps.whole_head", "fedyogi.averaging", "fesem.averaging",
                                            "fesem.centre_start", "ifca.averaging", "pfedme.personal_start",
                                            "scaffold.averaging", "scaffold.variate_mean", "shiftex.served_by"}));
  for (const char* before :
       {"variate_mean = 'answered'", "averaging = 'examples'", "centre_start = 'apart'", "personal_start = 'kept'",
        "idle_models = 'train'", "latecomers = 'placed'", "whole_head = false", "served_by = 'expectation'"}) {
    const Settings config = parse_settings(std::string("[[algorithm]]\n") + before, "kept");
    EXPECT_TRUE(config_identity().of(config).empty()) << before;
  }
}

TEST(Registry, EveryMethodSaysWhatServesATestClient) {
  for (const AlgorithmEntry& entry : known_algorithms()) {
    EXPECT_GT(entry.headline.size(), 10U) << entry.name;
    EXPECT_FALSE(entry.headline.ends_with(".")) << entry.name << ": it is part of a sentence";
  }
}

TEST(Registry, SuggestsTheNearestAlgorithm) {
  ToyRun run;
  expect_error(ErrorCode::invalid_config, "did you mean \"fedavg\"",
               [&] { return run.loop("name = 'fedagv'").rounds(); });
}

TEST(Registry, RefusesAPresetTheMethodDoesNotHave) {
  ToyRun run;
  expect_error(ErrorCode::invalid_config, "has no presets",
               [&] { return run.loop("name = 'fedavg'\npreset = 'auto'").rounds(); });
  expect_error(ErrorCode::invalid_config, "auto, paper, reference",
               [&] { return run.loop("name = 'feroma'\npreset = 'best'").rounds(); });
}

/// FedAvg without its epochs: what an outsider's options look like, with nothing to check across fields.
struct OutsiderOptions {
  int epochs = 1;

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("epochs", self.epochs, between(0, 9), "1 inherits the momentum policy, more restart it every epoch");
  }
};

std::unique_ptr<Algorithm> make_outsider(const OutsiderOptions& options) {
  return make_fedavg({options.epochs > 1 ? MomentumChoice::epoch : MomentumChoice::inherit});
}

std::vector<float> bits_after_all_rounds(ToyRun& run, const std::string& algorithm) {
  RoundLoop loop = run.loop(algorithm);
  test::play_all(loop);
  return test::served_bits(loop.algorithm());
}

TEST(Registry, RunsARegisteredAlgorithmWithItsOptionsLikeABuiltInOne) {
  register_algorithm({"outsider", "global", "nobody, 2026", {}, plan_of<OutsiderOptions>(make_outsider)});
  EXPECT_EQ(known_algorithms().back().name, "outsider");
  ToyRun run;
  const std::vector<float> inherited = bits_after_all_rounds(run, "name = 'outsider'");
  EXPECT_EQ(run.plans.back()->label, "outsider");
  EXPECT_EQ(to_string(run.plans.back()->settings.at("epochs").value), "1");
  EXPECT_EQ(inherited, bits_after_all_rounds(run, "name = 'fedavg'"));
  EXPECT_EQ(bits_after_all_rounds(run, "name = 'outsider'\nepochs = 2\nlabel = 'mine'"),
            bits_after_all_rounds(run, "name = 'fedavg'\nmomentum_reset = 'epoch'"));
  const auto refuses = [&](const std::string& algorithm, std::string_view part) {
    expect_error(ErrorCode::invalid_config, part, [&] { return run.loop(algorithm).rounds(); });
  };
  refuses("name = 'outsider'\nepochs = 10", "algorithm.0.epochs must be in 0..9");
  refuses("name = 'outsider'\nepoch = 2", "algorithm.0.epochs");
  refuses("name = 'outsidr'", "did you mean \"outsider\"");
}

TEST(Registry, ReadsThePresetsOfARegisteredAlgorithm) {
  const auto plan = [](const std::string& preset, SettingsReader& reader, const std::string& prefix,
                       Problems& problems) {
    return plan_with(OutsiderOptions{preset == "long" ? 5 : 1}, make_outsider, reader, prefix, problems);
  };
  register_algorithm({"outsider-presets", "global", "nobody, 2026", {"short", "long"}, plan});
  ToyRun run;
  const auto epochs = [&](const std::string& options) {
    static_cast<void>(run.loop("name = 'outsider-presets'\n" + options));
    return to_string(run.plans.back()->settings.at("epochs").value);
  };
  EXPECT_EQ(epochs(""), "1");
  EXPECT_EQ(epochs("preset = 'long'"), "5");
  EXPECT_EQ(run.plans.back()->label, "outsider-presets-long");
  EXPECT_EQ(epochs("preset = 'long'\nepochs = 3"), "3");
}

TEST(Registry, RefusesANameThatIsTakenAndKeepsTheFirst) {
  const auto refuses = [](AlgorithmEntry entry, std::string_view part) {
    const std::size_t before = known_algorithms().size();
    expect_error(ErrorCode::invalid_config, part, [&] {
      register_algorithm(std::move(entry));
      return 0;
    });
    EXPECT_EQ(known_algorithms().size(), before);
  };
  const AlgorithmEntry::Plan plan = plan_of<OutsiderOptions>(make_outsider);
  refuses({"fedavg", "global", "nobody, 2026", {}, plan}, "must be new, got \"fedavg\"");
  register_algorithm({"outsider-twice", "global", "the first", {}, plan});
  refuses({"outsider-twice", "global", "the second", {}, plan}, "there already (the first)");
  refuses({"", "global", "nobody, 2026", {}, plan}, "must have a name");
  refuses({"outsider-empty", "global", "nobody, 2026", {}, {}}, "must have a plan");
}

TEST(FeromaOptions, ImpossibleCombinationsAreRefused) {
  ToyRun run;
  const auto refuses = [&](const std::string& options, std::string_view part) {
    expect_error(ErrorCode::invalid_config, part, [&] { return run.loop("name = 'feroma'\n" + options).rounds(); });
  };
  refuses("warmup_rounds = 0", "warmup_rounds must be >= 1");
  refuses("profile.encoder = ''", "profile.encoder");
  refuses("profile.encoder = 'input_moments'\nprofile.projection = 'pca_cube'", "pca_cube");
  refuses("profile.missing_class = 'minus_one'", "mask for the reliable metric");
  refuses("profile.missing_class = 'zero'", "mask for the reliable metric, got zero");
  refuses("profile.spread = 'variance'", "spread must be deviation for the reliable metric, got variance");
  refuses("profile.least_samples = 1", "least_samples must be 2 for the reliable metric, got 1");
  refuses("profile.subsample_test = true", "would be ignored: it needs profile.subsampling");
  refuses("mapping.threshold = 1.5", "must be in 0..1 as a share of all weight, got 1.5");
  refuses("mapping.threshold_unit = 'mean'", "would be ignored: it needs mapping.threshold > 0");
  refuses("profile.encoder_refresh = 2\nprofile.encoder = 'input_moments'\nwarmup_rounds = 1", "needs profile.encoder");
  refuses("profile.encoder_refresh = 2\nretention.models = 3", "needs retention.models 0");
  refuses("profile.encoder_refresh = 2\nprofile.projection = 'pca_cube'", "needs profile.projection");
  refuses("profile.missing_class = 'minus_one'\nmapping.metric = 'euclidean'", "mask for the reliable metric");
  refuses("profile.missing_class = 'minus_one'\nassign.metric = 'euclidean'", "mask for the reliable metric");
  refuses("mapping.width = 0", "must be > 0");
  refuses("warmup_rounds = 3\nwarmup_auto = true", "warmup_auto would be ignored");
  refuses("profile.encoder = 'input_moments'\nprofile.latent = 'penultimate'", "profile.latent would be ignored");
  refuses("profile.replicates = 5", "profile.replicates would be ignored");
  refuses("mapping.kernel = 'uniform'\nmapping.metric = 'cosine'", "mapping.metric would be ignored");
  refuses("mapping.kernel = 'uniform'\nmapping.join = 'positional'", "mapping.join would be ignored");
  refuses("mapping.kernel = 'uniform'\nmapping.threshold = 0.1", "mapping.threshold would be ignored");
  refuses("mapping.kernel = 'uniform'\nmapping.global_share = 0.1", "mapping.global_share would be ignored");
  refuses("assign.metric = 'euclidean'\nassign.strangers = 'profile'", "assign.strangers would be ignored");
  refuses("mapping.fold_trim = 0.1", "mapping.fold_trim would be ignored");
  refuses("mapping.norm_limit = 0.5", "mapping.norm_limit must be 0 or > 1, got 0.5");
  refuses("mapping.scaling = 'min_max'", "mapping.scaling would be ignored");
  refuses("mapping.temperature = 0.5", "mapping.temperature would be ignored");
  refuses("mapping.kernel = 'softmax'\nmapping.width = 1.0", "mapping.width would be ignored");
  refuses("assign.rule = 'nearest'\nassign.width = 1.0", "assign.width would be ignored");
  refuses("assign.few_label = 'moments'\nassign.loss_temperature = 1.0", "assign.loss_temperature would be ignored");
  refuses("mapping.kernel = 'gauss'", "did you mean \"gaussian\"");
}

}  // namespace
}  // namespace feroma
