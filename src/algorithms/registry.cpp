#include "feroma/algorithms/registry.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "feroma/algorithms/cfl.h"
#include "feroma/algorithms/fedavg.h"
#include "feroma/algorithms/feddrift.h"
#include "feroma/algorithms/feroma.h"
#include "feroma/algorithms/shiftex.h"

namespace feroma {
namespace {

template <class Options, class Make>
AlgorithmPlan plan_with(Options options, Make make, SettingsReader& reader, const std::string& prefix,
                        Problems& problems) {
  const Options preset = options;
  reader.read(options, prefix);
  options.check(preset, problems, prefix);
  AlgorithmPlan plan;
  Settings settings;
  write_settings(options, "x", settings);
  for (auto& [key, setting] : settings) {
    plan.settings[key.substr(2)] = std::move(setting);
  }
  plan.make = [options, make] { return make(options); };
  return plan;
}

AlgorithmPlan plan_cfl(const std::string&, SettingsReader& reader, const std::string& prefix, Problems& problems) {
  return plan_with(CflOptions{}, make_cfl, reader, prefix, problems);
}

AlgorithmPlan plan_fedavg(const std::string&, SettingsReader& reader, const std::string& prefix, Problems& problems) {
  return plan_with(FedAvgOptions{}, make_fedavg, reader, prefix, problems);
}

AlgorithmPlan plan_fedavg_ft(const std::string&, SettingsReader& reader, const std::string& prefix,
                             Problems& problems) {
  return plan_with(fedavg_ft_options(), make_feroma, reader, prefix, problems);
}

AlgorithmPlan plan_feddrift(const std::string&, SettingsReader& reader, const std::string& prefix, Problems& problems) {
  return plan_with(FedDriftOptions{}, make_feddrift, reader, prefix, problems);
}

AlgorithmPlan plan_feroma(const std::string& preset, SettingsReader& reader, const std::string& prefix,
                          Problems& problems) {
  return plan_with(feroma_preset(preset), make_feroma, reader, prefix, problems);
}

AlgorithmPlan plan_shiftex(const std::string&, SettingsReader& reader, const std::string& prefix, Problems& problems) {
  return plan_with(ShiftExOptions{}, make_shiftex, reader, prefix, problems);
}

}  // namespace

const std::vector<AlgorithmEntry>& known_algorithms() {
  static const std::vector<AlgorithmEntry> entries{
      {"cfl", "clustering", "Sattler et al., 2020", {}, plan_cfl},
      {"fedavg", "global", "McMahan et al., 2017", {}, plan_fedavg},
      {"fedavg-ft", "control", "FedAvg mixing, then auto's local training and matching", {}, plan_fedavg_ft},
      {"feddrift", "clustering", "Jothimurugesan et al., 2023", {}, plan_feddrift},
      {"feroma", "profile mapping", "Feroma, ICLR 2026", {"auto", "paper", "reference"}, plan_feroma},
      {"shiftex", "clustering", "a reconstruction of Bhope et al., 2025, from its abstract", {}, plan_shiftex},
  };
  return entries;
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
