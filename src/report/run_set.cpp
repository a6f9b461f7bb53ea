#include "feroma/report/run_set.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <tuple>

#include "feroma/core/config_identity.h"
#include "feroma/core/error.h"
#include "feroma/core/files.h"
#include "report/record_json.h"
#include "report/sweep_cells.h"

namespace feroma {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

/// A run has two of these; one that has lost its config is still a run, and a damaged one.
bool is_run(const fs::path& folder) {
  int found = 0;
  for (const char* file : {"config.toml", "manifest.json", "summary.json"}) {
    found += fs::exists(folder / file) ? 1 : 0;
  }
  return found >= 2;
}

/// Results are of the config that they lie beside, or they would count for another seed or method.
void check_results(const RunEntry& run, const Summary& summary) {
  std::set<std::string> labels;
  for (const auto& [key, setting] : run.config) {
    if (key.starts_with("algorithm.") && key.ends_with(".label")) {
      labels.insert(plain_text(setting.value));
    }
  }
  const auto seed = run.config.find("scenario.seed");
  require(seed != run.config.end(), ErrorCode::invalid_data,
          "{}: must say scenario.seed, as the config of every run does", (run.folder / "config.toml").string());
  const std::string file = (run.folder / "summary.json").string();
  for (const ResultRecord& result : summary.results) {
    require(labels.empty() || labels.contains(result.label), ErrorCode::invalid_data,
            "{}: label {} must be one of config.toml", file, result.label);
    require(seed->second.value == SettingValue(result.seed), ErrorCode::invalid_data,
            "{}: seed of {} must be config.toml's {}, got {}", file, result.label, to_string(seed->second.value),
            result.seed);
  }
}

/// What a default gave way to follows the rounds or the data: nobody wrote it, and it makes no other method. Of a key
/// that followed both, what was written came first.
Settings asked_for(Settings config, const fs::path& folder) {
  const fs::path file = folder / "manifest.json";
  const Json manifest =
      fs::exists(file) ? Json::parse(read_text(file), nullptr, /*allow_exceptions=*/false) : Json::object();
  detail::undo_adapted(config, manifest, detail::kFittedList);
  detail::undo_adapted(config, manifest, detail::kAdaptedList);
  return config;
}

RunEntry read_run(const fs::path& folder) {
  const Settings ran = load_settings(folder / "config.toml");
  RunEntry run{folder, config_identity().spelled_out(ran), config_identity().spelled_out(asked_for(ran, folder)),
               std::nullopt};
  if (fs::exists(folder / "summary.json")) {
    run.summary = read_summary(folder / "summary.json");
    check_results(run, *run.summary);
  }
  return run;
}

/// Other requirements have no table. A key that earlier versions did not write leaves open whether it is the paper's.
RequirementOne read_requirement(const fs::path& file) {
  const Json json = Json::parse(read_text(file), nullptr, /*allow_exceptions=*/false);
  const Json::json_pointer place("/requirements/R1");
  const Json one = json.is_object() && json.contains(place) ? json[place] : Json();
  const Json quick = json.is_object() ? json.value("quick", Json()) : Json();
  const Json dataset = one.is_object() ? one.value("dataset", Json()) : Json();
  require(one.is_object() && one.contains("results") && one["results"].is_object() &&
              (quick.is_null() || quick.is_boolean()) && (dataset.is_null() || dataset.is_string()),
          ErrorCode::invalid_data, "{}: must be what `feroma bench --requirements --format json` prints",
          file.string());
  RequirementOne read{file, {}, {}};
  for (const auto& [name, result] : one["results"].items()) {
    require(result.is_object() && result.contains("value") && result["value"].is_number(), ErrorCode::invalid_data,
            "{}: R1 {} must have a number `value`", file.string(), name);
    read.values[name] = result["value"].get<double>();
  }
  if (quick.is_null() || dataset.is_null()) {
    read.differs = "of an earlier version, which does not say what it measured";
  } else if (quick.get<bool>()) {
    read.differs = "a quick measurement";
  } else if (dataset != "mnist") {  // as the published ones are
    read.differs = fmt::format("of {}", dataset.get<std::string>());
  }
  return read;
}

class Finder {
 public:
  /// `only` are the cells to read; null for all runs.
  Finder(RunSet& set, bool keep_going, detail::SweepCells* only) : set_(set), keep_going_(keep_going), only_(only) {}

