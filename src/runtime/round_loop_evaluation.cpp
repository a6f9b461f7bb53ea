#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <functional>
#include <limits>
#include <set>

#include "feroma/core/log.h"
#include "feroma/metrics/auc.h"
#include "feroma/privacy/notice.h"
#include "feroma/runtime/round_loop.h"

// The end of a run: every test client is served and scored, and what the run has cost is put beside it.
namespace feroma {
namespace {

std::int64_t peak_rss_bytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<std::int64_t>(usage.ru_maxrss) * 1024;
}

/// Mean over all test clients; absent unless every one of them has the value.
std::optional<double> mean_of(std::span<const TestScores> scores, std::optional<double> TestScores::*field) {
  double sum = 0;
  double count = 0;
  for (const TestScores& score : scores) {
    if (score.*field) {
      sum += *(score.*field);
      count += 1;
    }
  }
  // A mean over some of the clients would stand beside means over all of them.
  return count > 0 && count == static_cast<double>(scores.size()) ? std::optional(sum / count) : std::nullopt;
}

/// With the association known. Clients that never trained have none: they are served the method's own way, so that the
/// mean is over all. Absent where nobody has any.
std::optional<double> mean_of_known(std::vector<TestScores> scores) {
  const bool any = std::any_of(scores.begin(), scores.end(), [](const TestScores& s) { return s.known.has_value(); });
  for (TestScores& score : scores) {
    score.known = any && !score.known ? score.native : score.known;
  }
  return mean_of(scores, &TestScores::known);
}

/// Where some client could not be served there is nothing to divide by.
void describe(const TestCost& cost, std::size_t clients, ResultRecord& result) {
  if (cost.samples == 0 || !std::isfinite(result.accuracy)) {
    return;
  }
  const auto samples = static_cast<double>(cost.samples);
  result.test_forward_passes = static_cast<double>(cost.passes.forward) / samples;
  result.test_backward_passes = static_cast<double>(cost.passes.backward) / samples;
  result.test_bytes_up = static_cast<double>(cost.traffic.bytes_up) / static_cast<double>(clients);
  result.test_bytes_down = static_cast<double>(cost.traffic.bytes_down) / static_cast<double>(clients);
}

}  // namespace

Together RoundLoop::together(const Algorithm& algorithm, std::span<const TestPolicy> policies,
                             const Memories& remembered) {
  Together met;
  setup_.workers.run(
      1,
      [&](std::size_t, Trainer& trainer) {
        met = serve_together(algorithm, policies, setup_.federation, few_labels(), trainer, setup_.rng, remembered,
                             totals_.stages);
      },
      setup_.stop);
  return met;
}

std::vector<Disclosure*> RoundLoop::test_disclosures() const {
  std::vector<Disclosure*> tellers(setup_.federation.test_clients());
  for (std::size_t i = 0; i < tellers.size() && setup_.disclosures != nullptr; ++i) {
    tellers[i] = &setup_.disclosures->testing(static_cast<ClientId>(i));
  }
  return tellers;
}

void RoundLoop::for_each_test_client(const Algorithm& algorithm, const Memories& remembered, Together& met,
                                     int labels_per_class,
                                     const std::function<void(std::size_t, const Scoring&, const TestShard&)>& score) {
  const TrueDistribution trained_on = [this](const ModelSource& source) {
    return distribution_of(source.client, source.round == 0 ? round_ : source.round);
  };
  const std::size_t clients = setup_.federation.test_clients();
  std::vector<StageSeconds> seconds(clients);
  const std::vector<Disclosure*> tellers = test_disclosures();
  setup_.workers.run(
      clients,
      [&](std::size_t i, Trainer& trainer) {
        const Scoring scoring{algorithm, trainer, setup_.rng, remembered, trained_on, seconds[i], &met, tellers[i]};
        score(i, scoring, setup_.federation.test(static_cast<ClientId>(i), labels_per_class));
      },
      setup_.stop);
  for (const StageSeconds& s : seconds) {
    totals_.stages += s;
  }
}

