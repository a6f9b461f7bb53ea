#include "feroma/algorithms/registry.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "feroma/algorithms/fedavg.h"
#include "feroma/algorithms/feroma.h"
#include "feroma/core/error.h"

namespace feroma {
namespace {

AlgorithmPlan plan_fedavg(const std::string&, SettingsReader& reader, const std::string& prefix, Problems& problems) {
  return plan_with(FedAvgOptions{}, make_fedavg, reader, prefix, problems);
}

AlgorithmPlan plan_fedavg_ft(const std::string&, SettingsReader& reader, const std::string& prefix,
                             Problems& problems) {
  return plan_with(fedavg_ft_options(), make_feroma, reader, prefix, problems);
}

AlgorithmPlan plan_feroma(const std::string& preset, SettingsReader& reader, const std::string& prefix,
                          Problems& problems) {
  return plan_with(feroma_preset(preset), make_feroma, reader, prefix, problems);
}

std::vector<AlgorithmEntry>& algorithm_table() {
  static std::vector<AlgorithmEntry> entries{
      {"fedavg", "global", "McMahan et al., 2017", {}, plan_fedavg},
      {"fedavg-ft", "control", "FedAvg mixing, then auto's local training and matching", {}, plan_fedavg_ft},
      {"feroma", "profile mapping", "Feroma, ICLR 2026", {"auto", "paper", "reference"}, plan_feroma},
  };
  return entries;
}

}  // namespace

const std::vector<AlgorithmEntry>& known_algorithms() { return algorithm_table(); }

void register_algorithm(AlgorithmEntry entry) {
  require(!entry.name.empty(), ErrorCode::invalid_config, "[registry] an algorithm must have a name, got none");
  require(entry.plan != nullptr, ErrorCode::invalid_config, "[registry] {} must have a plan, got none", entry.name);
  for (const AlgorithmEntry& known : known_algorithms()) {
    require(known.name != entry.name, ErrorCode::invalid_config,
            "[registry] the name of an algorithm must be new, got \"{}\", which is there already ({})", entry.name,
            known.source);
  }
  algorithm_table().push_back(std::move(entry));
}

AlgorithmPlan plan_algorithm(SettingsReader& reader, const std::string& prefix, Problems& problems) {
  const std::string name = reader.take_string(prefix + ".name");
  std::string preset = reader.take_string(prefix + ".preset");
  const std::string label = reader.take_string(prefix + ".label");
  const auto& entries = known_algorithms();
  const auto entry = std::find_if(entries.begin(), entries.end(), [&](const auto& e) { return e.name == name; });
  if (entry == entries.end()) {
    std::vector<std::string> names;
    for (const AlgorithmEntry& e : entries) {
      names.emplace_back(e.name);
    }
    const std::string near = nearest_name(name, names);
    problems.add("{}.name must be a known algorithm (feroma list algorithms), got \"{}\"{}", prefix, name,
                 near.empty() ? "" : fmt::format("; did you mean \"{}\"?", near));
    reader.ignore(prefix);
    return {};
  }
  if (preset.empty() && !entry->presets.empty()) {
    preset = entry->presets.front();
  }
  if (!preset.empty() && std::find(entry->presets.begin(), entry->presets.end(), preset) == entry->presets.end()) {
    problems.add(
        "{}.preset: {} {}, got \"{}\"", prefix, name,
        entry->presets.empty() ? "has no presets" : fmt::format("has presets {}", fmt::join(entry->presets, ", ")),
        preset);
    reader.ignore(prefix);
    return {};
  }
  AlgorithmPlan plan = entry->plan(preset, reader, prefix, problems);
  plan.name = name;
  plan.preset = preset;
  plan.label = !label.empty() ? label : (preset.empty() ? name : name + "-" + preset);
  return plan;
}

}  // namespace feroma