  void look(const fs::path& folder, int depth) {
    if (is_run(folder)) {
      ++found_;
      attempt([&] {
        if (only_ == nullptr || only_->take(folder)) {
          add(folder);
        }
      });
      return;
    }
    if (fs::exists(folder / "requirements.json")) {
      ++found_;
      attempt([&] { add_requirement(folder / "requirements.json"); });
    }
    if (depth == 0) {
      return;
    }
    std::vector<fs::path> below;
    for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
      if (entry.is_directory() && !entry.path().filename().string().starts_with('.')) {
        below.push_back(entry.path());
      }
    }
    std::sort(below.begin(), below.end());
    for (const fs::path& next : below) {
      look(next, depth - 1);
    }
  }

  /// Once all was looked at: which measurements do not count.
  void tell_left_out() const {
    for (const fs::path& file : left_out_) {
      set_.notes.push_back(
          fmt::format("{}: left out, R1 is read from {}", file.string(), set_.requirement->file.string()));
    }
  }

  /// What was met so far, readable or not.
  [[nodiscard]] std::size_t found() const { return found_; }

 private:
  void add(const fs::path& folder) {
    // The same run may be reached by two of the paths given.
    if (seen_.insert(fs::canonical(folder)).second) {
      set_.runs.push_back(read_run(folder));
    }
  }

  void add_requirement(const fs::path& file) {
    if (!seen_.insert(fs::canonical(file)).second) {
      return;
    }
    RequirementOne read = read_requirement(file);
    if (!set_.requirement) {
      set_.requirement = std::move(read);
      return;
    }
    if (read.differs.empty() && !set_.requirement->differs.empty()) {
      std::swap(read, *set_.requirement);
    }
    left_out_.push_back(read.file);
  }

  template <class Action>
  void attempt(Action&& action) {
    try {
      action();
    } catch (const Error& error) {
      if (!keep_going_) {
        // A config that cannot be read is damaged data here, not a bad command line.
        throw Error(error.code() == ErrorCode::invalid_config ? ErrorCode::invalid_data : error.code(), error.what());
      }
      set_.damaged.emplace_back(error.what());
    }
  }

  RunSet& set_;
  bool keep_going_;
  detail::SweepCells* only_;
  std::size_t found_ = 0;
  std::set<fs::path> seen_;
  std::vector<fs::path> left_out_;  ///< measurements of R1
};

bool separates(const std::string& key) {
  return key != "scenario.seed" && key != "scenario.data_dir" && key != "training.simd" && key != "privacy.ledger" &&
         !key.starts_with("algorithm.") && !config_identity().only_observes(key);
}

std::string setting_of_run(const Settings& config) {
  std::string text;
  for (const auto& [key, setting] : config) {
    if (separates(key)) {
      text += key + "=" + to_string(setting.value) + "\n";
    }
  }
  return text;
}

/// The keys of the algorithm with this label; empty where the config has none.
Settings keys_of(const Settings& config, const std::string& label) {
  std::string prefix;
  for (const auto& [key, setting] : config) {
    if (key.starts_with("algorithm.") && key.ends_with(".label") && plain_text(setting.value) == label) {
      prefix = key.substr(0, key.size() - std::string_view("label").size());
    }
  }
  Settings keys;
  for (const auto& [key, setting] : config) {
    if (!prefix.empty() && key.starts_with(prefix) && key != prefix + "label") {
      keys[key.substr(prefix.size())] = setting;
    }
  }
  return keys;
}

/// The keys in which configs under one label differ.
std::set<std::string> differing_keys(const std::vector<const Settings*>& all) {
  std::set<std::string> keys;
  for (const Settings* one : all) {
    for (const Settings* other : all) {
      for (const auto& [key, setting] : *one) {
        const auto found = other->find(key);
        // A key that one version of the program did not know yet is no difference, unless it is known what that did.
        if (found == other->end() ? config_identity().differs_by("algorithm.0." + key, setting.value)
                                  : found->second.value != setting.value) {
          keys.insert(key);
        }
      }
    }
  }
  return keys;
}

