#include "net/coordinator.h"

#include <algorithm>
#include <chrono>

#include "feroma/core/error.h"
#include "feroma/core/log.h"
#include "feroma/report/run_writer.h"
#include "feroma/runtime/round_record.h"
#include "feroma/runtime/server_context.h"
#include "feroma/runtime/store_models.h"
#include "net/nonce.h"

namespace feroma::net {
namespace {

std::string hex(std::string_view bytes) {
  std::string text;
  for (const char byte : bytes) {
    text += fmt::format("{:02x}", static_cast<unsigned char>(byte));
  }
  return text;
}

}  // namespace

/// What people read: metrics, events, mixing. They go as far as the last finished round.
struct Coordinator::Files {
  RunWriter writer;
  RunFileSizes sizes;
  RoundRecord last;
};

Coordinator::Coordinator(const FederationPlan& plan, const std::atomic<bool>& stop)
    : plan_(plan),
      stop_(stop),
      model_(plan.experiment.model(plan.input, plan.classes)),
      rng_(static_cast<std::uint64_t>(plan.experiment.scenario.seed)),
      initial_(share(initialise(model_, rng_.derive("init")))),
      log_(plan.state, [&] {
        return JobRecord{hex(make_nonce()), to_toml(plan.experiment.resolved())};
      }) {
  require(plan.experiment.algorithms.size() == 1, ErrorCode::invalid_config,
          "a federation runs one algorithm, the config has {}", plan.experiment.algorithms.size());
  require(log_.job().config == to_toml(plan.experiment.resolved()), ErrorCode::invalid_config,
          "{}: holds a federation with another config; choose another folder", plan.state.string());
  const bool resuming = log_.committed() > 0;
  files_ = std::make_unique<Files>(
      Files{RunWriter(plan.state, resuming ? RunWriter::Mode::resume : RunWriter::Mode::create), {}, {}});
  restore();
  if (resuming) {
    files_->writer.truncate_to(files_->sizes);
    files_->writer.run_resumed(plan.experiment.algorithms.front().label, log_.committed());
  } else {
    files_->writer.run_started(plan.experiment.resolved());
  }
  hub_ = std::make_unique<Hub>(
      Hub::Job{log_.job().id, log_.job().config, initial_->shared_layout(), !plan.experiment.privacy.guarded(),
               static_cast<std::uint32_t>(plan.experiment.scenario.clients)},
      plan.server, log_.committed(), stop);
}

Coordinator::~Coordinator() = default;

std::unique_ptr<Algorithm> Coordinator::fresh_algorithm() const {
  std::unique_ptr<Algorithm> algorithm = plan_.experiment.algorithms.front().make();
  ServerContext server = make_server_context(plan_.experiment, model_, initial_, rng_);
  server.rounds = plan_.experiment.scenario.rounds;
  server.multi_label = plan_.multi_label;
  prepare(*algorithm, server);
  return algorithm;
}

void Coordinator::restore() {
  algorithm_ = fresh_algorithm();
  if (log_.committed() == 0) {
    return;
  }
  log_.load(initial_->shared_layout(), [&](ModelReader& in) {
    algorithm_->load(in);
    files_->sizes.metrics = in.in().get<std::uint64_t>();
    files_->sizes.clients = in.in().get<std::uint64_t>();
    files_->sizes.events = in.in().get<std::uint64_t>();
  });
}

std::vector<ClientId> Coordinator::gather() {
  if (log_.started()) {
    std::vector<ClientId> there = hub_->await(log_.started()->participants, plan_.server.rejoin_seconds);
    if (there.size() == log_.started()->participants.size()) {
      return there;
    }
  }
  return hub_->await(plan_.server.min_clients);
}

bool Coordinator::play_round() {
  const auto start = Clock::now();
  const std::string& label = plan_.experiment.algorithms.front().label;
  const Round round = log_.committed() + 1;
  const std::vector<ClientId> participants = gather();
  if (!log_.started() || log_.started()->participants != participants) {
    log_.start({round, participants});
  }
  Exchanged exchanged;
  try {
    exchanged = exchange_phases(*algorithm_, *hub_, round, participants, label);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::invalid_data) {
      throw;
    }
    log::warning("{}; the round begins again", error.what());
    restore();  // phases before the one that failed have changed it
    return false;
  }
  RoundRecord record;
  record.algorithm = label;
  record.round = round;
  describe_exchange(exchanged, {}, record);
  const RoundTrace* trace = algorithm_->trace();
  if (trace != nullptr) {
    describe_mixing(*trace, record);
  }
  record.seconds = std::chrono::duration<double>(Clock::now() - start).count();
  write_round(files_->writer, record, trace);
  files_->sizes = files_->writer.flush_and_sizes();
  log_.commit(round, [&](ModelWriter& out) {
    algorithm_->save(out);
    out.out().put(files_->sizes.metrics);
    out.out().put(files_->sizes.clients);
    out.out().put(files_->sizes.events);
  });
  hub_->announce(round);
  if (plan_.round_finished) {
    plan_.round_finished(record, plan_.experiment.scenario.rounds);
  }
  files_->last = std::move(record);
  return true;
}

void Coordinator::run() {
  const Round rounds = plan_.experiment.scenario.rounds + algorithm_->extra_rounds();
  while (log_.committed() < rounds && !algorithm_->ends()) {
    if (!play_round()) {
      hub_->pause(plan_.server.heartbeat_seconds);
    }
  }
  finish();
}

void Coordinator::finish() {
  store_models(plan_.state / "results", *algorithm_, plan_.experiment.algorithms.front().label, log_.committed(),
               files_->last, model_);
  static_cast<void>(files_->writer.flush_and_sizes());
  hub_->dismiss({v1::FINISHED, "all rounds are done", 0});
}

}  // namespace feroma::net
