#include "feroma/sweep/cells.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <set>
#include <sstream>

#include "feroma/core/config_identity.h"
#include "feroma/core/error.h"
#include "feroma/core/files.h"
#include "sweep/cell_keys.h"
#include "sweep/grid.h"

namespace feroma {
namespace {

namespace fs = std::filesystem;
using detail::Axis;
using detail::Grid;
using detail::Selection;
using detail::SettingGroup;

constexpr std::size_t kKeyDigits = 16;
constexpr std::string_view kAlgorithm = "algorithm.";
constexpr std::string_view kEverybody = "all";
constexpr const char* kSeed = "scenario.seed";
/// Of one algorithm; more would be a year of work for most machines.
constexpr double kMostCells = 100'000;

/// A scenario of the grid before seeds and algorithms.
struct Point {
  std::string text;
  Settings settings;
  Selection algorithms = {};
};

/// Multiplies a grid out and gathers what is wrong with any cell of it.
class Expansion {
 public:
  Expansion(const Grid& grid, const SweepChanges& changes, Problems& problems)
      : grid_(grid), changes_(changes), problems_(problems) {
    wanted_ = changes.algorithms.empty() ? grid.algorithms : Selection{changes.algorithms, "--algorithms"};
  }

  std::vector<SweepCell> operator()() {
    check_size();
    const std::vector<Point> points = make_points();
    check_selections(points);
    std::vector<std::optional<std::int64_t>> seeds;
    for (const std::int64_t seed : changes_.seeds.empty() ? grid_.seeds : changes_.seeds) {
      seeds.emplace_back(seed);
    }
    if (seeds.empty()) {
      seeds.emplace_back(std::nullopt);
    }
    // Seeds outside: the whole grid is there once before any of it is there twice.
    for (const std::optional<std::int64_t>& seed : seeds) {
      for (const Point& point : points) {
        add_algorithms(point, seed);
      }
    }
    return std::move(cells_);
  }

 private:
  /// Before anything is multiplied out: a slip of the pen must not fill the memory.
  void check_size() const {
    double size = static_cast<double>(grid_.bases.size() * std::max<std::size_t>(grid_.variants.size(), 1));
    for (const Axis& axis : grid_.axes) {
      size *= static_cast<double>(axis.values.values.size());
    }
    const std::size_t seeds = (changes_.seeds.empty() ? grid_.seeds : changes_.seeds).size();
    size = (size + static_cast<double>(grid_.scenarios.size())) * static_cast<double>(std::max<std::size_t>(seeds, 1));
    require(size <= kMostCells, ErrorCode::invalid_config,
            "a sweep must have at most {:.0f} cells of an algorithm, got {:.0f}", kMostCells, size);
  }

  /// Runs `action`; what it refuses becomes problems, each once however many cells have it.
  template <class Action>
  bool gather(const std::string& context, Action action, const std::string& label = "") {
    try {
      action();
      return true;
    } catch (const Error& error) {
      if (error.code() != ErrorCode::invalid_config) {
        throw;
      }
      std::istringstream lines(error.what());
      for (std::string line; std::getline(lines, line);) {
        line = with_label(line, label);
        const bool placed = line.find(".toml") != std::string::npos || line.starts_with("--");
        report(placed ? line : context + ": " + line);
      }
      return false;
    }
  }

  /// A cell has one algorithm, and its number there says nothing to anybody who reads the sweep's files.
  static std::string with_label(std::string line, const std::string& label) {
    const std::string alone = fmt::format("{}0.", kAlgorithm);
    const std::size_t at = label.empty() ? std::string::npos : line.find(alone);
    return at == std::string::npos ? line : line.replace(at, alone.size(), fmt::format("{}{}.", kAlgorithm, label));
  }

  void report(const std::string& line) {
    if (reported_.insert(line).second) {
      problems_.add("{}", line);
    }
  }

  /// The settings of a file, read once; absent where it cannot be read, which is reported.
  const std::optional<Settings>& file(const fs::path& path) {
    const auto [found, is_new] = files_.try_emplace(path.string());
    if (is_new) {
      std::optional<Settings>& settings = found->second;
      gather(path.string(), [&settings, &path] { settings = load_settings(path); });
    }
    return found->second;
  }

  /// A base file by itself, with the sweep's own algorithms where it has some.
  std::optional<Point> start(const fs::path& base) {
    const std::optional<Settings>& given = file(base);
    const std::optional<Settings>& algorithms =
        grid_.algorithms_from ? file(*grid_.algorithms_from) : std::optional(grid_.own_algorithms);
    if (!given || !algorithms) {
      return std::nullopt;
    }
    Point point{base.stem().string(), *given};
    if (grid_.algorithms_from || !algorithms->empty()) {
      std::erase_if(point.settings, [](const auto& entry) { return entry.first.starts_with(kAlgorithm); });
      for (const auto& [key, setting] : *algorithms) {
        if (key.starts_with(kAlgorithm)) {
          point.settings[key] = setting;
        }
      }
    }
    return point;
  }

