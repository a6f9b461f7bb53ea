#include "feroma/algorithms/registry.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "feroma/algorithms/apfl.h"
#include "feroma/algorithms/atp.h"
#include "feroma/algorithms/centralised.h"
#include "feroma/algorithms/cfl.h"
#include "feroma/algorithms/cola.h"
#include "feroma/algorithms/ditto.h"
#include "feroma/algorithms/fedavg.h"
#include "feroma/algorithms/feddrift.h"
#include "feroma/algorithms/fedem.h"
#include "feroma/algorithms/fedopt.h"
#include "feroma/algorithms/fedproto.h"
#include "feroma/algorithms/fedprox.h"
#include "feroma/algorithms/feroma.h"
#include "feroma/algorithms/fesem.h"
#include "feroma/algorithms/ifca.h"
#include "feroma/algorithms/local_only.h"
#include "feroma/algorithms/pfedme.h"
#include "feroma/algorithms/scaffold.h"
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

/// For methods without presets: their options' defaults, and the user's changes to them.
template <class Options, std::unique_ptr<Algorithm> (*make)(const Options&)>
AlgorithmPlan plan(const std::string&, SettingsReader& reader, const std::string& prefix, Problems& problems) {
  return plan_with(Options{}, make, reader, prefix, problems);
}

AlgorithmPlan plan_fedavg_ft(const std::string&, SettingsReader& reader, const std::string& prefix,
                             Problems& problems) {
  return plan_with(fedavg_ft_options(), make_feroma, reader, prefix, problems);
}

AlgorithmPlan plan_feroma(const std::string& preset, SettingsReader& reader, const std::string& prefix,
                          Problems& problems) {
  return plan_with(feroma_preset(preset), make_feroma, reader, prefix, problems);
}

}  // namespace

const std::vector<AlgorithmEntry>& known_algorithms() {
  static const std::vector<AlgorithmEntry> entries{
      {"feroma", "profile mapping", "Feroma, ICLR 2026", {"auto", "paper", "reference"}, plan_feroma},
      {"fedavg", "global", "McMahan et al., 2017", {}, plan<FedAvgOptions, make_fedavg>},
      {"fedprox", "global", "Li et al., 2020", {}, plan<FedProxOptions, make_fedprox>},
      {"scaffold", "global", "Karimireddy et al., 2020", {}, plan<ScaffoldOptions, make_scaffold>},
      {"fedavgm", "global", "Hsu et al., 2019", {}, plan<ServerMomentumOptions, make_fedavgm>},
      {"fedadam", "global", "Reddi et al., 2021", {}, plan<AdaptiveServerOptions, make_fedadam>},
      {"fedyogi", "global", "Reddi et al., 2021", {}, plan<AdaptiveServerOptions, make_fedyogi>},
      {"ifca", "clustered", "Ghosh et al., 2020", {}, plan<IfcaOptions, make_ifca>},
      {"fesem", "clustered", "Xie et al., 2022", {}, plan<FesemOptions, make_fesem>},
      {"cfl", "clustered", "Sattler et al., 2020", {}, plan<CflOptions, make_cfl>},
      {"fedem", "clustered, soft", "Marfoq et al., 2021", {}, plan<FedEmOptions, make_fedem>},
      {"fedrc", "clustered, soft", "Guo et al., 2024", {}, plan<FedRcOptions, make_fedrc>},
      {"feddrift", "clustered, drift", "Jothimurugesan et al., 2023", {}, plan<FedDriftOptions, make_feddrift>},
      {"shiftex", "clustered, drift", "a reconstruction of Bhope et al., 2025", {}, plan<ShiftExOptions, make_shiftex>},
      {"pfedme", "personalised", "Dinh et al., 2020", {}, plan<PFedMeOptions, make_pfedme>},
      {"apfl", "personalised", "Deng et al., 2020", {}, plan<ApflOptions, make_apfl>},
      {"ditto", "personalised", "Li et al., 2021", {}, plan<DittoOptions, make_ditto>},
      {"fedproto", "personalised", "Tan et al., 2022", {}, plan<FedProtoOptions, make_fedproto>},
      {"atp", "test-time adaptation", "Bao et al., 2023", {}, plan<AtpOptions, make_atp>},
      {"cola", "test-time adaptation", "Chen et al., 2024", {}, plan<ColaOptions, make_cola>},
      {"fedavg-ft", "control", "FedAvg mixing, then auto's local training and matching", {}, plan_fedavg_ft},
      {"local", "control", "every client for itself", {}, plan<LocalOnlyOptions, make_local_only>},
      {"centralised", "control", "one model on everybody's data", {}, plan<CentralisedOptions, make_centralised>},
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
