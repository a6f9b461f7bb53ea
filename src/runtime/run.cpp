#include "feroma/runtime/run.h"

#include <algorithm>
#include <chrono>
#include <optional>

#include "feroma/core/config_identity.h"
#include "feroma/core/log.h"
#include "feroma/data/own_folder.h"
#include "feroma/privacy/notice.h"
#include "feroma/report/html.h"
#include "feroma/report/run_writer.h"
#include "feroma/report/summary.h"
#include "feroma/runtime/fitted_run.h"
#include "feroma/runtime/input_survey.h"
#include "feroma/runtime/round_loop.h"
#include "feroma/runtime/round_record.h"
#include "feroma/runtime/server_context.h"
#include "feroma/runtime/store_models.h"
#include "feroma/runtime/test_plan.h"
#include "feroma/store/checkpoint.h"
#include "runtime/run_checkpoint.h"

namespace feroma {
namespace {

namespace fs = std::filesystem;

/// The config of the run to go on with; absent where there is none.
std::optional<Settings> config_to_resume(const RunOptions& options) {
  const fs::path file = options.out / "config.toml";
  return options.existing == Existing::resume && fs::exists(file) ? std::optional(load_settings(file)) : std::nullopt;
}

/// Columns in their own units are learned from badly or not at all, and nothing else would say why.
void warn_of_large_inputs(const FittedRun& run) {
  const Dataset& dataset = run.federation->dataset();
  const std::string large = run.experiment.training.standardise ? "" : large_inputs(dataset.train);
  if (!large.empty()) {
    log::warning(
        "{}: {}, and models learn little from such numbers or fail; training.standardise = true brings every column to "
        "one scale",
        dataset.name, large);
  }
}

/// Runs the algorithms one after the other and commits after every round.
class Run {
 public:
  Run(FittedRun fitted, const RunOptions& options, const std::atomic<bool>& stop)
      : options_(options),
        experiment_(std::move(fitted.experiment)),
        stop_(stop),
        federation_(std::move(fitted.federation)),
        model_(experiment_.model(federation_->shape(), federation_->classes())),
        rng_(static_cast<std::uint64_t>(experiment_.scenario.seed)),
        initial_(share(initialise(model_, rng_.derive("init")))),
        membership_(experiment_.membership, experiment_.scenario.clients, experiment_.scenario.rounds,
                    rng_.derive("scenario")),
        checks_(options.keep_not_applicable ? check_each_algorithm(experiment_, model_, federation_->multi_label())
                                            : check_algorithms(experiment_, model_, federation_->multi_label())),
        workers_(options.threads, engine_factory(experiment_.engine(), model_)),
        directory_(options.out, options.existing, settled(), options.threads),
        commit_path_(checkpoint_path(directory_.path(), "run")) {}

