#include "feroma/runtime/store_models.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "feroma/store/checkpoint.h"
#include "feroma/store/index.h"
#include "feroma/store/safetensors.h"
#include "runtime/store_state.h"

namespace feroma {
namespace {

namespace fs = std::filesystem;

/// A model kept from an earlier round has that round in its name: its client may have a present one too. Of several
/// models that belong to nobody each has its number (absent: there is only one).
std::string model_file(const std::string& label, const ServedModel& served, bool kept,
                       std::optional<std::size_t> number) {
  if (!served.client) {
    return number ? fmt::format("models/{}-{}.safetensors", label, *number)
                  : fmt::format("models/{}.safetensors", label);
  }
  return fmt::format("models/{}-client-{}{}.safetensors", label, to_index(*served.client),
                     kept ? fmt::format("-round-{}", served.round) : "");
}

constexpr const char* kInputScale = "input_scale";

void put_names(ArchiveWriter& archive, const std::vector<std::string>& names) {
  archive.put<std::uint32_t>(static_cast<std::uint32_t>(names.size()));
  for (const std::string& name : names) {
    archive.put(std::string_view(name));
  }
}

/// The algorithm's state, in which models that were stored are named; others are stored beside them. Then come the
/// digest of its entries in the index and the names of columns and classes.
void store_state(const fs::path& folder, const Algorithm& algorithm, const std::string& label, Round finished,
                 const StoreSubject& subject, const std::map<const Parameters*, std::string>& stored,
                 const std::string& index) {
  ArchiveWriter archive;
  archive.put(std::string_view(to_toml(subject.experiment.resolved())));
  archive.put<std::int32_t>(finished);
  archive.put<std::int32_t>(subject.model.input.channels);
  archive.put<std::int32_t>(subject.model.input.height);
  archive.put<std::int32_t>(subject.model.input.width);
  archive.put<std::int32_t>(subject.model.classes);
  archive.put(subject.multi_label);
  const std::map<std::string, std::string> about = about_model(subject.model.name, label, subject.scales);
  std::size_t parts = 0;
  ModelWriter out(archive, [&](const Parameters& model) {
    const auto found = stored.find(&model);
    if (found != stored.end()) {
      return found->second;
    }
    std::string file = fmt::format("models/{}-part-{}.safetensors", label, parts++);
    return stored_name(file, write_safetensors(folder / file, model, about));
  });
  algorithm.save(out);
  if (subject.experiment.training.standardise) {
    archive.put(numbers_of(subject.scales));
  }
  archive.put(std::string_view(index));
  put_names(archive, subject.names.columns);
  put_names(archive, subject.names.classes);
  write_checkpoint(store_state_path(folder, label), archive.bytes());
}

}  // namespace

std::map<std::string, std::string> about_model(const std::string& model, const std::string& algorithm,
                                               const InputScales& scales) {
  std::map<std::string, std::string> about{{"model", model}, {"algorithm", algorithm}};
  if (!scales.empty()) {
    about[kInputScale] = fmt::format("{}", fmt::join(numbers_of(scales), " "));
  }
  return about;
}

bool is_scaled(const ModelFile& file) { return file.metadata.contains(kInputScale); }

void store_models(const fs::path& folder, const Algorithm& algorithm, const std::string& label, Round finished,
                  const RoundRecord& last, const StoreSubject& subject) {
  fs::create_directories(folder / "models");
  std::map<std::uint32_t, const ClientRecord*> clients;
  for (const ClientRecord& client : last.clients) {
    clients[client.client] = &client;
  }
  std::vector<StoreEntry> entries;
  const std::vector<ServedModel> models = algorithm.served();
  const bool several = std::count_if(models.begin(), models.end(), [](const auto& m) { return !m.client; }) > 1;
  std::size_t shared = 0;
  std::map<const Parameters*, std::string> stored;
  for (const ServedModel& served : models) {
    StoreEntry entry;
    entry.algorithm = label;
    entry.client = served.client;
    const bool kept = served.round != 0 && served.round != finished;
    entry.round = kept ? served.round : finished;
    entry.model_file =
        model_file(label, served, kept, several && !served.client ? std::optional(shared++) : std::nullopt);
    entry.profile = served.profile;
    entry.num_examples = served.num_examples;
    if (!kept && served.client && clients.contains(to_index(*served.client))) {
      const ClientRecord& client = *clients[to_index(*served.client)];
      entry.distribution = client.distribution;
      if (std::isfinite(client.accuracy_after)) {
        entry.validation_score = client.accuracy_after;  // clients of a server may keep it to themselves
      }
    }
    const std::string digest = write_safetensors(folder / entry.model_file, *served.model,
                                                 about_model(subject.model.name, label, subject.scales));
    stored[served.model.get()] = stored_name(entry.model_file, digest);
    entries.push_back(std::move(entry));
  }
  StoreIndex index(folder / "store.db", StoreIndex::Mode::create);
  index.insert(entries);
  store_state(folder, algorithm, label, finished, subject, stored, index.digest(label));
}

}  // namespace feroma
