#include "feroma/runtime/round_loop.h"

#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <limits>

#include "feroma/core/error.h"
#include "feroma/core/log.h"
#include "feroma/metrics/auc.h"

namespace feroma {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

std::int64_t peak_rss_bytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<std::int64_t>(usage.ru_maxrss) * 1024;
}

/// Mean over clients; each client counts alike, whatever its size.
template <class Range, class Value>
double mean_over(const Range& range, Value value) {
  double sum = 0;
  for (const auto& item : range) {
    sum += value(item);
  }
  return range.empty() ? 0.0 : sum / static_cast<double>(range.size());
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

}  // namespace

RoundLoop::RoundLoop(Setup setup)
    : setup_(std::move(setup)),
      algorithm_(fresh_algorithm()),
      pool_(setup_.federation, setup_.workers, setup_.rng, setup_.stop, setup_.task_order_seed) {}

std::unique_ptr<Algorithm> RoundLoop::fresh_algorithm() const {
  std::unique_ptr<Algorithm> algorithm = setup_.plan.make();
  ServerContext server = setup_.server;
  server.rounds = setup_.federation.options().rounds;
  server.multi_label = setup_.federation.multi_label();
  // The workers are idle while the server works. What it does in a round is not interrupted half-way.
  server.parallel = [workers = &setup_.workers](std::size_t count, const std::function<void(std::size_t)>& task) {
    static const std::atomic<bool> never = false;
    workers->run(
        count, [&task](std::size_t i, Trainer&) { task(i); }, never);
  };
  algorithm->init(server);
  return algorithm;
}

Memories RoundLoop::memories() const { return pool_.memories(present(std::max(round_, 1))); }

Round RoundLoop::rounds() const { return setup_.federation.options().rounds + algorithm_->extra_rounds(); }

/// Extra rounds run on the last scheduled round's data.
Round RoundLoop::data_round(Round round) const { return std::min(round, setup_.federation.options().rounds); }

std::vector<ClientId> RoundLoop::present(Round round) const {
  if (setup_.membership) {
    return setup_.membership->present(data_round(round));
  }
  std::vector<ClientId> clients;
  for (int client = 0; client < setup_.federation.options().clients; ++client) {
    clients.push_back(static_cast<ClientId>(client));
  }
  return clients;
}

std::vector<ClientId> RoundLoop::participants(Round round) const {
  const std::vector<ClientId> all = present(round);
  const auto wanted = static_cast<std::size_t>(
      std::llround(setup_.federation.options().participation * static_cast<double>(all.size())));
  if (wanted >= all.size()) {
    return all;
  }
  std::vector<std::uint32_t> drawn = setup_.rng.derive("participants", static_cast<std::uint64_t>(round))
                                         .sample(all.size(), std::max<std::size_t>(wanted, 1));
  std::sort(drawn.begin(), drawn.end());
  std::vector<ClientId> clients;
  for (const std::uint32_t position : drawn) {
    clients.push_back(all[position]);
  }
  return clients;
}

std::set<ClientId> RoundLoop::newcomers(std::span<const ClientId> participants) const {
  std::set<ClientId> clients;
  for (const ClientId client : participants) {
    if (setup_.membership && setup_.membership->first_round(client) > 1 && !pool_.knows(client)) {
      clients.insert(client);
    }
  }
  return clients;
}

RoundRecord RoundLoop::play_round() {
  const auto start = Clock::now();
  const Round round = round_ + 1;
  RoundRecord record;
  record.algorithm = setup_.plan.label;
  record.round = round;
  std::map<ClientId, ClientReport> reports;
  const std::vector<ClientId> present = participants(round);
  const std::set<ClientId> fresh = newcomers(present);
  exchange_phases(round, present, record, reports);
  validate(round, reports, record);
  describe_clients(round, reports, record);
  describe_mixing(record);
  round_ = round;
  record.seconds = seconds_since(start);
  totals_.seconds += record.seconds;
  totals_.bytes_up += record.bytes_up;
  totals_.bytes_down += record.bytes_down;
  totals_.client_rounds += static_cast<std::int64_t>(reports.size());
  for (const auto& [client, report] : reports) {
    if (fresh.contains(client)) {
      totals_.newcomer_accuracy += report.before.accuracy();
      totals_.newcomers += 1;
    }
  }
  return record;
}

