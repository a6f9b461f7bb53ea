#include "net/coordinator.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>

#include "core/posix_file.h"
#include "feroma/core/build_info.h"
#include "feroma/core/error.h"
#include "feroma/core/fault_point.h"
#include "feroma/core/files.h"
#include "feroma/core/log.h"
#include "feroma/drift/membership.h"
#include "feroma/privacy/witness.h"
#include "feroma/report/run_writer.h"
#include "feroma/runtime/input_survey.h"
#include "feroma/runtime/round_record.h"
#include "feroma/runtime/server_context.h"
#include "feroma/runtime/store_models.h"
#include "feroma/store/index.h"
#include "net/nonce.h"

namespace feroma::net {
namespace {

/// Phases of a round, at most, before a server that does not finish one is called unwell.
constexpr double kMostPhases = 4;
/// Models in one message, at most. Where there are so many, a client may remember as many values again.
constexpr std::uint64_t kMostModels = kMostValues / 2;

/// Notes of the log about what was released begin so.
constexpr std::string_view kReleased = "released ";

std::string hex(std::string_view bytes) {
  std::string text;
  for (const char byte : bytes) {
    text += fmt::format("{:02x}", static_cast<unsigned char>(byte));
  }
  return text;
}

/// What is kept with an algorithm's state.
struct Extras {
  RunFileSizes sizes;
  std::map<ClientId, Counted> counted;
  std::map<ClientId, double> scores;  ///< accuracies of the last round, for the index of results
};

void write_extras(ArchiveWriter& out, const Extras& extras) {
  out.put(extras.sizes.metrics);
  out.put(extras.sizes.clients);
  out.put(extras.sizes.events);
  out.put<std::uint32_t>(static_cast<std::uint32_t>(extras.counted.size()));
  for (const auto& [client, counted] : extras.counted) {
    out.put(client);
    out.put<std::int32_t>(counted.round);
    out.put<std::int32_t>(counted.phases);
  }
  out.put<std::uint32_t>(static_cast<std::uint32_t>(extras.scores.size()));
  for (const auto& [client, score] : extras.scores) {
    out.put(client);
    out.put(score);
  }
}

Extras read_extras(ArchiveReader& in) {
  Extras extras;
  extras.sizes.metrics = in.get<std::uint64_t>();
  extras.sizes.clients = in.get<std::uint64_t>();
  extras.sizes.events = in.get<std::uint64_t>();
  const auto clients = in.get<std::uint32_t>();
  for (std::uint32_t i = 0; i < clients; ++i) {
    Counted& counted = extras.counted[in.get<ClientId>()];
    counted.round = in.get<std::int32_t>();
    counted.phases = in.get<std::int32_t>();
  }
  // States that were written before scores were kept end here.
  const auto scores = in.at_end() ? 0 : in.get<std::uint32_t>();
  for (std::uint32_t i = 0; i < scores; ++i) {
    const auto client = in.get<ClientId>();
    extras.scores[client] = in.get<double>();
  }
  return extras;
}

std::map<ClientId, double> scores_in(const RoundRecord& record) {
  std::map<ClientId, double> scores;
  for (const ClientRecord& line : record.clients) {
    scores[static_cast<ClientId>(line.client)] = line.accuracy_after;
  }
  return scores;
}

/// As much of a round as its scores tell.
RoundRecord record_of(const std::map<ClientId, double>& scores) {
  RoundRecord record;
  for (const auto& [client, score] : scores) {
    ClientRecord line;
    line.client = to_index(client);
    line.accuracy_after = score;
    record.clients.push_back(line);
  }
  return record;
}

/// How far files grew until the last round was finished; states that earlier versions wrote say it themselves.
RunFileSizes sizes_in(const RoundLog& log, const RunFileSizes& of_state) {
  const GrownFiles& grown = log.grown();
  const auto size_of = [&](const char* name, std::uint64_t otherwise) {
    const auto found = grown.find(name);
    return found == grown.end() ? otherwise : found->second.size;
  };
  return {size_of("metrics.csv", of_state.metrics), size_of("clients.csv", of_state.clients),
          size_of("events.jsonl", of_state.events)};
}

v1::Samples samples_of(const FederationPlan& plan) {
  v1::Samples samples;
  samples.set_channels(plan.input.channels);
  samples.set_height(plan.input.height);
  samples.set_width(plan.input.width);
  samples.set_classes(plan.classes);
  samples.set_multi_label(plan.multi_label);
  samples.mutable_columns()->Assign(plan.columns.begin(), plan.columns.end());
  return samples;
}

/// The journal of a plan's federation, which is begun where there is none: not with a plan that nobody could play.
RoundLog log_of(const FederationPlan& plan) {
  const std::size_t algorithms = plan.experiment.algorithms.size();
  require(algorithms == 1, ErrorCode::invalid_config, "a federation runs one algorithm, the config has {}", algorithms);
  static_cast<void>(plan.experiment.model(plan.input, plan.classes));
  return RoundLog(plan.state, [&] { return JobRecord{hex(make_nonce()), to_toml(plan.experiment.resolved())}; });
}

}  // namespace

/// What people read: metrics, events, mixing. They go as far as the last finished round.
struct Coordinator::Files {
  RunWriter writer;
  RunFileSizes sizes;
  RoundRecord last;  ///< of the last finished round; after a restart no more than the index of results needs
};

Coordinator::Coordinator(const FederationPlan& plan, const Stop& stop)
    : stop_(stop),
      log_(log_of(plan)),
      plan_(as_begun(plan, log_.job().config)),
      model_(plan_.experiment.model(plan.input, plan.classes)),
      rng_(static_cast<std::uint64_t>(plan_.experiment.scenario.seed)),
      initial_(share(initialise(model_, rng_.derive("init")))) {
  warn_if_open_to_others(plan.state);
  for (const std::string& remark : log_.remarks()) {
    log::warning("{}", remark);
  }
  const std::string changes = changes_since(log_.job().config, plan);
  require(changes.empty(), ErrorCode::invalid_config,
          "{}: holds a federation with another config ({}); choose another folder", plan.state.string(), changes);
  const InputScales scales = scales_in(log_, plan_);
  finished_ = log_.committed();
  const bool resuming = log_.committed() > 0;
  files_ = std::make_unique<Files>(
      Files{RunWriter(plan.state, resuming ? RunWriter::Mode::resume : RunWriter::Mode::create), {}, {}});
  restore();
  planned_ = final_round();
  if (resuming) {
    files_->writer.truncate_to(files_->sizes);
    if (const std::string damage = damage_of_arrays(plan_.state, files_->sizes.events); !damage.empty()) {
      log::warning("{}; it is for people and nothing else depends on it: restore it from a backup", damage);
    }
  }
  if (!resuming || files_->sizes.events == 0) {
    files_->writer.run_started(plan_.experiment.resolved());
    static_cast<void>(files_->writer.flush_and_sizes());  // whoever watches sees what is waited for
  }
  if (resuming) {
    files_->writer.run_resumed(plan_.experiment.algorithms.front().label, log_.committed());
  }
  hub_ = std::make_unique<Hub>(
      Hub::Job{log_.job().id, log_.job().config, initial_->shared_layout(), !plan_.experiment.privacy.guarded(),
               static_cast<std::uint32_t>(plan_.experiment.scenario.clients), samples_of(plan),
               [this] { return committed(); },
               algorithm_->most_models(static_cast<std::uint64_t>(plan_.experiment.scenario.clients)).answer,
               [this](const std::string& releaser, const ReleaseCount& count) { keep_count(releaser, count); }},
      plan_.server, Hub::Past{log_.committed(), counted_, released()}, stop, plan_.drain);
  hub_->scale_inputs(scales);
}

ReleaseCounts Coordinator::released() const {
  ReleaseCounts counts;
  for (const auto& [name, fact] : log_.notes()) {
    if (name.starts_with(kReleased)) {
      ArchiveReader in(fact, name);
      counts[name.substr(kReleased.size())] = get_release_count(in);
      in.expect_end();
    }
  }
  return counts;
}

void Coordinator::keep_count(const std::string& releaser, const ReleaseCount& count) {
  ArchiveWriter fact;
  put(fact, count);
  log_.note(std::string(kReleased) + releaser, fact.take());
}

Coordinator::~Coordinator() = default;

ServerStatus Coordinator::status() const {
  ServerStatus status;
  status.version = build_info().version;
  status.job = job();
  status.uptime_seconds = std::chrono::duration<double>(clock_.now() - began_).count();
  std::tie(status.round, status.phase) = hub_->under_way();
  status.clients = hub_->present().size();
  status.heard = hub_->heard();
  status.connections = hub_->connections();
  const Traffic traffic = hub_->traffic();
  status.connections_made = traffic.connections;
  status.bytes_up = traffic.bytes_up;
  status.bytes_down = traffic.bytes_down;
  for (const auto& [reason, count] : traffic.verdicts) {
    status.answers[v1::Reason_Name(reason)] = count;
  }
  if (traffic.outliers > 0) {
    status.answers["OUTLIER"] = traffic.outliers;
  }
  status.draining = stop_.requested() || (plan_.drain != nullptr && plan_.drain->requested());
  const std::lock_guard lock(telling_);
  status.rounds_finished = finished_;
  status.rounds_planned = planned_;
  status.last_round = last_round_;
  // A round that has begun must end: all its phases have their deadlines. That clients are waited for is no fault.
  const double longest = kMostPhases * plan_.server.round_seconds;
  const double still = std::chrono::duration<double>(gathering_.value_or(clock_.now()) - moved_).count();
  const std::uint64_t again = repetitions_;
  if ((status.round > 0 || again > 0) && still > longest) {
    status.healthy = false;
    status.reason = fmt::format("round {} has not been finished for {:.0f} s{}", finished_ + 1, still,
                                again > 0 ? fmt::format(" and was begun again {} times", again) : "");
  }
  return status;
}

InputScales scales_in(const RoundLog& log, const FederationPlan& plan) {
  const bool is_fixed = log.committed() > 0 || !log.input_scale().empty();
  return plan.experiment.training.standardise && is_fixed
             ? scales_from(log.input_scale(), plan.input, (plan.state / "journal").string())
             : InputScales();
}

std::unique_ptr<Algorithm> first_algorithm(const Experiment& experiment, bool multi_label, const ModelSpec& model,
                                           const ParametersPtr& initial, const Rng& rng) {
  std::unique_ptr<Algorithm> algorithm = experiment.algorithms.front().make();
  ServerContext server = make_server_context(experiment, model, initial, rng);
  server.rounds = experiment.scenario.rounds;
  server.multi_label = multi_label;
  prepare(*algorithm, server);
  const auto clients = static_cast<std::uint64_t>(experiment.scenario.clients);
  const ModelsInMessage most = algorithm->most_models(clients);
  require(std::max(most.task, most.answer) <= kMostModels, ErrorCode::invalid_config,
          "{} may send {} models in one message with {} clients, at most {} can travel",
          experiment.algorithms.front().label, std::max(most.task, most.answer), clients, kMostModels);
  return algorithm;
}

void prove_loadable(const FederationPlan& plan, const RoundLog& log) {
  if (log.committed() == 0) {
    return;
  }
  const ModelSpec model = plan.experiment.model(plan.input, plan.classes);
  const Rng rng(static_cast<std::uint64_t>(plan.experiment.scenario.seed));
  const ParametersPtr initial = share(initialise(model, rng.derive("init")));
  const std::unique_ptr<Algorithm> algorithm = first_algorithm(plan.experiment, plan.multi_label, model, initial, rng);
  Extras extras;
  log.load(initial->shared_layout(), [&](ModelReader& in) {
    algorithm->load(in);
    extras = read_extras(in.in());
  });
  check_run_files(plan.state, sizes_in(log, extras.sizes));
}

std::string damage_of_results(const FederationPlan& plan) {
  const std::filesystem::path results = plan.state / "results";
  if (!std::filesystem::exists(results)) {
    return "";
  }
  try {
    const OpenedStore store = open_store(results, plan.experiment.algorithms.front().label);
    const std::filesystem::path index = results / "store.db";
    const std::string digest = StoreIndex(index, StoreIndex::Mode::read_only).digest(store.label);
    require(store.index_digest.empty() || digest == store.index_digest, ErrorCode::invalid_data,
            "{}: is damaged: the SHA-256 of its entries must be {}, got {}", index.string(), store.index_digest,
            digest);
  } catch (const Error& error) {
    // What this build cannot do is no matter of what is in the files.
    return error.code() == ErrorCode::unsupported ? "" : error.what();
  }
  return "";
}

std::unique_ptr<Algorithm> Coordinator::fresh_algorithm() const {
  return first_algorithm(plan_.experiment, plan_.multi_label, model_, initial_, rng_);
}

Round Coordinator::final_round() const {
  return algorithm_->ends() ? log_.committed() : plan_.experiment.scenario.rounds + algorithm_->extra_rounds();
}

void Coordinator::restore() {
  algorithm_ = fresh_algorithm();
  if (log_.committed() == 0) {
    return;
  }
  const std::lock_guard lock(committing_);
  log_.load(initial_->shared_layout(), [&](ModelReader& in) {
    algorithm_->load(in);
    Extras extras = read_extras(in.in());
    files_->sizes = sizes_in(log_, extras.sizes);
    files_->last = record_of(extras.scores);
    counted_ = std::move(extras.counted);
  });
}

std::shared_ptr<const Algorithm> Coordinator::committed() {
  const std::lock_guard lock(committing_);
  if (committed_ == nullptr && log_.committed() > 0) {
    std::unique_ptr<Algorithm> algorithm = fresh_algorithm();
    log_.load(initial_->shared_layout(), [&](ModelReader& in) {
      algorithm->load(in);
      static_cast<void>(read_extras(in.in()));
    });
    committed_ = std::move(algorithm);
  }
  return committed_;
}

std::vector<ClientId> Coordinator::gather() {
  const double participation = plan_.experiment.scenario.participation;
  // Somebody who was drawn and never answers must not hold the round up for ever: others are drawn.
  const bool draws_again = repetitions_ > 0 && participation < 1;
  if (log_.started() && !draws_again) {
    const std::size_t wanted = log_.started()->participants.size();
    log::info("round {} was begun before: waiting up to {} s for its {} clients", log_.committed() + 1,
              plan_.server.rejoin_seconds, wanted);
    std::vector<ClientId> there = hub_->await(log_.started()->participants, plan_.server.rejoin_seconds);
    if (there.size() == wanted) {
      return there;
    }
  }
  const std::size_t present = hub_->present().size();
  if (present < static_cast<std::size_t>(plan_.server.min_clients)) {
    log::info("round {}: waiting for {} clients, {} are there", log_.committed() + 1, plan_.server.min_clients,
              present);
  }
  const std::vector<ClientId> there = hub_->await(plan_.server.min_clients);
  return draw_participants(there, participation, draws_again ? rng_.derive("repetition", repetitions_) : rng_,
                           log_.committed() + 1);
}

bool Coordinator::fix_scales() {
  const std::vector<ClientId> there = hub_->await(plan_.server.min_clients);
  InputScales scales;
  try {
    scales = survey_inputs(*hub_, there, plan_.input, plan_.columns);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::invalid_data) {
      throw;
    }
    log::warning("{}; the clients are asked again", error.what());
    return false;
  }
  log_.fix(numbers_of(scales));
  fault_point("scale.fixed");
  log::info("the scale of the inputs is fixed by the sums of the {} clients that are there", there.size());
  hub_->scale_inputs(std::move(scales));
  return true;
}

