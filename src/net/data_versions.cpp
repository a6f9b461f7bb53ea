#include "net/data_versions.h"

#include <sstream>

#include "core/sealed_text.h"
#include "feroma/core/error.h"
#include "feroma/core/files.h"

namespace feroma::net {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view kVersionsSeal = "# feroma-data-versions 2: ";

}  // namespace

DataVersions::DataVersions(fs::path file) : file_(std::move(file)) {
  if (!fs::exists(file_)) {
    return;
  }
  const std::string text = read_text(file_);
  std::istringstream lines{std::string(detail::below_seal(kVersionsSeal, text))};
  for (std::string line; std::getline(lines, line);) {
    const bool is_digest = line.size() == 64 && line.find_first_not_of("0123456789abcdef") == std::string::npos;
    require(is_digest, ErrorCode::invalid_data, "{}:{}: a version must have 64 hexadecimal digits, got \"{}\"",
            file_.string(), versions_.size() + (text.starts_with(kVersionsSeal) ? 2 : 1), line);
    versions_.push_back(line);
  }
  // A version that is lost gives its number to other data.
  require(
      !versions_.empty() && detail::keeps_seal(kVersionsSeal, versions_.size(), text), ErrorCode::invalid_data,
      "{}: is cut or damaged: {} versions are in it, its first line says otherwise or has another SHA-256; restore it "
      "from a backup",
      file_.string(), versions_.size());
}

int DataVersions::number_of(const std::string& fingerprint) {
  if (versions_.empty() || versions_.back() != fingerprint) {
    std::string text;
    for (const std::string& version : versions_) {
      text += version + "\n";
    }
    text += fingerprint + "\n";
    make_writable_folder(file_.parent_path());
    // A number counts once it is on disk: one that a restart would give to other data must not be used.
    write_file_atomically(file_, detail::sealed(kVersionsSeal, versions_.size() + 1, text));
    versions_.push_back(fingerprint);
  }
  return static_cast<int>(versions_.size()) - 1;
}

}  // namespace feroma::net
