#include "data/readers.h"

#include "feroma/core/error.h"
#include "feroma/core/files.h"
#include "feroma/data/cifar.h"
#include "feroma/data/idx.h"

namespace feroma::detail {
namespace {

namespace fs = std::filesystem;

Dataset named(const DatasetEntry& entry) {
  Dataset dataset;
  dataset.name = entry.name;
  dataset.classes = entry.classes;
  return dataset;
}

/// Swaps rows and columns of every picture, which are square.
void transpose_(Samples& samples) {
  const auto side = static_cast<std::size_t>(samples.shape.width);
  for (std::size_t first = 0; first < samples.pixels.size(); first += side * side) {
    for (std::size_t row = 0; row < side; ++row) {
      for (std::size_t column = 0; column < row; ++column) {
        std::swap(samples.pixels[first + row * side + column], samples.pixels[first + column * side + row]);
      }
    }
  }
}

/// Classes 1..26 become 0..25.
void count_from_zero_(Samples& samples, const fs::path& labels) {
  constexpr std::size_t kLabelHeader = 8;
  for (std::size_t i = 0; i < samples.count(); ++i) {
    require(samples.labels[i] >= 1, ErrorCode::invalid_data, "[idx] {}: labels must be in 1..26, got 0 at offset {}",
            labels.string(), kLabelHeader + i);
    --samples.labels[i];
  }
}

Dataset read_cifar(const DatasetEntry& entry, const fs::path& folder, CifarLayout layout) {
  Dataset dataset = named(entry);
  const std::vector<fs::path> paths = dataset_paths(entry, folder);
  for (const fs::path& path : paths) {
    append_cifar_(path == paths.back() ? dataset.test : dataset.train, read_file(path), path.string(), layout);
  }
  return dataset;
}

}  // namespace

Dataset read_idx_dataset(const DatasetEntry& entry, const fs::path& folder, const LoadOptions& /*options*/) {
  Dataset dataset = named(entry);
  const std::vector<fs::path> paths = dataset_paths(entry, folder);
  dataset.train = read_idx_samples(paths[0], paths[1], entry.shape, entry.classes);
  dataset.test = read_idx_samples(paths[2], paths[3], entry.shape, entry.classes);
  return dataset;
}

Dataset read_emnist_letters(const DatasetEntry& entry, const fs::path& folder, const LoadOptions& /*options*/) {
  Dataset dataset = named(entry);
  const std::vector<fs::path> paths = dataset_paths(entry, folder);
  dataset.train = read_idx_samples(paths[0], paths[1], entry.shape, entry.classes + 1);
  dataset.test = read_idx_samples(paths[2], paths[3], entry.shape, entry.classes + 1);
  count_from_zero_(dataset.train, paths[1]);
  count_from_zero_(dataset.test, paths[3]);
  transpose_(dataset.train);
  transpose_(dataset.test);
  for (char letter = 'a'; letter <= 'z'; ++letter) {
    dataset.class_names.emplace_back(1, letter);
  }
  return dataset;
}

Dataset read_cifar10(const DatasetEntry& entry, const fs::path& folder, const LoadOptions& /*options*/) {
  Dataset dataset = read_cifar(entry, folder, kCifar10);
  dataset.class_names = {"airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck"};
  return dataset;
}

Dataset read_cifar100(const DatasetEntry& entry, const fs::path& folder, const LoadOptions& /*options*/) {
  return read_cifar(entry, folder, kCifar100);
}

}  // namespace feroma::detail
