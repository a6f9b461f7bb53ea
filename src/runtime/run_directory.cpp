#include "feroma/runtime/run_directory.h"

#include <fcntl.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <nlohmann/json.hpp>

#include "core/posix_file.h"
#include "feroma/core/build_info.h"
#include "feroma/core/config_identity.h"
#include "feroma/core/files.h"
#include "feroma/core/simd.h"
#include "feroma/report/schema.h"
#include "report/record_json.h"

namespace feroma {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr std::string_view kEngineNames[] = {"native", "torch"};

/// Everything a run writes; `--overwrite` removes these and nothing else. What makes a run look finished goes first and
/// what makes it a run last, so that a kill in between leaves something that can be overwritten again.
constexpr std::string_view kRunFiles[] = {
    "summary.json", "report.html", "store.db", "store.db-journal", "metrics.csv", "clients.csv",   "events.jsonl",
    "mixing",       "profiles",    "models",   "ledgers",          "checkpoint",  "manifest.json", "config.toml"};

std::string now_utc() {
  const std::time_t now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  std::tm utc{};
  gmtime_r(&now, &utc);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &utc);
  return text;
}

/// Of a key that gave way twice the first value counts.
void add_list(Json& manifest, const char* list, const std::vector<AdaptedDefault>& adapted) {
  for (const AdaptedDefault& one : adapted) {
    manifest[list].emplace(one.key, to_string(one.was));
  }
}

Json describe(const Experiment& experiment, int threads) {
  const BuildInfo build = build_info();
  Json manifest = {{"schema", kManifestSchema},
                   {"version", build.version},
                   {"commit", build.commit},
                   {"compiler", build.compiler},
                   {"cpu_features", cpu_features()},
                   {"simd", name_of(experiment.simd())},
                   {"engine", kEngineNames[static_cast<std::size_t>(experiment.engine())]},
                   {"threads", threads},
                   {"seeds", {experiment.scenario.seed}}};
  add_list(manifest, detail::kAdaptedList, experiment.adapted);
  add_list(manifest, detail::kFittedList, experiment.fitted);
  return manifest;
}

/// What the config has in the place of defaults that could not work, as comments.
std::string notes_of(const Experiment& experiment) {
  std::string text;
  for (const AdaptedDefault& one : experiment.all_adapted()) {
    text += fmt::format("# {}\n", one.text());
  }
  return text.empty() ? "" : "# Nobody wrote these keys, and their defaults gave way:\n" + text + "\n";
}

/// A manifest as it lies there; anything but an object is damage.
Json parse_manifest(const fs::path& path) {
  return Json::parse(read_text(path / "manifest.json"), nullptr, /*allow_exceptions=*/false);
}

Json read_manifest(const fs::path& path) {
  const Json manifest = parse_manifest(path);
  require(manifest.is_object(), ErrorCode::invalid_data, "{}: must be a JSON object",
          (path / "manifest.json").string());
  detail::check_schema(manifest, kManifestSchema, (path / "manifest.json").string());
  return manifest;
}

bool holds_a_run(const fs::path& path) {
  return fs::exists(path / "config.toml") && fs::exists(path / "manifest.json");
}

/// Another version of the program may go on with a run: what it does otherwise is seen from the config.
void check_same_engine(const fs::path& path, const Json& now) {
  const Json then = read_manifest(path);
  for (const char* key : {"engine", "simd"}) {
    require(then.contains(key) && then[key] == now[key], ErrorCode::invalid_config,
            "{}: --resume needs the same {}, the run has {}, this is {}", path.string(), key,
            then.value(key, Json()).dump(), now[key].dump());
  }
}

}  // namespace

std::optional<RunTimes> run_times(const fs::path& folder) {
  if (!holds_a_run(folder)) {
    return std::nullopt;
  }
  const Json manifest = read_manifest(folder);
  RunTimes times;
  const auto text = [&](const char* key) {
    const auto found = manifest.find(key);
    return found != manifest.end() && found->is_string() ? std::optional(found->get<std::string>()) : std::nullopt;
  };
  times.started = text("started").value_or("");
  times.ended = text("ended");
  return times;
}

