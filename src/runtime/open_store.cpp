#include <fmt/format.h>

#include <algorithm>

#include "feroma/core/error.h"
#include "feroma/runtime/server_context.h"
#include "feroma/runtime/store_models.h"
#include "feroma/store/checkpoint.h"
#include "feroma/store/safetensors.h"
#include "runtime/store_state.h"

namespace feroma {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> labels_in(const fs::path& folder) {
  std::vector<std::string> labels;
  if (fs::is_directory(folder / "models")) {
    for (const fs::directory_entry& entry : fs::directory_iterator(folder / "models")) {
      if (entry.path().extension() == kStoreStateSuffix) {
        labels.push_back(entry.path().stem().string());
      }
    }
  }
  std::sort(labels.begin(), labels.end());
  return labels;
}

std::string chosen_label(const fs::path& folder, const std::string& wanted) {
  const std::vector<std::string> labels = labels_in(folder);
  // A server has models to serve from its first round on, but writes them for others after its last.
  require(!labels.empty() || !fs::exists(folder / "journal"), ErrorCode::invalid_config,
          "{}: is the state of a server that has not finished its rounds; while it runs it can be asked with --server",
          folder.string());
  require(!labels.empty(), ErrorCode::invalid_config,
          "{}: is no finished run and no finished server's folder: it has no models/*{}", folder.string(),
          kStoreStateSuffix);
  if (wanted.empty()) {
    require(labels.size() == 1, ErrorCode::invalid_config, "{}: has several algorithms; choose one of: {}",
            folder.string(), fmt::join(labels, ", "));
    return labels.front();
  }
  require(std::find(labels.begin(), labels.end(), wanted) != labels.end(), ErrorCode::invalid_config,
          "{}: has no algorithm \"{}\", only: {}", folder.string(), wanted, fmt::join(labels, ", "));
  return wanted;
}

/// A list of names, which is empty or has one for each.
std::vector<std::string> names_of_each(ArchiveReader& archive, std::int64_t count, const std::string& file) {
  const auto size = archive.get<std::uint32_t>();
  require(size == 0 || size == count, ErrorCode::invalid_data, "{}: must have {} names or none, got {}", file, count,
          size);
  std::vector<std::string> names;
  for (std::uint32_t i = 0; i < size; ++i) {
    names.push_back(archive.get_string());
  }
  return names;
}

}  // namespace

OpenedStore open_store(const fs::path& given, const std::string& wanted) {
  const fs::path folder = fs::is_directory(given / "results") ? given / "results" : given;
  OpenedStore store;
  store.label = chosen_label(folder, wanted);
  const fs::path file = store_state_path(folder, store.label);
  const Bytes bytes = read_checkpoint(file);
  ArchiveReader archive(bytes, file.string());
  store.experiment = read_kept_experiment(portable(parse_settings(archive.get_string(), file.string())));
  store.round = archive.get<std::int32_t>();
  SampleShape input;
  input.channels = archive.get<std::int32_t>();
  input.height = archive.get<std::int32_t>();
  input.width = archive.get<std::int32_t>();
  const auto classes = archive.get<std::int32_t>();
  store.multi_label = archive.get<bool>();
  std::erase_if(store.experiment.algorithms, [&](const AlgorithmPlan& plan) { return plan.label != store.label; });
  require(store.experiment.algorithms.size() == 1, ErrorCode::invalid_data, "{}: its config has no algorithm {}",
          file.string(), store.label);
  store.model = store.experiment.model(input, classes);
  const Rng rng(static_cast<std::uint64_t>(store.experiment.scenario.seed));
  store.initial = share(initialise(store.model, rng.derive("init")));
  store.algorithm = store.experiment.algorithms.front().make();
  ServerContext context = make_server_context(store.experiment, store.model, store.initial, rng);
  context.rounds = store.experiment.scenario.rounds;
  context.multi_label = store.multi_label;
  // An encoder that came from a file is part of the state.
  context.load_model = [initial = store.initial](const std::string&) { return initial; };
  prepare(*store.algorithm, context);
  const auto fetch = [&](const std::string& name) {
    require(fs::path(name).is_relative() && name.find("..") == std::string::npos, ErrorCode::invalid_data,
            "{}: names a model outside of the store: {}", file.string(), name);
    const auto [model, digest] = parts_of_stored_name(name);
    const Parameters params = read_safetensors(folder / model, store.initial->shared_layout(), digest).params;
    return std::vector<float>(params.values().begin(), params.values().end());
  };
  ModelReader reader(archive, store.initial->shared_layout(), fetch);
  store.algorithm->load(reader);
  if (store.experiment.training.standardise) {
    const auto numbers = archive.at_end() ? std::vector<float>() : archive.get_vector<float>();
    store.scales = scales_from(numbers, input, file.string());
  }
  if (!archive.at_end()) {  // earlier versions end here
    store.index_digest = archive.get_string();
    store.names.columns = names_of_each(archive, input.size(), file.string());
    store.names.classes = names_of_each(archive, classes, file.string());
  }
  archive.expect_end();
  return store;
}

}  // namespace feroma
