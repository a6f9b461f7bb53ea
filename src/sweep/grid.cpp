#include "sweep/grid.h"

#include <fmt/core.h>

#include <algorithm>

#include "feroma/core/error.h"
#include "feroma/core/files.h"
#include "feroma/core/options.h"

namespace feroma::detail {
namespace {

namespace fs = std::filesystem;

/// Whatever else a table takes: a key that `--set` of `feroma run` takes too.
constexpr std::string_view kAnyKey = "KEY";

/// "sweep" of "sweep.name", "variant" of "variant[].name".
std::string table_of(const OptionInfo& option) { return option.key.substr(0, option.key.find_first_of(".[")); }

std::vector<std::string> known_tables() {
  std::vector<std::string> tables;
  for (const OptionInfo& option : sweep_file_keys()) {
    if (tables.empty() || tables.back() != table_of(option)) {
      tables.push_back(table_of(option));
    }
  }
  return tables;
}

/// The keys of a table; none where it takes any.
std::vector<std::string> known_keys(const std::string& table) {
  std::vector<std::string> keys;
  for (const OptionInfo& option : sweep_file_keys()) {
    if (table_of(option) == table) {
      if (option.key.ends_with(kAnyKey)) {
        return {};
      }
      keys.push_back(option.key);
    }
  }
  return keys;
}

std::string first_part(const std::string& key) { return key.substr(0, key.find('.')); }

/// Reads one sweep file.
class GridReader {
 public:
  GridReader(const fs::path& file, SettingLists lists, Problems& problems)
      : file_(file.string()), folder_(file.parent_path()), lists_(std::move(lists)), problems_(problems) {}

  Grid operator()(const std::string& stem) {
    reject_unknown();
    Grid grid;
    grid.name = name(stem);
    for (const std::string& base : strings("sweep.base")) {
      grid.bases.push_back(folder_ / base);
    }
    grid.seeds = seeds();
    grid.algorithms = selection("sweep.algorithms");
    if (const std::vector<std::string> from = strings("sweep.algorithms_from"); !from.empty()) {
      check(from.size() == 1, "sweep.algorithms_from", "one file");
      grid.algorithms_from = folder_ / from.front();
    }
    grid.axes = axes();
    grid.variants = groups("variant");
    grid.scenarios = groups("scenario");
    grid.own_algorithms = own_algorithms();
    check_whole(grid);
    return grid;
  }

 private:
  [[nodiscard]] const SettingList* find(const std::string& key) const {
    const auto found = lists_.find(key);
    return found == lists_.end() ? nullptr : &found->second;
  }

  void check(bool good, const std::string& key, std::string_view rule) {
    if (!good) {
      const SettingList& list = lists_.at(key);
      problems_.add("{}: {} must be {}, got {}", list.where, key, rule, text_of(list));
    }
  }

  static std::string text_of(const SettingList& list) {
    if (list.single) {
      return to_string(list.values.front());
    }
    std::string text;
    for (const SettingValue& value : list.values) {
      text += (text.empty() ? "" : ", ") + to_string(value);
    }
    return "[" + text + "]";
  }

  void reject_unknown() {
    const std::vector<std::string> tables = known_tables();
    for (const auto& [key, list] : lists_) {
      const std::string table = first_part(key);
      const std::vector<std::string> keys = known_keys(table);
      if (table == key || std::find(tables.begin(), tables.end(), table) == tables.end()) {
        const std::string near = nearest_name(table, tables);
        problems_.add("{}: unknown {} {}{}", list.where, table == key ? "key" : "table", table,
                      near.empty() ? "" : fmt::format("; did you mean the table {}?", near));
      } else if (!keys.empty() && std::find(keys.begin(), keys.end(), key) == keys.end()) {
        const std::string near = nearest_name(key, keys);
        problems_.add("{}: unknown key {}{}", list.where, key,
                      near.empty() ? "" : fmt::format("; did you mean {}?", near));
      }
    }
  }