/// A config of an algorithm, and how many results have it.
struct ConfigUse {
  const Settings* config = nullptr;
  std::size_t results = 0;
};

void sort_by_use(std::vector<ConfigUse>& uses) {
  std::stable_sort(uses.begin(), uses.end(),
                   [](const ConfigUse& a, const ConfigUse& b) { return a.results > b.results; });
}

std::vector<ConfigUse> configs_of(const std::vector<OurResult*>& results) {
  std::map<std::string, ConfigUse> distinct;
  for (const OurResult* result : results) {
    std::string text;
    for (const auto& [key, setting] : result->algorithm) {
      text += key + "=" + to_string(setting.value) + "\n";
    }
    ConfigUse& use = distinct.try_emplace(std::move(text), ConfigUse{&result->algorithm, 0}).first->second;
    use.results += 1;
  }
  std::vector<ConfigUse> uses;
  for (const auto& [text, use] : distinct) {
    uses.push_back(use);
  }
  sort_by_use(uses);
  return uses;
}

/// Configs that differ in nothing but keys that one version of the program did not know yet as one, that with the most
/// keys.
std::vector<ConfigUse> merged(std::vector<ConfigUse> uses) {
  std::stable_sort(uses.begin(), uses.end(),
                   [](const ConfigUse& a, const ConfigUse& b) { return a.config->size() > b.config->size(); });
  std::vector<ConfigUse> kept;
  for (const ConfigUse& use : uses) {
    const auto same = std::find_if(kept.begin(), kept.end(), [&use](const ConfigUse& other) {
      return differing_keys({use.config, other.config}).empty();
    });
    if (same == kept.end()) {
      kept.push_back(use);
    } else {
      same->results += use.results;
    }
  }
  sort_by_use(kept);
  return kept;
}

/// The config that most of the results have; null where two are as frequent.
const Settings* usual_config(const std::vector<ConfigUse>& all) {
  const std::vector<ConfigUse> uses = merged(all);
  const bool tied = uses.size() > 1 && uses[0].results == uses[1].results;
  return tied ? nullptr : uses[0].config;
}

/// For each key the value that most of the results have; without those of which two are as frequent.
Settings usual_values(const std::vector<OurResult*>& results) {
  using Use = std::pair<std::size_t, const Setting*>;
  std::map<std::string, std::map<std::string, Use>> uses;
  for (const OurResult* result : results) {
    for (const auto& [key, setting] : result->algorithm) {
      Use& use = uses[key].try_emplace(to_string(setting.value), 0, &setting).first->second;
      use.first += 1;
    }
  }
  Settings usual;
  for (const auto& [key, values] : uses) {
    const auto fewer = [](const auto& a, const auto& b) { return a.second.first < b.second.first; };
    const Use most = std::max_element(values.begin(), values.end(), fewer)->second;
    const auto as_frequent = std::count_if(values.begin(), values.end(),
                                           [&](const auto& value) { return value.second.first == most.first; });
    if (as_frequent == 1) {
      usual[key] = *most.second;
    }
  }
  return usual;
}

/// Finds variants of presets, such as those of an ablation. What a preset stands for is seen from the runs that go by
/// its own name, "feroma-auto": another version of the program may have had other values. Where there are none, or two
/// versions of them, it is what most variants have in common: each changes a key or two.
void find_altered_keys(std::vector<OurResult>& results) {
  std::map<std::string, std::vector<OurResult*>> by_preset;
  for (OurResult& result : results) {
    const auto preset = result.algorithm.find("preset");
    if (preset != result.algorithm.end()) {
      by_preset[fmt::format("{}-{}", result.result.algorithm, plain_text(preset->second.value))].push_back(&result);
    }
  }
  for (const auto& [name, members] : by_preset) {
    std::vector<OurResult*> named;
    for (OurResult* result : members) {
      if (result->result.label == name) {
        named.push_back(result);
      }
    }
    const Settings* named_config = named.empty() ? nullptr : usual_config(configs_of(named));
    const Settings usual = named_config != nullptr ? *named_config : usual_values(members);
    for (OurResult* result : members) {
      result->altered = differing_keys({&usual, &result->algorithm});
    }
  }
}

