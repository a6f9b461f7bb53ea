#include "feroma/runtime/visitor_ledger.h"

#include <fmt/format.h>

#include "feroma/core/error.h"
#include "feroma/core/files.h"
#include "feroma/runtime/fingerprint.h"

namespace feroma {
namespace {

namespace fs = std::filesystem;

/// Of a version's digest: 52 bits, which every reader of JSON takes as they are.
constexpr std::size_t kVersionDigits = 13;
/// Of a store's digest: as many as a federation's id has.
constexpr std::size_t kStoreDigits = 32;
/// Of a place's digest: enough to tell the data of one client.
constexpr std::size_t kNameDigits = 16;

/// One name for a folder, whatever links and working folders lead to it.
fs::path place_of(const fs::path& folder) {
  std::error_code error;
  const fs::path place = fs::canonical(folder, error);
  require(!error, ErrorCode::io, "{}: cannot be found: {}", folder.string(), error.message());
  return place;
}

std::string digest_of(const Message& message) {
  ArchiveWriter archive;
  for (const auto& [key, value] : message.values) {
    archive.put(std::string_view(key));
    if (const auto* floats = std::get_if<Floats>(&value)) {
      archive.put(*floats);
    } else if (const auto* ints = std::get_if<Ints>(&value)) {
      archive.put(*ints);
    } else {
      archive.put(std::get<ParametersPtr>(value)->values());
    }
  }
  return sha256(archive.bytes());
}

}  // namespace

std::int64_t visitor_version(const fs::path& data) {
  const fs::path place = place_of(data);
  const std::string text = fmt::format("{}\n{}\n", place.string(), fingerprint_of(place));
  return std::stoll(sha256(std::as_bytes(std::span(text))).substr(0, kVersionDigits), nullptr, 16);
}

fs::path visitor_state(const fs::path& data) {
  const fs::path place = place_of(data);
  return place.parent_path() / (place.filename().string() + "-visitor");
}

std::string data_name(const fs::path& data) {
  const std::string place = place_of(data).string();
  return sha256(std::as_bytes(std::span(place))).substr(0, kNameDigits);
}

fs::path witness_file(const fs::path& data, const fs::path& folder) {
  const fs::path place = place_of(data);
  const std::string name = place.filename().string();
  return folder.empty() ? place.parent_path() / (name + "-releases")
                        : folder / fmt::format("{}-{}-releases", name, data_name(data));
}

std::optional<Disclosure> store_disclosure(const OpenedStore& store, const fs::path& state, std::int64_t version,
                                           const fs::path& witness) {
  if (!store.experiment.privacy.guarded()) {
    return std::nullopt;
  }
  const std::string job = "store-" + digest_of(store.algorithm->visitor_question()).substr(0, kStoreDigits);
  return Disclosure(store.experiment.privacy, {state / "ledger", witness}, job, system_entropy(), version);
}

}  // namespace feroma