void RoundLoop::refuse_unbelievable_(Round round, int phase, ClientId client, ClientOutcome& outcome) const {
  const auto* answer = std::get_if<ClientAnswer>(&outcome.answer);
  if (answer == nullptr) {
    return;
  }
  try {
    algorithm_->check_answer(round, phase, client, answer->message);
  } catch (const Error& error) {
    // As for clients that fail by themselves: what is wrong with the data leaves the round, our own mistakes end it.
    if (error.code() != ErrorCode::invalid_data) {
      throw;
    }
    outcome.answer = ClientDropped{error.what()};
  }
}

void RoundLoop::exchange_phases(Round round, std::vector<ClientId> present, RoundRecord& record,
                                std::map<ClientId, ClientReport>& reports) {
  const int phases = algorithm_->phases(round);
  for (int phase = 0; phase < phases; ++phase) {
    auto outcomes = pool_.exchange(*algorithm_, round, phase, present);
    std::map<ClientId, Message> answers;
    std::string reason;
    present.clear();
    for (auto& [client, outcome] : outcomes) {
      record.bytes_down += outcome.bytes_down;
      totals_.stages += outcome.seconds;
      refuse_unbelievable_(round, phase, client, outcome);
      if (auto* answer = std::get_if<ClientAnswer>(&outcome.answer)) {
        record.bytes_up += answer->bytes_up;
        answers[client] = std::move(answer->message);
        present.push_back(client);
        reports[client] = outcome.report;
        totals_.passes.forward += outcome.passes.forward;
        totals_.passes.backward += outcome.passes.backward;
      } else {
        reason = std::get<ClientDropped>(outcome.answer).reason;
        log::warning("{}: round {}: client {} dropped out: {}", setup_.plan.label, round, to_index(client), reason);
        record.dropped.push_back({to_index(client), reason});
        reports.erase(client);
      }
    }
    require(!answers.empty(), ErrorCode::invalid_data, "{}: round {}: every client dropped out; the last one: {}",
            setup_.plan.label, round, reason);
    algorithm_->uplink(round, phase, answers, totals_.stages);
  }
  for (const auto& [client, report] : reports) {
    totals_.samples_held += report.num_examples;
  }
}

void RoundLoop::describe_clients(Round round, const std::map<ClientId, ClientReport>& reports,
                                 RoundRecord& record) const {
  for (const auto& [client, report] : reports) {
    ClientRecord line;
    line.client = to_index(client);
    line.distribution = distribution_of(client, round);
    line.num_examples = report.num_examples;
    line.loss = report.after.loss();
    line.accuracy_before = report.before.accuracy();
    line.accuracy_after = report.after.accuracy();
    record.clients.push_back(line);
  }
  record.loss = mean_over(record.clients, [](const ClientRecord& c) { return c.loss; });
  record.accuracy_before = mean_over(record.clients, [](const ClientRecord& c) { return c.accuracy_before; });
  record.accuracy_after = mean_over(record.clients, [](const ClientRecord& c) { return c.accuracy_after; });
}

int RoundLoop::distribution_of(ClientId client, Round round) const {
  const Schedule& schedule = setup_.federation.schedule();
  const auto stage = static_cast<std::size_t>(schedule.stage_of_round[static_cast<std::size_t>(data_round(round))]);
  return schedule.ids[to_index(client)][stage];
}

/// How well the weights tell same from different distributions: 1 perfectly, 0.5 not at all. Oracle knowledge.
std::optional<double> RoundLoop::mixing_auc(const RoundTrace& trace, Round round) const {
  std::vector<double> same;
  std::vector<double> different;
  for (std::size_t r = 0; r < trace.receivers.size(); ++r) {
    for (std::size_t s = 0; s < trace.sources.size(); ++s) {
      const Round trained = trace.source_rounds.empty() ? round - 1 : trace.source_rounds[s];
      const bool alike = distribution_of(trace.receivers[r], round) == distribution_of(trace.sources[s], trained);
      (alike ? same : different).push_back(trace.mixing.at(r, s));
    }
  }
  return area_under_curve(same, different);
}