RoundLoop::Natives RoundLoop::score_natives(const Algorithm& algorithm, const Memories& remembered) {
  Together met = together(algorithm, std::array{TestPolicy::native}, remembered);
  Natives natives{std::vector<TestScores>(setup_.federation.test_clients()), met.cost(TestPolicy::native)};
  for_each_test_client(algorithm, remembered, met, /*labels_per_class=*/0,
                       [&natives](std::size_t i, const Scoring& scoring, const TestShard& shard) {
                         natives.scores[i] = score_natively(scoring, shard, static_cast<ClientId>(i));
                       });
  return natives;
}

Spread RoundLoop::spread_over(const Natives& natives) {
  std::vector<double> values;
  for (const TestScores& scores : natives.scores) {
    // One client without a model of its own leaves the mean over all of them undefined, not lower.
    values.push_back(scores.native.value_or(std::numeric_limits<double>::quiet_NaN()));
  }
  return spread_of(values);
}

std::optional<std::string> RoundLoop::why_untested() const {
  return setup_.test_every > 0 && spends_on_tests(*algorithm_, setup_.server.privacy)
             ? std::optional(fmt::format("every test would spend the test clients' privacy budget (privacy.mode {})",
                                         name_of(setup_.server.privacy.mode)))
             : std::nullopt;
}

void RoundLoop::test_round(RoundRecord& record) {
  tested_.reset();
  const bool due = setup_.test_every > 0 && (round_ % setup_.test_every == 0 || round_ == rounds());
  if (!due || why_untested()) {
    return;
  }
  tested_ = score_natives(*algorithm_, memories());
  const double mean = spread_over(*tested_).mean;
  record.test_accuracy = std::isfinite(mean) ? std::optional(mean) : std::nullopt;
  if (!record.test_accuracy && !told_untested_) {
    told_untested_ = true;
    log::info("{}: round {} has no test accuracy: some test client is served nothing", setup_.plan.label, round_);
  }
}

std::optional<double> RoundLoop::score_best_round() {
  if (totals_.best_round == 0) {
    return std::nullopt;
  }
  const std::unique_ptr<Algorithm> best = fresh_algorithm();
  ArchiveReader archive(totals_.best_state, setup_.plan.label + " (best round)");
  ModelReader reader(archive, setup_.server.initial->shared_layout());
  best->load(reader);
  // What clients remembered then is gone; who is served from it has no best round but the last.
  const Memories remembered = totals_.best_round == round_ ? memories() : Memories{};
  const double mean = spread_over(score_natives(*best, remembered)).mean;
  return std::isfinite(mean) ? std::optional(mean) : std::nullopt;
}

std::vector<bool> RoundLoop::strangers() const {
  std::set<int> trained;
  for (Round round = 1; round <= round_; ++round) {
    for (const ClientId client : participants(round)) {
      trained.insert(distribution_of(client, round));
    }
  }
  std::vector<bool> strange;
  const std::vector<int>& ids = setup_.federation.schedule().test_ids;
  for (std::size_t i = 0; i < setup_.federation.test_clients(); ++i) {
    strange.push_back(!trained.contains(ids[i]));
  }
  return strange;
}

std::optional<double> RoundLoop::detection_auroc() {
  const std::vector<bool> strange = strangers();
  if (round_ == 0 || std::adjacent_find(strange.begin(), strange.end(), std::not_equal_to<>()) == strange.end()) {
    return std::nullopt;
  }
  std::vector<std::vector<double>> found(strange.size());
  setup_.workers.run(
      strange.size(),
      [&](std::size_t i, Trainer& trainer) {
        const TestShard shard = setup_.federation.test(static_cast<ClientId>(i), /*labels_per_class=*/0);
        found[i] = algorithm_->strangeness(trainer, shard.data);
      },
      setup_.stop);
  std::vector<double> strangers;
  std::vector<double> others;
  for (std::size_t i = 0; i < found.size(); ++i) {
    std::vector<double>& kind = strange[i] ? strangers : others;
    kind.insert(kind.end(), found[i].begin(), found[i].end());
  }
  return area_under_curve(strangers, others);
}