  std::vector<Point> make_points() {
    std::vector<Point> points;
    for (const fs::path& base : grid_.bases) {
      if (const std::optional<Point> first = start(base)) {
        std::vector<Point> of_base{*first};
        for (const Axis& axis : grid_.axes) {
          of_base = along(of_base, axis);
        }
        of_base = with_variants(of_base);
        points.insert(points.end(), of_base.begin(), of_base.end());
      }
    }
    for (const SettingGroup& scenario : grid_.scenarios) {
      if (!scenario.base && grid_.bases.size() != 1) {
        continue;  // reported by read_grid
      }
      if (const std::optional<Point> first = start(scenario.base ? *scenario.base : grid_.bases.front())) {
        points.push_back(changed(*first, scenario));
      }
    }
    const Settings given = overrides();
    for (Point& point : points) {
      for (const auto& [key, setting] : given) {
        put(point, key, setting);
      }
    }
    return points;
  }

  /// What --set says. Seeds are refused as they are in the grid file: the sweep's own are written over any others.
  Settings overrides() {
    Settings given;
    for (const std::string& assignment : changes_.overrides) {
      gather("--set", [&] { apply_override(given, assignment); });
    }
    if (const auto seed = given.find(kSeed); seed != given.end()) {
      report(fmt::format("--set {} must be left to --seeds (with make reproduce to SEEDS), got {}", kSeed,
                         to_string(seed->second.value)));
      given.erase(seed);
    }
    return given;
  }

  /// Whoever changes an option of an algorithm may call it by its label.
  void put(Point& point, const std::string& key, const Setting& setting) {
    gather(setting.where, [&] { point.settings[numbered_key(point.settings, key)] = setting; });
  }

  std::vector<Point> along(const std::vector<Point>& points, const Axis& axis) {
    std::vector<Point> out;
    for (const Point& point : points) {
      for (const SettingValue& value : axis.values.values) {
        Point next = point;
        put(next, axis.key, {value, axis.values.where});
        // What is the same in all of the grid says nothing of a place in it.
        next.text += axis.values.values.size() > 1 ? fmt::format(" {}={}", axis.key, plain(value)) : "";
        out.push_back(std::move(next));
      }
    }
    return out;
  }

  [[nodiscard]] std::vector<Point> with_variants(const std::vector<Point>& points) {
    if (grid_.variants.empty()) {
      return points;
    }
    std::vector<Point> out;
    for (const Point& point : points) {
      for (const SettingGroup& variant : grid_.variants) {
        out.push_back(changed(point, variant));
      }
    }
    return out;
  }

  Point changed(Point point, const SettingGroup& group) {
    point.algorithms = group.algorithms;
    if (!group.name.empty()) {
      point.text += " " + group.name;
    }
    for (const auto& [key, setting] : group.settings) {
      put(point, key, setting);
      point.text += group.name.empty() ? fmt::format(" {}={}", key, plain(setting.value)) : "";
    }
    return point;
  }

  static std::string plain(const SettingValue& value) {
    const auto* text = std::get_if<std::string>(&value);
    return text != nullptr ? *text : to_string(value);
  }

  static bool selects(const Selection& selection, const std::string& label) {
    const std::vector<std::string>& labels = selection.labels;
    return labels.empty() || std::find(labels.begin(), labels.end(), label) != labels.end() ||
           std::find(labels.begin(), labels.end(), kEverybody) != labels.end();
  }

  void add_algorithms(const Point& point, std::optional<std::int64_t> seed) {
    Settings settings = point.settings;
    if (seed) {
      settings[kSeed] = {*seed, "sweep.seeds"};
    }
    const std::vector<std::string> labels = algorithm_labels(settings);
    if (labels.empty()) {
      gather(point.text, [&] { static_cast<void>(read_experiment(settings)); });
    }
    check_numbers(settings, labels.size());
    for (std::size_t i = 0; i < labels.size(); ++i) {
      // Without a label it is unknown, and reading it says so.
      if (labels[i].empty() || (selects(wanted_, labels[i]) && selects(point.algorithms, labels[i]))) {
        gather(
            point.text, [&] { add(make_cell(read_experiment(only(settings, i, labels[i])), point.text)); }, labels[i]);
      }
    }
  }

