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
#include "feroma/algorithms/fedgps.h"
#include "feroma/algorithms/fedopt.h"
#include "feroma/algorithms/fedproto.h"
#include "feroma/algorithms/fedprox.h"
#include "feroma/algorithms/feroma.h"
#include "feroma/algorithms/fesem.h"
#include "feroma/algorithms/finetune.h"
#include "feroma/algorithms/foogd.h"
#include "feroma/algorithms/ifca.h"
#include "feroma/algorithms/local_only.h"
#include "feroma/algorithms/pfedme.h"
#include "feroma/algorithms/scaffold.h"
#include "feroma/algorithms/shiftex.h"
#include "feroma/core/error.h"

namespace feroma {
namespace {

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
      {"feroma", "profile mapping", "Feroma, ICLR 2026", {"auto", "paper", "reference"}, plan_feroma},
      {"fedavg", "global", "McMahan et al., 2017", {}, plan_of<FedAvgOptions>(make_fedavg)},
      {"fedprox", "global", "Li et al., 2020", {}, plan_of<FedProxOptions>(make_fedprox)},
      {"scaffold", "global", "Karimireddy et al., 2020", {}, plan_of<ScaffoldOptions>(make_scaffold)},
      {"fedavgm", "global", "Hsu et al., 2019", {}, plan_of<ServerMomentumOptions>(make_fedavgm)},
      {"fedadam", "global", "Reddi et al., 2021", {}, plan_of<AdaptiveServerOptions>(make_fedadam)},
      {"fedyogi", "global", "Reddi et al., 2021", {}, plan_of<AdaptiveServerOptions>(make_fedyogi)},
      {"fedgps", "global", "Yang et al., 2025", {}, plan_of<FedGpsOptions>(make_fedgps)},
      {"foogd", "global", "Liao et al., 2024", {}, plan_of<FoogdOptions>(make_foogd)},
      {"ifca", "clustered", "Ghosh et al., 2020", {}, plan_of<IfcaOptions>(make_ifca)},
      {"fesem", "clustered", "Xie et al., 2022", {}, plan_of<FesemOptions>(make_fesem)},
      {"cfl", "clustered", "Sattler et al., 2020", {}, plan_of<CflOptions>(make_cfl)},
      {"fedem", "clustered, soft", "Marfoq et al., 2021", {}, plan_of<FedEmOptions>(make_fedem)},
      {"fedrc", "clustered, soft", "Guo et al., 2024", {}, plan_of<FedRcOptions>(make_fedrc)},
      {"feddrift", "clustered, drift", "Jothimurugesan et al., 2023", {}, plan_of<FedDriftOptions>(make_feddrift)},
      {"shiftex",
       "clustered, drift",
       "a reconstruction of Bhope et al., 2025",
       {},
       plan_of<ShiftExOptions>(make_shiftex)},
      {"pfedme", "personalised", "Dinh et al., 2020", {}, plan_of<PFedMeOptions>(make_pfedme)},
      {"apfl", "personalised", "Deng et al., 2020", {}, plan_of<ApflOptions>(make_apfl)},
      {"ditto", "personalised", "Li et al., 2021", {}, plan_of<DittoOptions>(make_ditto)},
      {"fedproto", "personalised", "Tan et al., 2022", {}, plan_of<FedProtoOptions>(make_fedproto)},
      {"atp", "test-time adaptation", "Bao et al., 2023", {}, plan_of<AtpOptions>(make_atp)},
      {"cola", "test-time adaptation", "Chen et al., 2024", {}, plan_of<ColaOptions>(make_cola)},
      {"finetune", "test-time adaptation", "a few steps on a few labels", {}, plan_of<FinetuneOptions>(make_finetune)},
      {"fedavg-ft", "control", "FedAvg mixing, then auto's local training and matching", {}, plan_fedavg_ft},
      {"local", "control", "every client for itself", {}, plan_of<LocalOnlyOptions>(make_local_only)},
      {"centralised", "control", "one model on everybody's data", {}, plan_of<CentralisedOptions>(make_centralised)},
  };
  return entries;
}

}  // namespace

AlgorithmPlan adapted(const AlgorithmPlan& plan, const RunFacts& facts, Defaults& defaults) {
  if (!plan.adapt) {
    return plan;
  }
  AlgorithmPlan next = plan.adapt(facts, defaults);
  next.name = plan.name;
  next.preset = plan.preset;
  next.label = plan.label;
  return next;
}

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