/// Where one label stands for several configs, what differs is put behind it. The config that most results have keeps
/// the bare label, so that one odd run does not rename all the others.
void tell_labels_apart(std::vector<OurResult>& results) {
  std::map<std::string, std::vector<OurResult*>> by_label;
  for (OurResult& result : results) {
    by_label[result.label].push_back(&result);
  }
  for (const auto& [label, same] : by_label) {
    const std::vector<ConfigUse> uses = configs_of(same);
    std::vector<const Settings*> configs;
    for (const ConfigUse& use : uses) {
      configs.push_back(use.config);
    }
    const Settings* usual = usual_config(uses);
    const std::set<std::string> keys = differing_keys(configs);
    for (OurResult* result : same) {
      if (usual != nullptr && differing_keys({usual, &result->algorithm}).empty()) {
        continue;
      }
      std::string differences;
      for (const std::string& key : keys) {
        const auto found = result->algorithm.find(key);
        if (found != result->algorithm.end()) {
          differences += fmt::format("{}{}={}", differences.empty() ? "" : ", ", key, plain_text(found->second.value));
        }
      }
      result->label = differences.empty() ? label : fmt::format("{} ({})", label, differences);
    }
  }
}

/// The database of a sweep stands for the folder that it lies in.
fs::path folder_of(const fs::path& given) {
  if (given.filename() != "results.db" || !fs::is_regular_file(given)) {
    return given;
  }
  return given.has_parent_path() ? given.parent_path() : fs::path(".");
}

}  // namespace

RunSet find_runs(std::span<const fs::path> folders, bool keep_going, const std::string& sweep) {
  RunSet set;
  detail::SweepCells cells(sweep);
  Finder finder(set, keep_going, sweep.empty() ? nullptr : &cells);
  for (const fs::path& given : folders) {
    const fs::path folder = folder_of(given);
    require(fs::is_directory(folder), ErrorCode::invalid_config,
            "{}: must be a folder with runs in it or a sweep's results.db, and {}", folder.string(),
            fs::exists(folder) ? "it is another file" : "it does not exist");
    const std::size_t before = finder.found();
    finder.look(folder, kRunDepth);
    require(finder.found() > before, ErrorCode::invalid_config,
            "{}: holds no run (two of config.toml, manifest.json and summary.json), at most {} folders deep",
            folder.string(), kRunDepth);
  }
  finder.tell_left_out();
  if (!sweep.empty()) {
    cells.require_known();
    if (const auto [taken, all] = cells.counts(); taken < all) {
      set.notes.push_back(fmt::format("sweep {}: {} of its {} cells are not there", sweep, all - taken, all));
    }
  }
  return set;
}

std::vector<OurResult> results_of(const RunSet& set, std::vector<std::string>& notes) {
  std::vector<OurResult> results;
  for (std::size_t i = 0; i < set.runs.size(); ++i) {
    const RunEntry& run = set.runs[i];
    if (!run.summary) {
      notes.push_back(fmt::format("{}: not finished, its results are missing", run.folder.string()));
      continue;
    }
    const std::string setting = setting_of_run(run.asked);
    for (const ResultRecord& result : run.summary->results) {
      results.push_back({i, setting, result.label, keys_of(run.asked, result.label), result});
    }
  }
  find_altered_keys(results);
  tell_labels_apart(results);
  std::set<std::tuple<std::string, std::string, std::int64_t>> seen;
  std::vector<OurResult> kept;
  for (OurResult& result : results) {
    if (seen.emplace(result.setting, result.label, result.result.seed).second) {
      kept.push_back(std::move(result));
    } else {
      notes.push_back(fmt::format("{}: {} of seed {} is already there from another run, and left out",
                                  set.runs[result.run].folder.string(), result.label, result.result.seed));
    }
  }
  return kept;
}

std::string plain_text(const SettingValue& value) {
  const auto* text = std::get_if<std::string>(&value);
  return text != nullptr ? *text : to_string(value);
}

double comparable_accuracy(const RunEntry& run, const ResultRecord& result) {
  const auto shift = run.config.find("scenario.shift");
  if (shift == run.config.end() || plain_text(shift->second.value) != "concept_label") {
    return result.accuracy;
  }
  return result.accuracy_few_label.value_or(result.accuracy_known.value_or(result.accuracy));
}

}  // namespace feroma
