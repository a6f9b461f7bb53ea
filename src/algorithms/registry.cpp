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

/// What every `[[algorithm]]` table may have, beside the method's own options.
struct AlgorithmHead {
  std::string name;
  std::string preset;
  std::string label;

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("name", self.name, anything(), "which method (`feroma list algorithms`)");
    visit("preset", self.preset, anything(), "a set of defaults for the method's other options");
    visit("label", self.label, anything(),
          "what tables and files call this row; empty: the name, or NAME-PRESET; two rows of a run need two labels");
  }
};

constexpr const char* kTheOneModel = "the one model (the authors' rule)";

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
      {"feroma",
       "profile mapping",
       "Feroma, ICLR 2026",
       {"auto", "paper", "reference"},
       plan_feroma,
       "models mixed by how near the profiles of their data are to the client's, which takes no labels (the authors' "
       "rule)"},
      {"fedavg", "global", "McMahan et al., 2017", {}, plan_of<FedAvgOptions>(make_fedavg), kTheOneModel},
      {"fedprox", "global", "Li et al., 2020", {}, plan_of<FedProxOptions>(make_fedprox), kTheOneModel},
      {"scaffold", "global", "Karimireddy et al., 2020", {}, plan_of<ScaffoldOptions>(make_scaffold), kTheOneModel},
      {"fedavgm", "global", "Hsu et al., 2019", {}, plan_of<ServerMomentumOptions>(make_fedavgm), kTheOneModel},
      {"fedadam", "global", "Reddi et al., 2021", {}, plan_of<AdaptiveServerOptions>(make_fedadam), kTheOneModel},
      {"fedyogi", "global", "Reddi et al., 2021", {}, plan_of<AdaptiveServerOptions>(make_fedyogi), kTheOneModel},
      {"fedgps", "global", "Yang et al., 2025", {}, plan_of<FedGpsOptions>(make_fedgps), kTheOneModel},
      {"foogd",
       "global",
       "Liao et al., 2024",
       {},
       plan_of<FoogdOptions>(make_foogd),
       "the one model (the authors' rule); how well it tells strange samples from known ones is `detection_auroc`"},
      {"ifca",
       "clustered",
       "Ghosh et al., 2020",
       {},
       plan_of<IfcaOptions>(make_ifca),
       "the expectation: all models, by how many clients chose each; the authors choose by the loss on labels"},
      {"fesem",
       "clustered",
       "Xie et al., 2022",
       {},
       plan_of<FesemOptions>(make_fesem),
       "the expectation: all centres, by how many clients are near each; the authors know their test clients"},
      {"cfl",
       "clustered",
       "Sattler et al., 2020",
       {},
       plan_of<CflOptions>(make_cfl),
       "the expectation: all clusters, by their clients; the authors know their test clients"},
      {"fedem",
       "clustered, soft",
       "Marfoq et al., 2021",
       {},
       plan_of<FedEmOptions>(make_fedem),
       "the expectation: all components, by the clients' shares; the authors fit a client's shares to its labels"},
      {"fedrc",
       "clustered, soft",
       "Guo et al., 2024",
       {},
       plan_of<FedRcOptions>(make_fedrc),
       "the expectation: all components, by the clients' shares; the authors fit a client's shares to its labels"},
      {"feddrift",
       "clustered, drift",
       "Jothimurugesan et al., 2023",
       {},
       plan_of<FedDriftOptions>(make_feddrift),
       "the expectation: all models, by how many clients use each; the authors know their test clients"},
      {"shiftex",
       "clustered, drift",
       "a reconstruction of Bhope et al., 2025",
       {},
       plan_of<ShiftExOptions>(make_shiftex),
       "the expert whose past data the client's unlabelled embeddings resemble most (the authors' matching by "
       "covariates)"},
      {"pfedme",
       "personalised",
       "Dinh et al., 2020",
       {},
       plan_of<PFedMeOptions>(make_pfedme),
       "the shared model (the authors' global one); personal models are for their own clients, column `known`"},
      {"apfl",
       "personalised",
       "Deng et al., 2020",
       {},
       plan_of<ApflOptions>(make_apfl),
       "the shared model (the authors' global one); mixtures are for their own clients, column `known`"},
      {"ditto",
       "personalised",
       "Li et al., 2021",
       {},
       plan_of<DittoOptions>(make_ditto),
       "the shared model (the authors' global one); personal models are for their own clients, column `known`"},
      {"fedproto",
       "personalised",
       "Tan et al., 2022",
       {},
       plan_of<FedProtoOptions>(make_fedproto),
       "the mean prediction of all clients' models, each by the nearest prototype or by its own last layer "
       "(`predict`); the authors have models for their own clients alone"},
      {"atp",
       "test-time adaptation",
       "Bao et al., 2023",
       {},
       plan_of<AtpOptions>(make_atp),
       "the shared model, adapted to the client's unlabelled batches at rates learned in 20 rounds (the authors' rule, "
       "who learn them in 200 to 400)"},
      {"cola",
       "test-time adaptation",
       "Chen et al., 2024",
       {},
       plan_of<ColaOptions>(make_cola),
       "the shared model, adapted to the client's unlabelled batches as each is predicted, together with other clients "
       "(the authors' rule)"},
      {"finetune",
       "test-time adaptation",
       "a few steps on a few labels",
       {},
       plan_of<FinetuneOptions>(make_finetune),
       "the model it starts from; its own rule needs labels and is the column `few labels`"},
      {"fedavg-ft",
       "control",
       "FedAvg mixing, then auto's local training and matching",
       {},
       plan_fedavg_ft,
       "models mixed as `feroma` does"},
      {"local",
       "control",
       "every client for itself",
       {},
       plan_of<LocalOnlyOptions>(make_local_only),
       "the mean prediction of all clients' models"},
      {"centralised",
       "control",
       "one model on everybody's data",
       {},
       plan_of<CentralisedOptions>(make_centralised),
       "the one model"},
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
  AlgorithmHead head;
  reader.read(head, prefix);
  const std::string& name = head.name;
  std::string preset = head.preset;
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
  plan.label = !head.label.empty() ? head.label : (preset.empty() ? name : name + "-" + preset);
  return plan;
}

std::vector<OptionInfo> algorithm_options(const AlgorithmEntry& entry) {
  const std::string table = "algorithm.0";
  Problems none_without_keys;
  SettingsReader reader({{table + ".name", {entry.name, ""}}}, none_without_keys);
  const AlgorithmPlan plan = plan_algorithm(reader, table, none_without_keys);
  std::vector<OptionInfo> options;
  for (OptionInfo option : reader.options()) {
    const std::string name = option.key.substr(table.size() + 1);
    option.key = fmt::format("algorithm.{}.{}", entry.name, name);
    if (name == "name") {
      option.value = option.range = entry.name;
    } else if (name == "label") {
      option.value = plan.label;
    } else if (name == "preset") {
      option.type = "choice";
      option.value = plan.preset;
      option.range = fmt::format("{}", fmt::join(entry.presets, " | "));
    }
    if (name != "preset" || !entry.presets.empty()) {
      options.push_back(std::move(option));
    }
  }
  return options;
}

}  // namespace feroma
