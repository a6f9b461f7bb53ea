#include "feroma/runtime/round_loop.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>

#include "feroma/core/error.h"
#include "feroma/core/log.h"
#include "feroma/metrics/auc.h"
#include "feroma/runtime/round_record.h"

namespace feroma {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

}  // namespace

RoundLoop::RoundLoop(Setup setup)
    : setup_(std::move(setup)),
      algorithm_(fresh_algorithm()),
      pool_(setup_.federation, setup_.workers, setup_.rng, setup_.stop, setup_.task_order_seed, setup_.attack,
            setup_.disclosures) {
  // What was spent before a run was interrupted counts, whoever takes part from now on.
  for (int client = 0; setup_.disclosures != nullptr && client < setup_.federation.options().clients; ++client) {
    static_cast<void>(setup_.disclosures->training(static_cast<ClientId>(client)));
  }
}

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
  prepare(*algorithm, server);
  return algorithm;
}

Memories RoundLoop::memories() const { return pool_.memories(present(std::max(round_, 1))); }

Round RoundLoop::rounds() const {
  return algorithm_->ends() ? round_ : setup_.federation.options().rounds + algorithm_->extra_rounds();
}

std::optional<double> RoundLoop::epsilon() const {
  const bool promised = setup_.disclosures != nullptr && setup_.server.privacy.noise == NoiseSource::os;
  return promised ? std::optional(setup_.disclosures->epsilon()) : std::nullopt;
}

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
  return draw_participants(present(round), setup_.federation.options().participation, setup_.rng, round);
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
  const std::vector<ClientId> present = participants(round);
  const std::set<ClientId> fresh = newcomers(present);
  const Exchanged exchanged = exchange_phases(*algorithm_, pool_, round, present, setup_.plan.label);
  const std::map<ClientId, ClientReport>& reports = exchanged.reports;
  totals_.stages += exchanged.stages;
  totals_.passes += exchanged.passes;
  validate(round, reports, record);
  describe_exchange(
      exchanged, [&](ClientId client) { return distribution_of(client, round); }, record);
  if (const RoundTrace* trace = algorithm_->trace()) {
    describe_mixing(*trace, record);
    if (!trace->mixing.empty()) {
      record.mixing_auc = mixing_auc(*trace, round);
    }
  }
  round_ = round;
  test_round(record);
  record.epsilon = epsilon();
  for (ClientRecord& line : record.clients) {
    if (record.epsilon) {
      line.epsilon = setup_.disclosures->training(static_cast<ClientId>(line.client)).spent().epsilon;
    }
  }
  record.seconds = seconds_since(start);
  totals_.seconds += record.seconds;
  totals_.bytes_up += record.bytes_up;
  totals_.bytes_down += record.bytes_down;
  totals_.client_rounds += static_cast<std::int64_t>(reports.size());
  for (const auto& [client, report] : reports) {
    totals_.samples_held += report.num_examples;
    if (fresh.contains(client)) {
      totals_.newcomer_accuracy += report.before.accuracy();
      totals_.newcomers += 1;
    }
  }
  return record;
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

Bytes RoundLoop::save() const {
  ArchiveWriter archive;
  archive.put(std::string_view(setup_.plan.label));
  archive.put<std::int32_t>(round_);
  totals_.save(archive);
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
  tested_.reset();
  totals_ = RunTotals::load(archive);
  ModelReader reader(archive, setup_.server.initial->shared_layout());
  algorithm_->load(reader);
  pool_.load(reader);
  archive.expect_end();
}

}  // namespace feroma