ResultRecord RoundLoop::evaluate() {
  const auto start = std::chrono::steady_clock::now();
  const ScenarioOptions& scenario = setup_.federation.options();
  const std::size_t clients = setup_.federation.test_clients();
  const Memories remembered = memories();
  // What the last round's test has found is not found twice.
  Natives natives = tested_ ? std::move(*tested_) : score_natives(*algorithm_, remembered);
  tested_.reset();
  std::vector<TestScores>& scores = natives.scores;
  static_assert(kTestPolicies.front() == TestPolicy::native);
  Together met = together(*algorithm_, std::span(kTestPolicies).subspan<1>(), remembered);
  for_each_test_client(*algorithm_, remembered, met, few_labels(),
                       [&scores](std::size_t i, const Scoring& scoring, const TestShard& shard) {
                         score_other_policies(scoring, shard, static_cast<ClientId>(i), scores[i]);
                       });
  double matched = 0;
  double matchable = 0;
  TestCost cost = natives.together;
  for (const TestScores& score : scores) {
    cost += score.native_cost;
    if (score.matched) {
      matchable += 1;
      matched += *score.matched ? 1 : 0;
    }
  }
  ResultRecord result;
  result.label = setup_.plan.label;
  result.algorithm = setup_.plan.name;
  if (!setup_.plan.preset.empty()) {
    result.preset = setup_.plan.preset;
  }
  result.seed = scenario.seed;
  result.metric = setup_.federation.multi_label() ? "auroc" : "accuracy";
  const Spread spread = spread_over(natives);
  result.accuracy = spread.mean;
  result.accuracy_std_clients = spread.std;
  result.accuracy_worst10 = spread.worst10;
  result.accuracy_known = mean_of_known(scores);
  result.accuracy_few_label = mean_of(scores, &TestScores::few_label);
  result.accuracy_nearest = mean_of(scores, &TestScores::nearest);
  result.accuracy_expectation = mean_of(scores, &TestScores::expectation);
  result.accuracy_personal = mean_of(scores, &TestScores::personal);
  result.accuracy_best_round = score_best_round();
  if (matchable > 0) {
    result.match_rate = matched / matchable;
  }
  result.detection_auroc = detection_auroc();
  if (totals_.newcomers > 0) {
    result.accuracy_newcomers = totals_.newcomer_accuracy / static_cast<double>(totals_.newcomers);
  }
  totals_.seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  describe_costs(result);
  describe(cost, clients, result);
  return result;
}

void RoundLoop::describe_costs(ResultRecord& result) const {
  const auto client_rounds = static_cast<double>(std::max<std::int64_t>(totals_.client_rounds, 1));
  result.bytes_up_per_client_round = static_cast<double>(totals_.bytes_up) / client_rounds;
  result.bytes_down_per_client_round = static_cast<double>(totals_.bytes_down) / client_rounds;
  const auto held = static_cast<double>(std::max<std::int64_t>(totals_.samples_held, 1));
  result.forward_passes_per_client_round = static_cast<double>(totals_.passes.forward) / held;
  result.backward_passes_per_client_round = static_cast<double>(totals_.passes.backward) / held;
  result.profile_floats = algorithm_->profile_floats();
  result.epsilon = epsilon();
  if (result.profile_floats && setup_.server.privacy.mode != PrivacyMode::off) {
    result.dp_guarantee = guarantee_of(setup_.server.privacy);
  }
  result.seconds_total = totals_.seconds;
  for (std::size_t s = 0; s < kStageNames.size(); ++s) {
    result.seconds[std::string(kStageNames[s])] = totals_.stages.values[s];
  }
  const double training = totals_.stages.values[static_cast<std::size_t>(Stage::train)];
  // Stage seconds add up over the workers; the rate is that of all of them together.
  result.samples_per_second =
      training > 0 ? static_cast<double>(totals_.passes.backward) * setup_.workers.threads() / training : 0;
  result.peak_rss_bytes = peak_rss_bytes();
}

}  // namespace feroma