void RoundLoop::describe_mixing(RoundRecord& record) const {
  const RoundTrace* trace = algorithm_->trace();
  if (trace == nullptr) {
    return;
  }
  std::map<std::uint32_t, Strategy> strategy_of_client;
  for (std::size_t r = 0; r < trace->receivers.size(); ++r) {
    strategy_of_client[to_index(trace->receivers[r])] = trace->strategies[r];
  }
  for (ClientRecord& line : record.clients) {
    const auto found = strategy_of_client.find(line.client);
    if (found != strategy_of_client.end()) {
      line.strategy = kStrategyNames[static_cast<std::size_t>(found->second)];
    }
  }
  const auto share = [&](Strategy strategy) {
    return mean_over(trace->strategies, [&](Strategy s) { return s == strategy ? 1.0 : 0.0; });
  };
  record.global_share = share(Strategy::global);
  record.clustered_share = share(Strategy::clustered);
  record.personal_share = share(Strategy::personal);
  if (!trace->mixing.empty()) {
    record.mixing_auc = mixing_auc(*trace, record.round);
    record.contraction = trace->contraction;
    record.column_sum_min = trace->column_sum_min;
    record.column_sum_max = trace->column_sum_max;
  }
}

void RoundLoop::validate(Round round, const std::map<ClientId, ClientReport>& reports, RoundRecord& record) {
  std::vector<ClientId> clients;
  for (const auto& [client, report] : reports) {
    clients.push_back(client);
  }
  const Memories remembered = pool_.memories(clients);
  std::vector<std::optional<Tally>> tallies(clients.size());
  std::vector<StageSeconds> seconds(clients.size());
  setup_.workers.run(
      clients.size(),
      [&](std::size_t i, Trainer& trainer) {
        const ClientShard shard = setup_.federation.shard(clients[i], data_round(round));
        tallies[i] = score_own(*algorithm_, clients[i], shard.held_out, trainer, setup_.rng.derive("validate"),
                               remembered, seconds[i]);
      },
      setup_.stop);
  double loss = 0;
  double accuracy = 0;
  double count = 0;
  for (std::size_t i = 0; i < clients.size(); ++i) {
    totals_.stages += seconds[i];
    if (tallies[i]) {
      loss += tallies[i]->loss();
      accuracy += tallies[i]->accuracy();
      count += 1;
    }
  }
  if (count == 0) {
    return;
  }
  record.validation_loss = loss / count;
  record.validation_accuracy = accuracy / count;
  if (std::isfinite(record.validation_loss) &&
      (totals_.best_round == 0 || record.validation_loss < totals_.best_loss)) {
    totals_.best_round = round;
    totals_.best_loss = record.validation_loss;
    ArchiveWriter archive;
    ModelWriter writer(archive);
    algorithm_->save(writer);
    totals_.best_state = archive.take();
  }
}

Together RoundLoop::together(const Algorithm& algorithm, std::span<const TestPolicy> policies,
                             const Memories& remembered) {
  Together met;
  setup_.workers.run(
      1,
      [&](std::size_t, Trainer& trainer) {
        met = serve_together(algorithm, policies, setup_.federation, kFewLabels, trainer, setup_.rng, remembered,
                             totals_.stages);
      },
      setup_.stop);
  return met;
}

std::optional<double> RoundLoop::score_best_round() {
  if (totals_.best_round == 0) {
    return std::nullopt;
  }
  const std::unique_ptr<Algorithm> best = fresh_algorithm();
  ArchiveReader archive(totals_.best_state, setup_.plan.label + " (best round)");
  ModelReader reader(archive, setup_.server.initial->shared_layout());
  best->load(reader);
  const std::size_t clients = setup_.federation.test_clients();
  const Memories remembered = memories();
  Together met = together(*best, std::array{TestPolicy::native}, remembered);
  std::vector<double> scores(clients);
  std::vector<StageSeconds> seconds(clients);
  setup_.workers.run(
      clients,
      [&](std::size_t i, Trainer& trainer) {
        const auto client = static_cast<ClientId>(i);
        scores[i] = score_native(*best, setup_.federation.test(client, kFewLabels), client, trainer, setup_.rng,
                                 remembered, seconds[i], &met);
      },
      setup_.stop);
  for (const StageSeconds& s : seconds) {
    totals_.stages += s;
  }
  return spread_of(scores).mean;
}