std::optional<std::string> damage_of_run(const fs::path& folder) {
  if (!holds_a_run(folder)) {
    // Results are written last: where they are, something was lost, and nothing was merely stopped early.
    return fs::exists(folder / "summary.json")
               ? std::optional(fmt::format("{}: must have config.toml and manifest.json beside summary.json, and lacks "
                                           "one of them",
                                           folder.string()))
               : std::nullopt;
  }
  if (!parse_manifest(folder).is_object()) {
    return fmt::format("{}: must be a JSON object", (folder / "manifest.json").string());
  }
  const fs::path config = folder / "config.toml";
  const std::string text = read_text(config);  // a disk that fails is no damage
  try {
    static_cast<void>(parse_settings(text, config.string()));
  } catch (const Error& error) {
    return error.what();
  }
  return std::nullopt;
}

std::optional<std::string> foreign_file(const fs::path& folder) {
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    const bool known = std::find(std::begin(kRunFiles), std::end(kRunFiles), name) != std::end(kRunFiles);
    if (!known && !is_unfinished_write(name)) {
      return name;
    }
  }
  return std::nullopt;
}

void check_run_folder(const fs::path& folder) {
  if (fs::exists(folder) && !holds_a_run(folder)) {
    require(fs::is_directory(folder) && !foreign_file(folder), ErrorCode::invalid_config,
            "--out {}: must be a new or empty folder or an earlier run, and it is none of them", folder.string());
  }
}

void check_place(const fs::path& folder, Existing existing) {
  check_run_folder(folder);
  const bool is_run = holds_a_run(folder);
  require(!is_run || existing != Existing::refuse, ErrorCode::invalid_config,
          "--out {}: a run is already there; use --resume to go on with it or --overwrite to replace it",
          folder.string());
  require(is_run || existing != Existing::resume, ErrorCode::invalid_config, "--resume {}: there is no run to resume",
          folder.string());
  // A run that is refused later leaves no folder behind.
  fs::path there = fs::absolute(folder).lexically_normal();
  while (!fs::exists(there) && there.has_relative_path()) {
    there = there.parent_path();
  }
  make_writable_folder(there);
}

Settings config_as_asked(const fs::path& folder) {
  Settings settings = load_settings(folder / "config.toml");
  detail::undo_adapted(settings, parse_manifest(folder), detail::kFittedList);
  return settings;
}

struct RunDirectory::Lock {
  detail::PosixFile file;
};

RunDirectory::RunDirectory(fs::path path, Existing existing, const Experiment& experiment, int threads)
    : path_(std::move(path)) {
  const std::string config = to_toml(experiment.written());
  const Json description = describe(experiment, threads);
  check_place(path_, existing);
  make_writable_folder(path_);
  take_lock();
  remove_unfinished_writes(path_);
  started_ = now_utc();
  manifest_ = description.dump();
  if (existing == Existing::resume) {
    const std::string changes = config_identity().changes(load_settings(path_ / "config.toml"), experiment.resolved());
    require(changes.empty(), ErrorCode::invalid_config, "--resume {}: the config differs: {}", path_.string(), changes);
    check_same_engine(path_, description);
    const Json then = read_manifest(path_);
    Json now = description;
    for (const char* list : {detail::kAdaptedList, detail::kFittedList}) {
      if (then.contains(list)) {  // whoever goes on with the stored config has written every key
        now[list] = then[list];
      }
    }
    manifest_ = now.dump();
    const Json started = then.value("started", Json());
    started_ = started.is_string() ? started.get<std::string>() : started_;
    resuming_ = true;
    return;
  }
  for (const std::string_view name : kRunFiles) {
    fs::remove_all(path_ / name);
  }
  write_file_atomically(path_ / "config.toml", notes_of(experiment) + config);
  write_manifest(started_, "");
}

RunDirectory::~RunDirectory() = default;

void RunDirectory::take_lock() {
  lock_ = std::make_unique<Lock>(Lock{detail::PosixFile(path_, O_RDONLY | O_DIRECTORY)});
  require(lock_->file.try_lock(), ErrorCode::invalid_config, "{}: another process is writing this run", path_.string());
}

void RunDirectory::write_manifest(const std::string& started, const std::string& ended) const {
  Json manifest = Json::parse(manifest_);
  manifest["started"] = started;
  manifest["ended"] = ended.empty() ? Json(nullptr) : Json(ended);
  write_file_atomically(path_ / "manifest.json", manifest.dump(2) + "\n");
}

void RunDirectory::finish() { write_manifest(started_, now_utc()); }

}  // namespace feroma
