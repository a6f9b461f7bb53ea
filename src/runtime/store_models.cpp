#include "feroma/runtime/store_models.h"

#include <algorithm>
#include <map>

#include "feroma/store/index.h"
#include "feroma/store/safetensors.h"

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

}  // namespace

void store_models(const fs::path& folder, const Algorithm& algorithm, const std::string& label, Round finished,
                  const RoundRecord& last, const ModelSpec& model) {
  fs::create_directories(folder / "models");
  std::map<std::uint32_t, const ClientRecord*> clients;
  for (const ClientRecord& client : last.clients) {
    clients[client.client] = &client;
  }
  std::vector<StoreEntry> entries;
  const std::vector<ServedModel> models = algorithm.served();
  const bool several = std::count_if(models.begin(), models.end(), [](const auto& m) { return !m.client; }) > 1;
  std::size_t shared = 0;
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
      entry.validation_score = client.accuracy_after;
    }
    write_safetensors(folder / entry.model_file, *served.model, {{"model", model.name}, {"algorithm", label}});
    entries.push_back(std::move(entry));
  }
  StoreIndex(folder / "store.db", StoreIndex::Mode::create).insert(entries);
}

}  // namespace feroma