ResultRecord RoundLoop::evaluate() {
  const auto start = Clock::now();
  const ScenarioOptions& scenario = setup_.federation.options();
  const TrueDistribution trained_on = [this](const ModelSource& source) {
    return distribution_of(source.client, source.round == 0 ? round_ : source.round);
  };
  const std::size_t clients = setup_.federation.test_clients();
  const Memories remembered = memories();
  Together met = together(*algorithm_, kTestPolicies, remembered);
  std::vector<TestScores> scores(clients);
  std::vector<StageSeconds> seconds(clients);
  setup_.workers.run(
      clients,
      [&](std::size_t i, Trainer& trainer) {
        const auto client = static_cast<ClientId>(i);
        scores[i] = score_test_client(*algorithm_, setup_.federation.test(client, kFewLabels), client, trainer,
                                      setup_.rng, remembered, trained_on, seconds[i], &met);
      },
      setup_.stop);
  std::vector<double> native;
  double matched = 0;
  double matchable = 0;
  for (std::size_t i = 0; i < clients; ++i) {
    totals_.stages += seconds[i];
    // One client without a model of its own leaves the mean over all of them undefined, not lower.
    native.push_back(scores[i].native.value_or(std::numeric_limits<double>::quiet_NaN()));
    if (scores[i].matched) {
      matchable += 1;
      matched += *scores[i].matched ? 1 : 0;
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
  const Spread spread = spread_of(native);
  result.accuracy = spread.mean;
  result.accuracy_std_clients = spread.std;
  result.accuracy_worst10 = spread.worst10;
  result.accuracy_known = mean_of(scores, &TestScores::known);
  result.accuracy_few_label = mean_of(scores, &TestScores::few_label);
  result.accuracy_nearest = mean_of(scores, &TestScores::nearest);
  result.accuracy_expectation = mean_of(scores, &TestScores::expectation);
  result.accuracy_personal = mean_of(scores, &TestScores::personal);
  result.accuracy_best_round = score_best_round();
  if (matchable > 0) {
    result.match_rate = matched / matchable;
  }
  if (totals_.newcomers > 0) {
    result.accuracy_newcomers = totals_.newcomer_accuracy / static_cast<double>(totals_.newcomers);
  }
  totals_.seconds += seconds_since(start);
  describe_costs(result);
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

Bytes RoundLoop::save() const {
  ArchiveWriter archive;
  archive.put(std::string_view(setup_.plan.label));
  archive.put<std::int32_t>(round_);
  archive.put(totals_.seconds);
  for (const double value : totals_.stages.values) {
    archive.put(value);
  }
  archive.put(totals_.bytes_up);
  archive.put(totals_.bytes_down);
  archive.put(totals_.client_rounds);
  archive.put(totals_.samples_held);
  archive.put(totals_.passes.forward);
  archive.put(totals_.passes.backward);
  archive.put(totals_.newcomer_accuracy);
  archive.put(totals_.newcomers);
  archive.put<std::int32_t>(totals_.best_round);
  archive.put(totals_.best_loss);
  archive.put(std::span<const std::byte>(totals_.best_state));
  ModelWriter writer(archive);
  algorithm_->save(writer);
  pool_.save(writer);
  return archive.take();
}

void RoundLoop::load(std::span<const std::byte> bytes, const std::string& what) {
  ArchiveReader archive(bytes, what);
  const std::string label = archive.get_string();
  require(label == setup_.plan.label, ErrorCode::invalid_data, "{}: is the state of {}, expected {}", what, label,
          setup_.plan.label);
  round_ = archive.get<std::int32_t>();
  totals_.seconds = archive.get<double>();
  for (double& value : totals_.stages.values) {
    value = archive.get<double>();
  }
  totals_.bytes_up = archive.get<std::int64_t>();
  totals_.bytes_down = archive.get<std::int64_t>();
  totals_.client_rounds = archive.get<std::int64_t>();
  totals_.samples_held = archive.get<std::int64_t>();
  totals_.passes.forward = archive.get<std::int64_t>();
  totals_.passes.backward = archive.get<std::int64_t>();
  totals_.newcomer_accuracy = archive.get<double>();
  totals_.newcomers = archive.get<std::int64_t>();
  totals_.best_round = archive.get<std::int32_t>();
  totals_.best_loss = archive.get<double>();
  totals_.best_state = archive.get_vector<std::byte>();
  ModelReader reader(archive, setup_.server.initial->shared_layout());
  algorithm_->load(reader);
  pool_.load(reader);
  archive.expect_end();
}

}  // namespace feroma
