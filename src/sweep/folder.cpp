#include "feroma/sweep/folder.h"

#include <fcntl.h>
#include <fmt/core.h>

#include <set>

#include "core/posix_file.h"
#include "feroma/core/error.h"
#include "feroma/core/files.h"
#include "feroma/core/log.h"
#include "feroma/report/summary.h"

namespace feroma {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kFailed = ".failed.toml";
constexpr const char* kReason = "failure.reason";

fs::path note_path(const fs::path& out, const std::string& key) { return out / "cells" / (key + std::string(kFailed)); }

std::string text_at(const Settings& settings, const std::string& key) {
  const auto found = settings.find(key);
  const auto* text = found == settings.end() ? nullptr : std::get_if<std::string>(&found->second.value);
  return text == nullptr ? "" : *text;
}

/// The text as a config file can hold it: a message may quote bytes that are no UTF-8.
std::string printable(std::string text) {
  for (char& c : text) {
    c = static_cast<unsigned char>(c) < 0x80 ? c : '?';
  }
  return text;
}

bool is_key(std::string_view name) {
  return name.size() == 16 && name.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

/// Reads what a run directory has; it is the cell's own only if its config says so.
void read_run(const fs::path& folder, CellRecord& cell) {
  const std::optional<RunTimes> times = run_times(folder);
  if (!times) {
    const std::optional<std::string> damage = damage_of_run(folder);
    require(!damage, ErrorCode::invalid_data, "{}", damage.value_or(""));
    return;
  }
  cell.config = load_settings(folder / "config.toml");
  cell.hash = cell_hash(config_as_asked(folder));
  require(cell.hash.starts_with(cell.key), ErrorCode::invalid_data,
          "{}: config.toml must be the one that the folder is named after, and it is not", folder.string());
  cell.times = *times;
  cell.state = CellState::interrupted;
  if (times->ended) {
    const Summary summary = read_summary(folder / "summary.json");
    require(summary.results.size() == 1, ErrorCode::invalid_data, "{}: must have one result, got {}",
            (folder / "summary.json").string(), summary.results.size());
    cell.result = summary.results.front();
    cell.state = CellState::done;
  }
}

/// The instruction sets that give an experiment's bits, its own first. One that was asked for is that and no other, and
/// libtorch's bits are not ours to promise.
std::vector<SimdTarget> targets_of(const Experiment& experiment) {
  const SimdTarget own = experiment.simd();
  std::vector<SimdTarget> targets{own};
  if (experiment.training.simd != SimdTarget::automatic || experiment.engine() == EngineKind::torch) {
    return targets;
  }
  for (const auto& [target, name] : enum_names(SimdTarget{})) {
    if (target != SimdTarget::automatic && target != own && has_fused_products(target) == has_fused_products(own)) {
      targets.push_back(target);
    }
  }
  return targets;
}

/// The cell as other machines have it whose instruction sets give the same bits.
std::vector<SweepCell> twins_of(const SweepCell& cell) {
  std::vector<SweepCell> twins;
  for (const SimdTarget target : targets_of(cell.experiment)) {
    Experiment experiment = cell.experiment;
    experiment.training.simd = target;
    twins.push_back(make_cell(std::move(experiment), cell.point));
  }
  std::erase_if(twins, [&cell](const SweepCell& twin) { return twin.key == cell.key; });
  return twins;
}

/// The names in a folder that end so, without the ending.
std::set<std::string> stems(const fs::path& folder, std::string_view ending) {
  std::set<std::string> out;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    const std::string name = it->path().filename().string();
    if (name.ends_with(ending) && !is_unfinished_write(name)) {
      out.insert(name.substr(0, name.size() - ending.size()));
    }
  }
  require(!error || error == std::errc::no_such_file_or_directory, ErrorCode::io, "{}: cannot list the folder: {}",
          folder.string(), error.message());
  return out;
}

/// The list of a sweep. Of a damaged one there is a warning, which begins with what becomes of it: it must not keep
/// other sweeps out of the folder.
std::optional<Settings> read_list(const fs::path& file, std::string_view consequence) {
  try {
    return load_settings(file);
  } catch (const Error& error) {
    log::warning("{}: {}", consequence, error.what());
    return std::nullopt;
  }
}

}  // namespace

std::string why_not_applicable(const std::optional<ResultRecord>& result) {
  return result ? result->not_applicable.value_or("") : "";
}

fs::path cell_folder(const fs::path& out, const std::string& key) { return out / "cells" / key; }

CellRecord read_cell(const fs::path& out, const std::string& key) {
  CellRecord cell{.key = key};
  read_run(cell_folder(out, key), cell);
  const fs::path note = note_path(out, key);
  if (cell.state != CellState::done && fs::exists(note)) {
    Settings settings = load_settings(note);
    cell.state = CellState::failed;
    cell.reason = text_at(settings, kReason);
    settings.erase(kReason);
    cell.config = std::move(settings);
    if (std::string hash = cell_hash(cell.config); hash.starts_with(key)) {  // else somebody edited the note
      cell.hash = std::move(hash);
    }
  }
  return cell;
}

