#include "feroma/runtime/server_context.h"

#include <filesystem>

#include "feroma/core/error.h"
#include "feroma/runtime/store_models.h"
#include "feroma/store/safetensors.h"

namespace feroma {

ServerContext make_server_context(const Experiment& experiment, const ModelSpec& model, const ParametersPtr& initial,
                                  const Rng& rng) {
  ServerContext server;
  server.model = model;
  server.initial = initial;
  server.fit = experiment.training.fit;
  server.clients = experiment.scenario.clients - experiment.membership.test_only;
  server.rng = rng.derive("server");
  server.windows = has_stages(experiment.scenario.drift_mode) ? experiment.scenario.drifts : 1;
  server.privacy = experiment.privacy;
  server.load_model = [layout = initial->shared_layout(),
                       standardise = experiment.training.standardise](const std::string& path) {
    require(std::filesystem::is_regular_file(path), ErrorCode::invalid_config,
            "profile.encoder must be warmup, input_moments or a safetensors file, got \"{}\", which is no file", path);
    ModelFile file = read_safetensors(path, layout);
    require(standardise || !is_scaled(file), ErrorCode::invalid_config,
            "profile.encoder: {} was trained on scaled inputs, and this run's are as they are (training.standardise)",
            path);
    return share(std::move(file.params));
  };
  return server;
}

}  // namespace feroma
