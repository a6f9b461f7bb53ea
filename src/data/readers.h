#pragma once

#include <filesystem>

#include "feroma/data/catalog.h"

namespace feroma::detail {

/// The part that is test data where there is no official split.
inline constexpr double kHeldOut = 0.2;

/// Readers of the catalogue: each turns a folder with a dataset's official files into the dataset. Labels, sizes and
/// counts are checked on the way; check_dataset runs after all of them.
using Reader = Dataset (*)(const DatasetEntry& entry, const std::filesystem::path& folder, const LoadOptions& options);

/// Four IDX files: MNIST and its kin.
[[nodiscard]] Dataset read_idx_dataset(const DatasetEntry& entry, const std::filesystem::path& folder,
                                       const LoadOptions& options);
/// EMNIST letters: labels 1..26, pictures stored column by column.
[[nodiscard]] Dataset read_emnist_letters(const DatasetEntry& entry, const std::filesystem::path& folder,
                                          const LoadOptions& options);
/// CIFAR's binary batches; the last file is the test data.
[[nodiscard]] Dataset read_cifar10(const DatasetEntry& entry, const std::filesystem::path& folder,
                                   const LoadOptions& options);
[[nodiscard]] Dataset read_cifar100(const DatasetEntry& entry, const std::filesystem::path& folder,
                                    const LoadOptions& options);
/// UCI-HAR: the official folder of text files, or its npy form.
[[nodiscard]] Dataset read_har(const DatasetEntry& entry, const std::filesystem::path& folder,
                               const LoadOptions& options);
/// A tree DOMAIN/CLASS/picture.
[[nodiscard]] Dataset read_picture_tree(const DatasetEntry& entry, const std::filesystem::path& folder,
                                        const LoadOptions& options);
/// CheXpert-v1.0-small: train.csv and the pictures that it names.
[[nodiscard]] Dataset read_chexpert(const DatasetEntry& entry, const std::filesystem::path& folder,
                                    const LoadOptions& options);
/// NIH ChestX-ray at 64 x 64: x.npy and metadata.csv, row by row.
[[nodiscard]] Dataset read_nih(const DatasetEntry& entry, const std::filesystem::path& folder,
                               const LoadOptions& options);

/// Whether a folder looks like the dataset, for those without a fixed list of files.
[[nodiscard]] bool holds_har(const std::filesystem::path& folder);
[[nodiscard]] bool holds_office_home(const std::filesystem::path& folder);
[[nodiscard]] bool holds_pacs(const std::filesystem::path& folder);
[[nodiscard]] bool holds_chexpert(const std::filesystem::path& folder);
[[nodiscard]] bool holds_nih(const std::filesystem::path& folder);

/// Names of the sub-folders, sorted; hidden ones do not count.
[[nodiscard]] std::vector<std::string> sub_folders(const std::filesystem::path& folder);
/// Pictures of CLASS or DOMAIN/CLASS folders, all of them in one list, resized to image_size.
struct PictureTree {
  Samples samples;
  std::vector<std::string> class_names;
  std::vector<std::string> domain_names;  ///< empty where the tree has no domains
};
[[nodiscard]] PictureTree read_tree(const std::filesystem::path& folder, bool with_domains, int channels,
                                    const LoadOptions& options);

}  // namespace feroma::detail
