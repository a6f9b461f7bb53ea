#include <map>
#include <string>

#include "feroma/core/error.h"
#include "feroma/core/log.h"
#include "feroma/data/own_folder.h"
#include "feroma/data/plain_view.h"
#include "feroma/net/client_data.h"
#include "feroma/partition/pool.h"
#include "feroma/runtime/fingerprint.h"
#include "net/data_versions.h"

namespace feroma {
namespace {

namespace fs = std::filesystem;

/// One version of a client's data, as it was read.
struct Version {
  std::shared_ptr<const Dataset> dataset;  ///< shared only because it is read as such; views borrow from it
  HeldOutSplit split;
};

class FolderData final : public ClientData {
 public:
  FolderData(fs::path folder, const fs::path& state) : folder_(std::move(folder)), versions_(state / "data.versions") {
    look();
  }

  [[nodiscard]] SampleShape shape() const override { return present().dataset->train.shape; }
  [[nodiscard]] int classes() const override { return present().dataset->classes; }
  [[nodiscard]] bool multi_label() const override { return present().dataset->train.multi_label(); }

  [[nodiscard]] ClientShard shard(Round) override {
    look();
    return {window_, 0, view(present(), present().split.train), view(present(), present().split.held_out)};
  }

  void keep_past_windows() override { keeps_past_ = true; }

  void expect_own_scale() override {
    has_own_scale_ = true;
    warn_of_large_inputs(present().dataset->train, folder_);
  }

  void expect_columns(const std::vector<std::string>& columns) override {
    if (columns.empty() || columns == present().dataset->train.columns) {
      names_.columns = columns;
      return;
    }
    names_.columns = columns;
    read_.clear();
    read_if_changed();
  }

  [[nodiscard]] View train_of_window(int window) override {
    const auto found = read_.find(window);
    require(found != read_.end(), ErrorCode::invalid_data,
            "{}: its version {} was not read by this process, or was not kept", folder_.string(), window);
    return view(found->second, found->second.split.train);
  }

 private:
  [[nodiscard]] const Version& present() const { return read_.at(window_); }

  /// Reads the folder where its files are not those that were read last. The first time errors say what is wrong with
  /// the user's settings or data; later somebody may be writing the files, and whatever is wrong with them may be over
  /// when they are looked at again.
  void look() {
    if (read_.empty()) {
      read_if_changed();
      return;
    }
    try {
      read_if_changed();
    } catch (const Error& error) {
      throw Error(ErrorCode::invalid_data, error.what());
    } catch (const std::exception& error) {
      fail(ErrorCode::invalid_data, "{}: {}", folder_.string(), error.what());
    }
  }

  /// Only data that can be used get a number.
  void read_if_changed() {
    const std::string fingerprint = fingerprint_of(folder_);
    if (!read_.empty() && fingerprint == fingerprint_) {
      return;
    }
    Version version;
    version.dataset = read_own_folder(folder_, FolderRole::client, names_);
    require(fingerprint_of(folder_) == fingerprint, ErrorCode::invalid_data,
            "{}: its files changed while they were read", folder_.string());
    const Dataset& dataset = *version.dataset;
    if (!read_.empty()) {
      const Dataset& before = *present().dataset;
      require(dataset.train.shape == before.train.shape && dataset.classes == before.classes, ErrorCode::invalid_data,
              "{}: samples changed their shape or the number of classes while the client ran", folder_.string());
    }
    const int window = versions_.number_of(fingerprint);
    if (!read_.empty()) {
      log::info("{}: new data, {} samples (version {})", folder_.string(), dataset.train.count(), window);
    }
    if (has_own_scale_) {
      warn_of_large_inputs(dataset.train, folder_);
    }
    version.split = split_rows(dataset.train.count(), Rng(0).derive("held_out", static_cast<std::uint64_t>(window)));
    if (!keeps_past_) {
      read_.clear();
    }
    read_[window] = std::move(version);
    window_ = window;
    fingerprint_ = fingerprint;
  }

  static View view(const Version& version, std::span<const std::uint32_t> rows) {
    return plain_view(*version.dataset, rows);
  }

  fs::path folder_;
  net::DataVersions versions_;
  std::map<int, Version> read_;  ///< views borrow from these
  DataNames names_;              ///< the federation's; none where it has not said
  bool keeps_past_ = false;
  bool has_own_scale_ = false;  ///< nobody scales the inputs
  int window_ = 0;
  std::string fingerprint_;  ///< of the files that were read last
};

}  // namespace

std::unique_ptr<ClientData> folder_client_data(const fs::path& folder, const fs::path& state) {
  require(fs::exists(folder), ErrorCode::invalid_config, "a client's data: there is no folder {}", folder.string());
  require(fs::is_directory(folder), ErrorCode::invalid_config, "a client's data must be a folder, got {}",
          folder.string());
  return std::make_unique<FolderData>(folder, state);
}

}  // namespace feroma