  std::string name(const std::string& stem) {
    const std::vector<std::string> given = strings("sweep.name");
    if (given.empty()) {
      return stem;
    }
    check(given.size() == 1 && is_file_name(given.front()), "sweep.name", "one name that can name a file");
    return given.front();
  }

  std::vector<std::string> strings(const std::string& key) {
    std::vector<std::string> out;
    const SettingList* list = find(key);
    if (list == nullptr) {
      return out;
    }
    for (const SettingValue& value : list->values) {
      if (const auto* text = std::get_if<std::string>(&value); text != nullptr && !text->empty()) {
        out.push_back(*text);
      }
    }
    check(!list->values.empty() && out.size() == list->values.size(), key, "a string or a list of them");
    return out;
  }

  Selection selection(const std::string& key) {
    const SettingList* list = find(key);
    return list == nullptr ? Selection{} : Selection{strings(key), fmt::format("{}: {}", list->where, key)};
  }

  std::vector<std::int64_t> seeds() {
    std::vector<std::int64_t> out;
    const SettingList* list = find("sweep.seeds");
    if (list == nullptr) {
      return out;
    }
    for (const SettingValue& value : list->values) {
      if (const auto* seed = std::get_if<std::int64_t>(&value); seed != nullptr && *seed >= 0) {
        out.push_back(*seed);
      }
    }
    check(!list->values.empty() && out.size() == list->values.size(), "sweep.seeds",
          "an integer >= 0 or a list of them");
    return out;
  }

  std::vector<Axis> axes() {
    constexpr std::string_view kPrefix = "axes.";
    std::vector<Axis> out;
    for (const auto& [key, list] : lists_) {
      if (!key.starts_with(kPrefix)) {
        continue;
      }
      check(!list.values.empty(), key, "at least one value");
      const std::string name = key.substr(kPrefix.size());
      check_settable(key, name, list.where);
      if (!list.values.empty()) {
        out.push_back({name, list});
      }
    }
    return out;
  }

  /// Seeds are the grid's own business: an axis of them would not be what --seeds replaces.
  void check_settable(const std::string& key, const std::string& name, const std::string& where) {
    if (name == "scenario.seed") {
      problems_.add("{}: {} must be left to sweep.seeds", where, key);
    }
  }

  std::vector<SettingGroup> groups(const std::string& table) {
    std::vector<SettingGroup> out;
    for (int i = 0;; ++i) {
      const std::string prefix = fmt::format("{}.{}.", table, i);
      const auto first = lists_.lower_bound(prefix);
      if (first == lists_.end() || !first->first.starts_with(prefix)) {
        reject_plain_table(table, i);
        return out;
      }
      SettingGroup group;
      for (auto it = first; it != lists_.end() && it->first.starts_with(prefix); ++it) {
        add_to_group(group, table, it->first, it->first.substr(prefix.size()), it->second);
      }
      out.push_back(std::move(group));
    }
  }

  void add_to_group(SettingGroup& group, const std::string& table, const std::string& key, const std::string& name,
                    const SettingList& list) {
    if (name == "algorithms") {
      group.algorithms = selection(key);
      return;
    }
    if (!list.single) {
      check(false, key, "one value; lists belong under [axes]");
      return;
    }
    const SettingValue& value = list.values.front();
    const bool is_name = name == "name";
    if (is_name || (name == "base" && table == "scenario")) {
      const auto* text = std::get_if<std::string>(&value);
      check(text != nullptr && !text->empty(), key, "a string");
      if (text != nullptr) {
        is_name ? void(group.name = *text) : void(group.base = folder_ / *text);
      }
      return;
    }
    check_settable(key, name, list.where);
    group.settings[name] = {value, list.where};
  }

