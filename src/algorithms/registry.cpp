#include "feroma/algorithms/registry.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "feroma/algorithms/apfl.h"
#include "feroma/algorithms/centralised.h"
#include "feroma/algorithms/ditto.h"
#include "feroma/algorithms/fedavg.h"
#include "feroma/algorithms/fedopt.h"
#include "feroma/algorithms/fedprox.h"
#include "feroma/algorithms/feroma.h"
#include "feroma/algorithms/local_only.h"
#include "feroma/algorithms/pfedme.h"
#include "feroma/algorithms/scaffold.h"

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

AlgorithmPlan plan_apfl(const std::string&, SettingsReader& reader, const std::string& prefix, Problems& problems) {
  return plan_with(ApflOptions{}, make_apfl, reader, prefix, problems);
}

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

AlgorithmPlan plan_centralised(const std::string&, SettingsReader& reader, const std::string& prefix,
                               Problems& problems) {
  return plan_with(CentralisedOptions{}, make_centralised, reader, prefix, problems);
}

AlgorithmPlan plan_ditto(const std::string&, SettingsReader& reader, const std::string& prefix, Problems& problems) {
  return plan_with(DittoOptions{}, make_ditto, reader, prefix, problems);
}

AlgorithmPlan plan_fedadam(const std::string&, SettingsReader& reader, const std::string& prefix, Problems& problems) {
  return plan_with(AdaptiveServerOptions{}, make_fedadam, reader, prefix, problems);
}

AlgorithmPlan plan_fedyogi(const std::string&, SettingsReader& reader, const std::string& prefix, Problems& problems) {
  return plan_with(AdaptiveServerOptions{}, make_fedyogi, reader, prefix, problems);
}

AlgorithmPlan plan_fedavgm(const std::string&, SettingsReader& reader, const std::string& prefix, Problems& problems) {
  return plan_with(ServerMomentumOptions{}, make_fedavgm, reader, prefix, problems);
}

AlgorithmPlan plan_fedprox(const std::string&, SettingsReader& reader, const std::string& prefix, Problems& problems) {
  return plan_with(FedProxOptions{}, make_fedprox, reader, prefix, problems);
}

AlgorithmPlan plan_local(const std::string&, SettingsReader& reader, const std::string& prefix, Problems& problems) {
  return plan_with(LocalOnlyOptions{}, make_local_only, reader, prefix, problems);
}

AlgorithmPlan plan_scaffold(const std::string&, SettingsReader& reader, const std::string& prefix, Problems& problems) {
  return plan_with(ScaffoldOptions{}, make_scaffold, reader, prefix, problems);
}

AlgorithmPlan plan_pfedme(const std::string&, SettingsReader& reader, const std::string& prefix, Problems& problems) {
  return plan_with(PFedMeOptions{}, make_pfedme, reader, prefix, problems);
}

}  // namespace

const std::vector<AlgorithmEntry>& known_algorithms() {
  static const std::vector<AlgorithmEntry> entries{
      {"apfl", "personal", "Deng et al., 2020", {}, plan_apfl},
      {"fedavg", "global", "McMahan et al., 2017", {}, plan_fedavg},
      {"fedavg-ft", "control", "FedAvg mixing, then auto's local training and matching", {}, plan_fedavg_ft},
      {"feroma", "profile mapping", "Feroma, ICLR 2026", {"auto", "paper", "reference"}, plan_feroma},
      {"fedprox", "global", "Li et al., 2020", {}, plan_fedprox},
      {"scaffold", "global", "Karimireddy et al., 2020", {}, plan_scaffold},
      {"fedadam", "global", "Reddi et al., 2021", {}, plan_fedadam},
      {"fedyogi", "global", "Reddi et al., 2021", {}, plan_fedyogi},
      {"fedavgm", "global", "Hsu et al., 2019", {}, plan_fedavgm},
      {"ditto", "personal", "Li et al., 2021", {}, plan_ditto},
      {"centralised", "control", "one model on everybody's data", {}, plan_centralised},
      {"local", "control", "every client for itself", {}, plan_local},
      {"pfedme", "personal", "Dinh et al., 2020", {}, plan_pfedme},
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