  std::vector<ResultRecord> operator()() {
    for (std::size_t i = 0; i < checks_.size(); ++i) {
      if (!checks_[i].remark.empty()) {
        log::warning("{}: {}", experiment_.algorithms[i].label, checks_[i].remark);
      }
    }
    RunCheckpoint commit;
    const bool resuming = directory_.resuming() && has_checkpoint(commit_path_);
    RunWriter writer(directory_.path(), resuming ? RunWriter::Mode::resume : RunWriter::Mode::create);
    if (resuming) {
      commit = read_run_checkpoint(commit_path_);
      fix_scales(commit, Begun::before);
      writer.truncate_to(commit.sizes);
    } else {
      writer.run_started(experiment_.written());
      static_cast<void>(writer.flush_and_sizes());  // whoever watches sees what was begun
      fix_scales(commit, Begun::now);
    }
    const auto start = std::chrono::steady_clock::now();
    while (commit.results.size() < experiment_.algorithms.size()) {
      commit.results.push_back(run_algorithm(commit, writer));
      commit.loop.clear();
      commit.releases.clear();
      commit.sizes = writer.flush_and_sizes();
      write_run_checkpoint(commit_path_, commit);
    }
    writer.run_finished(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
    static_cast<void>(writer.flush_and_sizes());
    write_summary(directory_.path() / "summary.json", {scenario_of(experiment_.resolved()), commit.results});
    write_html_report(directory_.path());
    directory_.finish();
    return commit.results;
  }

 private:
  /// The experiment with `evaluation.every` as a number; an earlier run goes on as it began.
  const Experiment& settled() {
    if (const std::optional<Settings> begun = config_to_resume(options_)) {
      experiment_.evaluation = evaluation_of(*begun);
    }
    experiment_.evaluation.every = plan_tests(experiment_, *federation_, model_, checks_).every;
    return experiment_;
  }

  /// A result of an algorithm that has no figures.
  ResultRecord without_figures_of(const AlgorithmPlan& plan) const {
    ResultRecord result = without_figures(plan.label, plan.name);
    if (!plan.preset.empty()) {
      result.preset = plan.preset;
    }
    result.seed = experiment_.scenario.seed;
    result.metric = federation_->multi_label() ? "auroc" : "accuracy";
    return result;
  }

  ResultRecord finished(ResultRecord result, RunWriter& writer) const {
    writer.algorithm_finished(result);
    if (options_.observer.finished) {
      options_.observer.finished(result);
    }
    return result;
  }

  enum class Begun { now, before };

  /// The scale of the inputs is fixed once, before the first round; a run that goes on keeps the one it began with.
  void fix_scales(RunCheckpoint& commit, Begun begun) {
    if (!experiment_.training.standardise) {
      return;
    }
    if (begun == Begun::now) {
      commit.input_scale = numbers_of(survey_inputs(*federation_, membership_.present(1)));
    }
    scales_ = scales_from(commit.input_scale, federation_->shape(), commit_path_.string());
    federation_->scale_inputs(scales_);
  }

  /// Ledgers in the run's own folder go with it; those in one that runs share have files beside it that count too.
  [[nodiscard]] LedgerPlace ledger_place(const std::string& label) const {
    const std::string& shared = experiment_.privacy.ledger;
    if (shared.empty()) {
      return directory_.path() / "ledgers" / label;
    }
    const fs::path folder = fs::path(shared) / "";  // whether or not it ends with a slash
    return {folder / label, fs::path(folder.parent_path().string() + "-releases") / label};
  }

  /// Everything that decides what is told: with anything else, what a ledger holds is no answer.
  [[nodiscard]] std::string job_of(const std::string& label) const {
    const std::string config = to_toml(config_identity().of(experiment_.resolved()));
    return fmt::format("{}-{}", label, sha256(std::as_bytes(std::span(config))).substr(0, 16));
  }

  /// What the published mechanism costs the largest client.
  [[nodiscard]] std::string published_cost(const Algorithm& algorithm) const {
    const ProfileShape shape = *algorithm.profile_shape();
    std::int64_t most = shape.classes;
    for (int client = 0; client < experiment_.scenario.clients; ++client) {
      const ClientShard shard = federation_->shard(static_cast<ClientId>(client), 1);
      most = std::max(most, static_cast<std::int64_t>(shard.train.size() + shard.held_out.size()));
    }
    return published_notice(experiment_.privacy.epsilon_total, {shape.marginal, shape.conditional, shape.classes},
                            most);
  }

  /// Whatever is less than a promise is said before the first round.
  void tell_of_privacy(const Algorithm& algorithm, const std::string& label) const {
    const PrivacyOptions& privacy = experiment_.privacy;
    if (privacy.mode == PrivacyMode::off || !algorithm.profile_shape()) {
      return;
    }
    if (privacy.mode == PrivacyMode::paper) {
      log::warning("{}: {}", label, published_cost(algorithm));
    } else {
      log::info("{}: privacy: {}", label, guarantee_of(privacy));
    }
  }

  ResultRecord run_algorithm(RunCheckpoint& commit, RunWriter& writer) {
    const AlgorithmPlan& plan = experiment_.algorithms[commit.results.size()];
    if (const auto& reason = checks_[commit.results.size()].not_applicable) {
      log::warning("{}: not applicable: {}", plan.label, *reason);
      ResultRecord result = without_figures_of(plan);
      result.not_applicable = reason;
      return finished(std::move(result), writer);
    }
    std::optional<Disclosures> disclosures;
    if (experiment_.privacy.guarded()) {
      disclosures.emplace(experiment_.privacy, ledger_place(plan.label), job_of(plan.label), rng_);
      disclosures->hold_to(commit_path_.string(), commit.releases);
    }
    RoundLoop loop({*federation_, plan, make_server_context(experiment_, model_, initial_, rng_), workers_, rng_, stop_,
                    options_.task_order_seed, membership_, experiment_.attack, disclosures ? &*disclosures : nullptr,
                    experiment_.evaluation.every});
    tell_of_privacy(loop.algorithm(), plan.label);
    if (const auto reason = loop.why_untested()) {
      log::info("{}: rounds are not tested: {}", plan.label, *reason);
    }
    if (!commit.loop.empty()) {
      loop.load(commit.loop, commit_path_.string());
      writer.run_resumed(plan.label, loop.finished_rounds());
    }
    if (options_.observer.started) {
      options_.observer.started(plan.label, loop.finished_rounds(), loop.rounds());
    }
    try {
      return play(loop, plan, commit, writer, disclosures ? &*disclosures : nullptr);
    } catch (const Error& error) {
      // A full disk, a wish to stop and what a folder holds are not the algorithm's.
      const bool its_own = error.code() != ErrorCode::io && error.code() != ErrorCode::interrupted;
      if (!options_.keep_failed || !its_own) {
        throw;
      }
      log::warning("{}: failed after {} of {} rounds: {}", plan.label, loop.finished_rounds(), loop.rounds(),
                   error.what());
      ResultRecord result = without_figures_of(plan);
      result.failed = fmt::format("after {} of {} rounds: {}", loop.finished_rounds(), loop.rounds(), error.what());
      return finished(std::move(result), writer);
    }
  }

  /// What is left of a loop's rounds, and its tests.
  ResultRecord play(RoundLoop& loop, const AlgorithmPlan& plan, RunCheckpoint& commit, RunWriter& writer,
                    const Disclosures* disclosures) {
    RoundRecord last = commit.last_round;
    while (loop.finished_rounds() < loop.rounds()) {
      last = loop.play_round();
      write_round(writer, last, loop.algorithm().trace());
      const double saving = loop.totals().stages[Stage::save];
      {
        const StageTimer timer(loop.totals().stages, Stage::save);
        commit.loop = loop.save();
        commit.last_round = last;
        commit.sizes = writer.flush_and_sizes();
        commit.releases = disclosures ? disclosures->counts() : Disclosures::Counts();
        write_run_checkpoint(commit_path_, commit);
      }
      loop.totals().seconds += loop.totals().stages[Stage::save] - saving;
      if (options_.observer.round_finished) {
        options_.observer.round_finished(last, loop.rounds());
      }
    }
    if (loop.algorithm().ends()) {
      log::warning("{}: a client has spent its privacy budget; the run ends with round {} (privacy.when_spent)",
                   plan.label, loop.finished_rounds());
    }
    ResultRecord result = loop.evaluate();
    if (result.dp_guarantee && experiment_.privacy.mode == PrivacyMode::paper) {
      result.dp_guarantee = "none: " + published_cost(loop.algorithm());
    }
    store_models(directory_.path(), loop.algorithm(), plan.label, loop.finished_rounds(), last,
                 {experiment_, model_, federation_->multi_label(), scales_, names_in(federation_->dataset())});
    return finished(std::move(result), writer);
  }

  const RunOptions& options_;
  Experiment experiment_;
  const std::atomic<bool>& stop_;
  std::unique_ptr<Federation> federation_;
  ModelSpec model_;
  Rng rng_;
  ParametersPtr initial_;
  Membership membership_;
  InputScales scales_;
  /// One per algorithm. Made before anything is written: an impossible option must not end a run after hours.
  std::vector<AlgorithmCheck> checks_;
  Workers workers_;
  RunDirectory directory_;
  fs::path commit_path_;
};

/// What an algorithm says of its own key, with the place where it was written and the algorithm's name.
Error placed(const Error& error, const Experiment& experiment, std::size_t algorithm) {
  const AlgorithmPlan& plan = experiment.algorithms[algorithm];
  const std::string message = error.what();
  if (!plan.settings.contains(message.substr(0, message.find(' ')))) {
    return error;
  }
  Problems problems;
  problems.add("algorithm.{}.{} ({})", algorithm, message, plan.label);
  problems.locate(experiment.given);
  return {error.code(), problems.messages().front()};
}

}  // namespace

std::unique_ptr<Federation> make_federation(const Experiment& experiment, SharedDatasets* datasets) {
  return fit_to_data(experiment, datasets).federation;
}

std::vector<AlgorithmCheck> check_each_algorithm(const Experiment& experiment, const ModelSpec& model,
                                                 bool multi_label) {
  const Rng rng(0);
  const ParametersPtr initial = share(initialise(model, rng));
  std::vector<AlgorithmCheck> checks;
  for (std::size_t i = 0; i < experiment.algorithms.size(); ++i) {
    const AlgorithmPlan& plan = experiment.algorithms[i];
    AlgorithmCheck& check = checks.emplace_back();
    try {
      const std::unique_ptr<Algorithm> algorithm = plan.make();
      ServerContext server = make_server_context(experiment, model, initial, rng);
      server.multi_label = multi_label;
      prepare(*algorithm, server);
      check.extra_rounds = algorithm->extra_rounds();
      check.remark = algorithm->remark();
      if (!spends_on_tests(*algorithm, experiment.privacy)) {
        const int trained = experiment.scenario.clients - experiment.membership.test_only;
        check.to_serve = algorithm->passes_to_serve(trained, /*stranger=*/false);
        check.to_serve_stranger = algorithm->passes_to_serve(trained, /*stranger=*/true);
        check.mixed_to_serve = algorithm->profile_shape() ? trained : 0;
      }
    } catch (const Error& error) {
      if (error.code() != ErrorCode::unsupported) {
        throw placed(error, experiment, i);
      }
      check.not_applicable = error.what();
    }
  }
  return checks;
}

std::vector<AlgorithmCheck> check_algorithms(const Experiment& experiment, const ModelSpec& model, bool multi_label) {
  std::vector<AlgorithmCheck> checks = check_each_algorithm(experiment, model, multi_label);
  const bool none = !checks.empty() && std::all_of(checks.begin(), checks.end(), [](const AlgorithmCheck& check) {
    return check.not_applicable.has_value();
  });
  require(!none, ErrorCode::unsupported, "no algorithm of this run is applicable: {}",
          none ? *checks.front().not_applicable : "");
  return checks;
}

std::vector<ResultRecord> run_experiment(const Experiment& experiment, const RunOptions& options,
                                         const std::atomic<bool>& stop) {
  // Kernels of another run may be at work, so nothing is set that is set already.
  if (simd_target() != experiment.simd()) {
    use_simd(experiment.simd());
  }
  check_place(options.out, options.existing);
  const std::optional<Settings> begun = config_to_resume(options);
  FittedRun fitted = fit_to_data(begun ? as_begun(experiment, *begun) : experiment, options.datasets);
  for (const AdaptedDefault& one : fitted.experiment.all_adapted()) {
    log::info("{}", one.text());
  }
  warn_of_large_inputs(fitted);
  return Run(std::move(fitted), options, stop)();
}

std::vector<ResultRecord> run_config(const std::filesystem::path& file, const RunOptions& options) {
  const std::atomic<bool> never = false;
  return run_experiment(read_experiment(load_settings(file)), options, never);
}

}  // namespace feroma
