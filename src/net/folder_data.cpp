#include <algorithm>
#include <map>

#include "feroma/core/error.h"
#include "feroma/core/log.h"
#include "feroma/data/catalog.h"
#include "feroma/net/client_data.h"
#include "feroma/partition/pool.h"
#include "net/data_versions.h"

namespace feroma {
namespace {

namespace fs = std::filesystem;

/// One version of a client's data, as it was read.
struct Version {
  std::shared_ptr<const Dataset> dataset;
  std::shared_ptr<const std::vector<Recipe>> recipes;
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

  [[nodiscard]] View train_of_window(int window) override {
    const auto found = read_.find(window);
    require(found != read_.end(), ErrorCode::invalid_data, "{}: its version {} was not read by this process",
            folder_.string(), window);
    return view(found->second, found->second.split.train);
  }

 private:
  [[nodiscard]] const Version& present() const { return read_.at(window_); }

  /// Reads the folder where its files are not those that were read last.
  void look() {
    const int window = versions_.number_of(net::fingerprint_of(folder_));
    if (read_.contains(window)) {
      window_ = window;
      return;
    }
    Version version;
    version.dataset = load_dataset(folder_.string() + "/", {});
    const Dataset& dataset = *version.dataset;
    require(dataset.train.count() > 0, ErrorCode::invalid_data, "{}: has no training samples", folder_.string());
    if (!read_.empty()) {
      const Dataset& before = *read_.begin()->second.dataset;
      require(dataset.train.shape == before.train.shape && dataset.classes == before.classes, ErrorCode::invalid_data,
              "{}: samples changed their shape or the number of classes while the client ran", folder_.string());
      log::info("{}: new data, {} training samples (version {})", folder_.string(), dataset.train.count(), window);
    }
    Recipe as_it_is{std::vector<Transform>(static_cast<std::size_t>(dataset.classes)), {}};
    for (int label = 0; label < dataset.classes; ++label) {
      as_it_is.label_of_class.push_back(label);
    }
    version.recipes = std::make_shared<const std::vector<Recipe>>(1, std::move(as_it_is));
    version.split = split_rows(dataset.train.count(), Rng(0).derive("held_out", static_cast<std::uint64_t>(window)));
    read_[window] = std::move(version);
    window_ = window;
  }

  static View view(const Version& version, std::span<const std::uint32_t> rows) {
    View view;
    view.samples = &version.dataset->train;
    view.recipes = *version.recipes;
    view.kept_recipes = version.recipes;
    view.shape = version.dataset->train.shape;
    for (const std::uint32_t row : rows) {
      view.items.push_back({row, 0});
    }
    return view;
  }

  fs::path folder_;
  net::DataVersions versions_;
  std::map<int, Version> read_;  ///< views borrow from these
  int window_ = 0;
};

}  // namespace

std::unique_ptr<ClientData> folder_client_data(const fs::path& folder, const fs::path& state) {
  require(fs::is_directory(folder), ErrorCode::invalid_config, "a client's data must be a folder, got {}",
          folder.string());
  return std::make_unique<FolderData>(folder, state);
}

}  // namespace feroma