  /// A key of an algorithm that is not there would be lost.
  void check_numbers(const Settings& settings, std::size_t count) {
    for (auto it = settings.lower_bound(std::string(kAlgorithm)); it != settings.end(); ++it) {
      const std::string& key = it->first;
      if (!key.starts_with(kAlgorithm)) {
        return;
      }
      std::size_t number = 0;
      const char* end = key.data() + key.size();
      const auto [rest, error] = std::from_chars(key.data() + kAlgorithm.size(), end, number);
      if (error != std::errc() || rest == end || *rest != '.' || number >= count) {
        report(fmt::format("{}: {} must begin with algorithm.N, N from 0 to {}", it->second.where, key,
                           count == 0 ? 0 : count - 1));
      }
    }
  }

  /// The settings with one of the algorithms, which keeps the label that it has among all of them.
  static Settings only(const Settings& settings, std::size_t index, const std::string& label) {
    const std::string prefix = fmt::format("algorithm.{}.", index);
    Settings out;
    for (const auto& [key, setting] : settings) {
      if (key.starts_with(prefix)) {
        out["algorithm.0." + key.substr(prefix.size())] = setting;
      } else if (!key.starts_with(kAlgorithm)) {
        out[key] = setting;
      }
    }
    if (!label.empty()) {
      out["algorithm.0.label"] = {label, "sweep"};
    }
    return out;
  }

  void add(SweepCell cell) {
    if (keys_.insert(cell)) {
      cells_.push_back(std::move(cell));
    }
  }

  /// Whoever asks for an algorithm that is in no file is told which there are; then all of them are looked at.
  void check_selections(const std::vector<Point>& points) {
    for (const Point& point : points) {
      const std::vector<std::string> labels = algorithm_labels(point.settings);
      labels_.insert(labels.begin(), labels.end());
    }
    labels_.erase("");
    if (!check_selection(wanted_)) {
      wanted_ = {};
    }
    for (const std::vector<SettingGroup>* groups : {&grid_.variants, &grid_.scenarios}) {
      for (const SettingGroup& group : *groups) {
        check_selection(group.algorithms);
      }
    }
  }

  bool check_selection(const Selection& selection) {
    bool good = true;
    const std::vector<std::string> known(labels_.begin(), labels_.end());
    std::string list;
    for (const std::string& label : known) {
      list += (list.empty() ? "" : ", ") + label;
    }
    for (const std::string& label : selection.labels) {
      if (label != kEverybody && !labels_.contains(label)) {
        const std::string near = nearest_name(label, known);
        good = false;
        report(fmt::format("{} must name algorithms by their labels ({}), got \"{}\"{}", selection.where, list, label,
                           near.empty() ? "" : fmt::format("; did you mean \"{}\"?", near)));
      }
    }
    return good;
  }

  const Grid& grid_;
  const SweepChanges& changes_;
  Problems& problems_;
  Selection wanted_;
  std::map<std::string, std::optional<Settings>> files_;
  std::set<std::string> reported_;
  std::set<std::string> labels_;
  detail::CellKeys keys_;
  std::vector<SweepCell> cells_;
};

}  // namespace

std::string cell_hash(const Settings& resolved) {
  Settings identity = config_identity().of(resolved);
  for (const char* place : {"scenario.data_dir", "privacy.ledger"}) {
    identity.erase(place);
  }
  const std::string text = to_toml(identity);
  return sha256(std::as_bytes(std::span(text)));
}

std::vector<OptionInfo> sweep_file_options() { return detail::sweep_file_keys(); }

SweepCell make_cell(Experiment experiment, std::string point) {
  SweepCell cell;
  const Settings resolved = experiment.resolved();
  cell.config = to_toml(resolved);
  cell.hash = cell_hash(resolved);
  cell.key = cell.hash.substr(0, kKeyDigits);
  cell.point = std::move(point);
  cell.experiment = std::move(experiment);
  return cell;
}

Sweep read_sweep(const fs::path& file, const SweepChanges& changes) {
  Problems problems;
  const Grid grid = detail::read_grid(file, problems);
  Sweep sweep{grid.name, file, Expansion(grid, changes, problems)()};
  problems.raise();
  require(!sweep.cells.empty(), ErrorCode::invalid_config, "{}: must have at least one cell, got none", file.string());
  return sweep;
}

std::string describe(const SweepCell& cell) {
  const ScenarioOptions& s = cell.experiment.scenario;
  return fmt::format("{} {} {} {}/{} {} seed {}", s.dataset, name_of(s.shift), name_of(s.level), s.drifts, s.rounds,
                     cell.algorithm().label, s.seed);
}

}  // namespace feroma