CellRecord look_at_cell(const fs::path& out, const SweepCell& cell) {
  CellRecord record{.key = cell.key};
  try {
    record = read_cell(out, cell.key);
  } catch (const Error& error) {
    record.state = CellState::failed;
    record.reason = error.what();
  }
  require(record.hash.empty() || record.hash == cell.hash, ErrorCode::invalid_config,
          "--out {}: holds another cell with the key {} of {}: its hash is {}, not {}; use another folder",
          out.string(), cell.key, describe(cell), record.hash, cell.hash);
  return record;
}

Sweep with_finished_elsewhere(Sweep sweep, const fs::path& out) {
  std::set<std::string> keys;
  for (const SweepCell& cell : sweep.cells) {
    keys.insert(cell.key);
  }
  for (SweepCell& cell : sweep.cells) {
    if (look_at_cell(out, cell).state == CellState::done) {
      continue;
    }
    for (SweepCell& twin : twins_of(cell)) {
      if (!keys.contains(twin.key) && look_at_cell(out, twin).state == CellState::done) {
        cell = std::move(twin);
        break;
      }
    }
  }
  return sweep;
}

std::vector<CellRecord> read_cells(const fs::path& out) {
  std::set<std::string> keys = stems(out / "cells", "");
  std::erase_if(keys, [](const std::string& name) { return !is_key(name); });
  for (const std::string& key : stems(out / "cells", kFailed)) {
    if (is_key(key)) {
      keys.insert(key);
    }
  }
  std::vector<CellRecord> cells;
  for (const std::string& key : keys) {
    try {
      CellRecord cell = read_cell(out, key);
      if (cell.state != CellState::pending) {
        cells.push_back(std::move(cell));
      }
    } catch (const Error& error) {
      // One damaged cell must not hide the others; whoever asks for it is told again.
      log::warning("left out of the results: {}", error.what());
    }
  }
  return cells;
}

std::vector<SweepList> read_sweep_lists(const fs::path& out) {
  constexpr std::string_view kPrefix = "cell.";
  std::vector<SweepList> lists;
  for (const std::string& name : stems(out / "sweeps", ".toml")) {
    const std::optional<Settings> settings = read_list(out / "sweeps" / (name + ".toml"), "left out of the results");
    if (!settings) {
      continue;
    }
    SweepList& list = lists.emplace_back(SweepList{name, {}});
    for (const auto& [key, setting] : *settings) {
      if (key.starts_with(kPrefix)) {
        list.points[key.substr(kPrefix.size())] = text_at(*settings, key);
      }
    }
  }
  return lists;
}

struct SweepFolder::Lock {
  detail::PosixFile file;
};

void check_sweep_folder(const fs::path& out) {
  std::error_code error;
  const bool is_sweep = fs::is_directory(out / "cells", error);
  require(is_sweep || !fs::exists(out, error) || (fs::is_directory(out, error) && fs::is_empty(out, error)),
          ErrorCode::invalid_config,
          "--out {}: must be a new or empty folder or that of a sweep, and it is none of them", out.string());
}

SweepFolder::SweepFolder(fs::path path) : path_(std::move(path)) {
  check_sweep_folder(path_);
  make_writable_folder(path_);
  lock_ = std::make_unique<Lock>(Lock{detail::PosixFile(path_, O_RDONLY | O_DIRECTORY)});
  require(lock_->file.try_lock(), ErrorCode::invalid_config, "--out {}: another sweep is running in this folder",
          path_.string());
  make_writable_folder(path_ / "cells");
  make_writable_folder(path_ / "sweeps");
  for (const fs::path& folder : {path_, path_ / "cells", path_ / "sweeps"}) {
    remove_unfinished_writes(folder);
  }
}

SweepFolder::~SweepFolder() = default;

void SweepFolder::remember(const Sweep& sweep) const {
  const fs::path file = path_ / "sweeps" / (sweep.name + ".toml");
  // An earlier call may have asked for other seeds or algorithms: what it ran belongs to the sweep all the same.
  Settings settings = fs::exists(file) ? read_list(file, "begun again").value_or(Settings()) : Settings();
  settings["sweep.file"] = {sweep.file.string(), "sweep"};
  for (const SweepCell& cell : sweep.cells) {
    settings["cell." + cell.key] = {cell.point, "sweep"};
  }
  write_file_atomically(file, to_toml(settings));
}

void SweepFolder::note_failure(const SweepCell& cell, const std::string& reason) const {
  Settings settings = cell.experiment.resolved();
  settings[kReason] = {printable(reason), "sweep"};
  write_file_atomically(note_path(path_, cell.key), to_toml(settings));
}

void SweepFolder::forget_failure(const std::string& key) const { fs::remove(note_path(path_, key)); }

}  // namespace feroma