  /// `[variant]` instead of `[[variant]]`: its keys lie under no number.
  void reject_plain_table(const std::string& table, int count) {
    for (auto it = lists_.lower_bound(table + "."); it != lists_.end() && it->first.starts_with(table + "."); ++it) {
      const std::string rest = it->first.substr(table.size() + 1);
      const bool numbered = first_part(rest).find_first_not_of("0123456789") == std::string::npos;
      if (!numbered || (count == 0 && rest.find('.') == std::string::npos)) {
        problems_.add("{}: {} must be an array of tables, written [[{}]]", it->second.where, table, table);
        return;
      }
    }
  }

  Settings own_algorithms() {
    Settings out;
    reject_plain_table("algorithm", 0);
    for (auto it = lists_.lower_bound("algorithm."); it != lists_.end() && it->first.starts_with("algorithm."); ++it) {
      check(it->second.single, it->first, "one value; lists belong under [axes]");
      if (it->second.single) {
        out[it->first] = {it->second.values.front(), it->second.where};
      }
    }
    return out;
  }

  void check_whole(const Grid& grid) {
    if (grid.bases.empty() && grid.scenarios.empty()) {
      problems_.add("{}: sweep.base must name a scenario file, or [[scenario]] tables must; got neither", file_);
    }
    if (grid.bases.empty() && !(grid.axes.empty() && grid.variants.empty())) {
      problems_.add("{}: sweep.base must name the scenario files that [axes] and [[variant]] change, got none", file_);
    }
    for (std::size_t i = 0; i < grid.scenarios.size(); ++i) {
      if (!grid.scenarios[i].base && grid.bases.size() != 1) {
        problems_.add("{}: scenario.{}.base must name a scenario file because sweep.base does not name exactly one",
                      grid.scenarios[i].settings.empty() ? file_ : grid.scenarios[i].settings.begin()->second.where, i);
      }
    }
    if (grid.algorithms_from && !grid.own_algorithms.empty()) {
      problems_.add("{}: sweep.algorithms_from must be left out because the file has [[algorithm]] tables of its own",
                    find("sweep.algorithms_from")->where);
    }
  }

  std::string file_;
  fs::path folder_;
  SettingLists lists_;
  Problems& problems_;
};

}  // namespace

const std::vector<OptionInfo>& sweep_file_keys() {
  static const std::vector<OptionInfo> keys{
      {"sweep.name", "string", {}, "a file name", "what the sweep is called; without it the file's name"},
      {"sweep.base", "list of strings", {}, "files", "scenario files, from this file's folder; one may stand alone"},
      {"sweep.seeds", "list of integers", {}, ">= 0", "seeds of every cell; without it each base's own"},
      {"sweep.algorithms", "list of strings", {}, "labels", "whom to run; without it all that the base has"},
      {"sweep.algorithms_from", "string", {}, "a file", "takes the [[algorithm]] tables of another scenario file"},
      {"axes.KEY", "list", {}, "values of KEY", "every value of a scenario file's key in turn, in every combination"},
      {"variant[].name", "string", {}, "text", "what the keys that change together in this variant are called"},
      {"variant[].algorithms", "list of strings", {}, "labels", "runs only these of the sweep's algorithms"},
      {"variant[].KEY", "one value", {}, "as the key", "sets a key of the scenario file in this variant"},
      {"scenario[].name", "string", {}, "text", "what this one more scenario beside the product is called"},
      {"scenario[].base", "string", {}, "a file", "its scenario file; without it the sweep's, where that is one file"},
      {"scenario[].algorithms", "list of strings", {}, "labels", "runs only these of the sweep's algorithms"},
      {"scenario[].KEY", "one value", {}, "as the key", "sets a key of the scenario file in this scenario"},
      {"algorithm[].KEY", "one value", {}, "as the key", "methods in the place of those that the bases have"},
  };
  return keys;
}

Grid read_grid(const fs::path& file, Problems& problems) {
  return GridReader(file, load_setting_lists(file), problems)(file.stem().string());
}

}  // namespace feroma::detail