bool Coordinator::play_round() {
  const auto start = clock_.now();
  const std::string& label = plan_.experiment.algorithms.front().label;
  const Round round = log_.committed() + 1;
  {
    const std::lock_guard lock(telling_);
    gathering_ = start;
  }
  const std::vector<ClientId> participants = gather();
  {
    const std::lock_guard lock(telling_);
    gathering_.reset();
    // What a round took that is begun again counts, but for the time in which clients were waited for.
    moved_ = repetitions_ == 0 ? clock_.now() : moved_ + (clock_.now() - start);
  }
  forgetful_.merge(hub_->take_forgetful());
  for (const ClientId client : forgetful_) {
    algorithm_->forget(client);
  }
  if (!log_.started() || log_.started()->participants != participants) {
    log_.start({round, participants});
  }
  fault_point("round.begun");
  Exchanged exchanged;
  try {
    exchanged = exchange_phases(*algorithm_, *hub_, round, participants, label, plan_.server.update_limit);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::invalid_data) {
      throw;
    }
    log::warning("{}; the round begins again", error.what());
    repetitions_ += 1;
    restore();  // phases before the one that failed have changed it
    return false;
  }
  RoundRecord record;
  record.algorithm = label;
  record.round = round;
  record.validation_loss = record.validation_accuracy = std::numeric_limits<double>::quiet_NaN();  // nobody validates
  describe_exchange(exchanged, {}, record);
  const RoundTrace* trace = algorithm_->trace();
  if (trace != nullptr) {
    describe_mixing(*trace, record);
  }
  record.seconds = std::chrono::duration<double>(clock_.now() - start).count();
  fault_point("round.exchanged");
  write_round(files_->writer, record, trace);
  commit(record, exchanged.counted);
  hub_->announce(round, exchanged.counted);
  tell(std::move(record));
  return true;
}

