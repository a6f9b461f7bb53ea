#include "net/flower_dialect.h"

#include <algorithm>
#include <array>

#include "feroma/algorithms/fedprox.h"
#include "feroma/algorithms/feroma_options.h"
#include "feroma/core/error.h"

namespace feroma::net {
namespace {

/// Everybody is sent a model and answers with one of its own.
constexpr std::array<std::string_view, 5> kSharedModel{"fedavg", "fedavgm", "fedadam", "fedyogi", "fedprox"};
/// Clients also tell what their data are like.
constexpr std::array<std::string_view, 2> kProfiled{"feroma", "fedavg-ft"};

bool holds(std::span<const std::string_view> names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// A method's options as they were resolved.
template <class Options>
Options options_of(const AlgorithmPlan& method) {
  Settings settings;
  for (const auto& [key, setting] : method.settings) {
    settings["algorithm." + key] = setting;
  }
  Problems problems;
  SettingsReader reader(std::move(settings), problems);
  Options options;
  reader.read(options, "algorithm");
  problems.raise();
  return options;
}

FlowerProfiles profiles_of(const FeromaOptions& options, const ModelSpec& model) {
  require(
      options.projection != Projection::pca_box, ErrorCode::unsupported,
      "profile.projection pca_box asks clients for ranges of latents, which Flower's do not tell: choose orthonormal "
      "or pca_cube");
  require(options.encoder_refresh == 0, ErrorCode::unsupported,
          "profile.encoder_refresh must be 0 for Flower's clients, which are sent one encoder, got {}",
          options.encoder_refresh);
  require(options.encoder != "input_moments", ErrorCode::unsupported,
          "profile.encoder input_moments is not for Flower's clients, which are sent a model to encode with");
  return {profile_shape(options, model),
          encoder_width(options, model),
          options.latent,
          options.unit_norm,
          wanted_extras(options, /*warming=*/true),
          wanted_extras(options, false)};
}

}  // namespace

FlowerDialect flower_dialect(const FederationPlan& plan) {
  const AlgorithmPlan& method = plan.experiment.algorithms.front();
  require(holds(kSharedModel, method.name) || holds(kProfiled, method.name), ErrorCode::unsupported,
          "Flower's clients cannot take part in {}: they train a model that they are sent, which is enough for feroma, "
          "fedavg-ft, fedavg, fedavgm, fedadam, fedyogi and fedprox",
          method.name);
  require(plan.experiment.privacy.mode == PrivacyMode::off, ErrorCode::unsupported,
          "Flower's clients cannot take part under privacy.mode {}: they have no ledger and add no noise",
          name_of(plan.experiment.privacy.mode));
  const ModelSpec model = plan.experiment.model(plan.input, plan.classes);
  FlowerDialect dialect;
  dialect.layout = make_layout(model);
  dialect.rounds = plan.experiment.scenario.rounds;
  dialect.fit = plan.experiment.training.fit;
  if (method.name == "fedprox") {
    dialect.proximal_mu = options_of<FedProxOptions>(method).mu;
  }
  if (holds(kProfiled, method.name)) {
    dialect.profiles = profiles_of(options_of<FeromaOptions>(method), model);
  }
  return dialect;
}

void describe_round(Scalars& config, const FlowerDialect& dialect, Round round) {
  put(config, "current_round", static_cast<std::int64_t>(round));
  put(config, "tot_rounds", static_cast<std::int64_t>(dialect.rounds));
  put(config, "local_epochs", static_cast<std::int64_t>(dialect.fit.local_epochs));
  put(config, "batch_size", static_cast<std::int64_t>(dialect.fit.batch_size));
  put(config, "learning_rate", dialect.fit.learning_rate);
  put(config, "momentum", dialect.fit.momentum);
  if (dialect.proximal_mu > 0) {
    put(config, "proximal_mu", dialect.proximal_mu);
  }
}

}  // namespace feroma::net
