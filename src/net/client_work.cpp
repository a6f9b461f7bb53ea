#include "net/client_work.h"

#include "feroma/core/config_identity.h"
#include "feroma/core/error.h"
#include "feroma/net/codec.h"
#include "feroma/runtime/server_context.h"
#include "feroma/runtime/workers.h"
#include "net/released.h"

namespace feroma::net {
namespace {

/// A server may ask for more privacy than the client wants, never for less.
void check_privacy(const PrivacyOptions& own, const PrivacyOptions& job) {
  const auto needs = [](bool holds, std::string_view key, const auto& wanted, const auto& got) {
    require(holds, ErrorCode::unsupported, "[privacy] this client asks for {} {} or stricter, the federation has {}",
            key, wanted, got);
  };
  if (own.mode == PrivacyMode::off) {
    return;
  }
  needs(job.mode == own.mode || job.guarded(), "mode", name_of(own.mode), name_of(job.mode));
  if (!own.guarded()) {
    return;
  }
  needs(own.mode == PrivacyMode::gaussian || job.mode == own.mode, "mode", name_of(own.mode), name_of(job.mode));
  needs(job.epsilon_total <= own.epsilon_total, "epsilon_total", own.epsilon_total, job.epsilon_total);
  needs(job.mode == PrivacyMode::pure || job.delta_total <= own.delta_total, "delta_total", own.delta_total,
        job.delta_total);
  needs(own.versions_disjoint || !job.versions_disjoint, "versions_disjoint", own.versions_disjoint,
        job.versions_disjoint);
  needs(own.neighbours == job.neighbours || own.neighbours == Neighbours::add_remove, "neighbours",
        name_of(own.neighbours), name_of(job.neighbours));
  needs(own.calibration == job.calibration || own.calibration == Calibration::analytic, "calibration",
        name_of(own.calibration), name_of(job.calibration));
}

/// What of a server's config concerns its clients. Data and instruction set are the client's own: all vector widths
/// give the same bits.
Settings own_part(const Settings& config) {
  Settings part;
  for (const auto& [key, setting] : config) {
    const bool is_scenario = key.starts_with("scenario.");
    const bool shared = key == "scenario.seed" || key == "scenario.rounds" || key == "scenario.clients";
    const bool others = key.starts_with("membership.") || key.starts_with("attack.") || key == "training.simd" ||
                        key == "privacy.ledger";
    if (!others && (!is_scenario || shared)) {
      part[key] = setting;
    }
  }
  return part;
}

/// Samples of another kind are refused before anything is trained.
void check_samples(const SampleKind& own, const v1::Samples& wanted) {
  const SampleShape shape{wanted.channels(), wanted.height(), wanted.width()};
  require(own.shape == shape, ErrorCode::unsupported,
          "the federation's samples are {}x{}x{}, this client's are {}x{}x{}", shape.channels, shape.height,
          shape.width, own.shape.channels, own.shape.height, own.shape.width);
  require(own.classes == 0 || own.classes == wanted.classes(), ErrorCode::unsupported,
          "the federation's samples have {} classes, this client's have {}", wanted.classes(), own.classes);
  require(own.classes == 0 || own.multi_label == wanted.multi_label(), ErrorCode::unsupported,
          "the federation's samples have {}, this client's {}", wanted.multi_label() ? "several labels" : "one label",
          own.multi_label ? "several" : "one");
}

}  // namespace

std::uint64_t ClientWork::largest_task() const {
  const auto clients = static_cast<std::uint64_t>(experiment.scenario.clients);
  return feroma::largest_task(algorithm->most_models(clients).task, initial->layout());
}

ClientWork make_client_work(const v1::Welcome& welcome, const SampleKind& samples, const PrivacyOptions& privacy) {
  ClientWork work;
  const Settings config = parse_settings(welcome.config(), "the server's config");
  const std::string changes = config_identity().changed_methods(config);
  require(changes.empty(), ErrorCode::unsupported, "the federation was begun by another version: {}", changes);
  work.experiment = read_kept_experiment(own_part(config));
  require(work.experiment.algorithms.size() == 1, ErrorCode::invalid_config,
          "the server's config must have one algorithm, got {}", work.experiment.algorithms.size());
  check_privacy(privacy, work.experiment.privacy);
  require(!work.experiment.has_script_model(), ErrorCode::unsupported,
          "the federation's model is a file; this client loads none that a server names");
  check_samples(samples, welcome.samples());
  work.model = work.experiment.model(samples.shape, welcome.samples().classes());
  work.rng = Rng(static_cast<std::uint64_t>(work.experiment.scenario.seed));
  work.initial = share(initialise(work.model, work.rng.derive("init")));
  require(layout_digest(work.initial->layout()) == welcome.layout(), ErrorCode::unsupported,
          "this client's {} has other tensors than the federation's: are the versions the same?", work.model.name);
  work.algorithm = work.experiment.algorithms.front().make();
  ServerContext context = make_server_context(work.experiment, work.model, work.initial, work.rng);
  context.rounds = work.experiment.scenario.rounds;
  context.multi_label = welcome.samples().multi_label();
  // An encoder file is the server's; clients are sent what they need of it.
  context.load_model = [initial = work.initial](const std::string&) { return initial; };
  prepare(*work.algorithm, context);
  work.engine = engine_factory(work.experiment.engine(), work.model)();
  work.trainer = std::make_unique<Trainer>(*work.engine);
  return work;
}

std::vector<std::string> columns_in(const v1::Welcome& welcome) {
  return {welcome.samples().columns().begin(), welcome.samples().columns().end()};
}

LedgerPlace ledger_place(const PrivacyOptions& privacy, const std::filesystem::path& state,
                         const std::filesystem::path& witness) {
  return {privacy.ledger.empty() ? state / "ledger" : std::filesystem::path(privacy.ledger), witness};
}

ReleaseCounts known_to(const v1::Welcome& welcome, const std::string& data) {
  ReleaseCounts known;
  for (const v1::Released& released : welcome.released()) {
    if (released.data() == data) {
      known[welcome.job()] = from_wire(released);
    }
  }
  return known;
}

void say_released(const Disclosure& disclosure, const std::string& data, v1::Answer& head) {
  const auto found = disclosure.counts().find(disclosure.job());
  if (found != disclosure.counts().end()) {
    *head.mutable_released() = to_wire(found->second, data);
  }
}

}  // namespace feroma::net