void Coordinator::commit(const RoundRecord& record, const std::map<ClientId, int>& counted) {
  files_->sizes = files_->writer.flush_and_sizes();
  for (const auto& [client, phases] : counted) {
    counted_[client] = {record.round, phases};
  }
  {
    const std::lock_guard lock(committing_);
    log_.commit(
        record.round,
        [&](ModelWriter& out) {
          algorithm_->save(out);
          write_extras(out.out(), {files_->sizes, counted_, scores_in(record)});
        },
        files_->writer.grown());
    committed_.reset();
  }
  forgetful_.clear();
  repetitions_ = 0;
  fault_point("round.committed");
}

void Coordinator::tell(RoundRecord record) {
  if (plan_.round_finished) {
    plan_.round_finished(record, final_round());
  }
  {
    const std::lock_guard lock(telling_);
    // Under a budget no client should tell it; one that does is not quoted.
    const auto if_told = [&](double value) {
      return std::isfinite(value) && !plan_.experiment.privacy.guarded() ? std::optional(value) : std::nullopt;
    };
    last_round_ = LastRound{record.seconds, if_told(record.accuracy_before), if_told(record.accuracy_after),
                            record.clients.size(), record.dropped.size()};
    finished_ = record.round;
    planned_ = final_round();
    moved_ = clock_.now();
  }
  files_->last = std::move(record);
}

void Coordinator::run() {
  const bool standardise = plan_.experiment.training.standardise;
  while (log_.committed() < final_round()) {
    hub_->pause(0);
    const bool is_scaled = !standardise || !log_.input_scale().empty();
    if (!(is_scaled ? play_round() : fix_scales())) {
      hub_->pause(plan_.server.heartbeat_seconds);
    }
  }
  finish();
}

void Coordinator::finish() {
  fault_point("results.begun");
  // They get their name when they are whole; a server that is started again after the end has nothing to add.
  const std::filesystem::path results = plan_.state / "results";
  if (const std::string damage = damage_of_results(plan_); !damage.empty()) {
    log::warning("{}; what was in {} is in {} now, and results are written anew", damage, results.string(),
                 move_aside(results).string());
  }
  if (!std::filesystem::exists(results)) {
    const std::filesystem::path unfinished = plan_.state / "results.unfinished";
    std::filesystem::remove_all(unfinished);
    store_models(unfinished, *algorithm_, plan_.experiment.algorithms.front().label, log_.committed(), files_->last,
                 {plan_.experiment, model_, plan_.multi_label, scales_in(log_, plan_), {plan_.columns, {}}});
    detail::sync_folder(unfinished);
    detail::rename_file(unfinished, results);
    detail::sync_folder(plan_.state);
  }
  fault_point("results.written");
  files_->writer.run_finished(std::chrono::duration<double>(clock_.now() - began_).count());
  static_cast<void>(files_->writer.flush_and_sizes());
  hub_->finish();
  hub_->await_farewells(plan_.server.linger_seconds);
  if (plan_.stay) {
    log::info("all {} rounds are done; visitors are served until the server is told to stop", log_.committed());
  }
  while (plan_.stay) {
    hub_->pause(plan_.server.heartbeat_seconds);  // until it is told to stop
  }
}

}  // namespace feroma::net
