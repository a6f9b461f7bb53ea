#include "data/picture_tree.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "data/readers.h"
#include "feroma/core/error.h"
#include "feroma/data/picture.h"
#include "feroma/data/split.h"

namespace feroma::detail {
namespace {

namespace fs = std::filesystem;

bool is_picture_file(const fs::directory_entry& file) {
  return file.is_regular_file() && is_picture_name(file.path()) && !file.path().filename().string().starts_with(".");
}

void append_class_(PictureTree& tree, const fs::path& folder, std::size_t label, std::size_t domain,
                   const LoadOptions& options) {
  const std::vector<fs::path> paths = pictures_in(folder);
  require_pictures(!paths.empty(), folder);
  for (const fs::path& path : paths) {
    append_picture_file_(tree.samples.pixels, path, tree.samples.shape.channels, options.image_size,
                         options.image_size);
    tree.samples.labels.push_back(static_cast<std::int32_t>(label));
    if (!tree.domain_names.empty()) {
      tree.samples.domains.push_back(static_cast<std::int32_t>(domain));
    }
  }
}

bool has_folders(const fs::path& folder, std::initializer_list<std::string_view> names) {
  return std::all_of(names.begin(), names.end(), [&](std::string_view name) {
    std::error_code ignored;
    return fs::is_directory(folder / name, ignored);
  });
}

}  // namespace

std::vector<std::string> sub_folders(const fs::path& folder) {
  std::vector<std::string> names;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    if (entry.is_directory() && !entry.path().filename().string().starts_with(".")) {
      names.push_back(entry.path().filename().string());
    }
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::vector<fs::path> pictures_in(const fs::path& folder) {
  std::vector<fs::path> paths;
  for (const fs::directory_entry& file : fs::directory_iterator(folder)) {
    if (is_picture_file(file)) {
      paths.push_back(file.path());
    }
  }
  std::sort(paths.begin(), paths.end());
  std::set<std::string> stems;
  for (const fs::path& path : paths) {
    require(stems.insert(path.stem().string()).second, ErrorCode::invalid_data,
            "[pictures] {}: file names must differ in more than the suffix, got \"{}\" twice", folder.string(),
            path.stem().string());
  }
  return paths;
}

std::vector<fs::path> pictures_below(const fs::path& folder) {
  std::vector<fs::path> paths;
  for (fs::recursive_directory_iterator it(folder), end; it != end; ++it) {
    if (it->path().filename().string().starts_with(".")) {
      it.disable_recursion_pending();
    } else if (is_picture_file(*it)) {
      paths.push_back(it->path().lexically_relative(folder));
    }
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

void require_pictures(bool any, const fs::path& folder) {
  require(any, ErrorCode::invalid_data, "[pictures] {}: must hold .png or .jpg pictures, got none", folder.string());
}

void require_same_classes(const fs::path& folder, const std::vector<std::string>& domains,
                          const std::vector<std::string>& classes) {
  for (const std::string& domain : domains) {
    const std::vector<std::string> own = sub_folders(folder / domain);
    std::vector<std::string> odd;
    std::set_symmetric_difference(own.begin(), own.end(), classes.begin(), classes.end(), std::back_inserter(odd));
    require(odd.empty(), ErrorCode::invalid_data,
            "[pictures] {}: all domains must have the same classes; \"{}\" and \"{}\" differ in \"{}\"",
            folder.string(), domains.front(), domain, odd.empty() ? "" : odd.front());
  }
}

PictureTree read_tree(const fs::path& folder, bool with_domains, int channels, const LoadOptions& options) {
  const std::vector<std::string> top = sub_folders(folder);
  require(!top.empty(), ErrorCode::invalid_data, "[pictures] {}: must hold folders of pictures, got none",
          folder.string());
  PictureTree tree;
  tree.samples.shape = {.channels = channels, .height = options.image_size, .width = options.image_size};
  tree.class_names = with_domains ? sub_folders(folder / top.front()) : top;
  const std::vector<std::string> domains = with_domains ? top : std::vector<std::string>{"."};
  if (with_domains) {
    require_same_classes(folder, domains, tree.class_names);
    tree.domain_names = domains;
  }
  if (options.first_classes > 0 && static_cast<std::size_t>(options.first_classes) < tree.class_names.size()) {
    tree.class_names.resize(static_cast<std::size_t>(options.first_classes));
  }
  require(tree.class_names.size() >= 2, ErrorCode::invalid_data,
          "[pictures] {}: must have at least two classes, got {}", (folder / domains.front()).string(),
          tree.class_names.size());
  for (std::size_t d = 0; d < domains.size(); ++d) {
    for (std::size_t c = 0; c < tree.class_names.size(); ++c) {
      append_class_(tree, folder / domains[d] / tree.class_names[c], c, d, options);
    }
  }
  return tree;
}

Dataset read_picture_tree(const DatasetEntry& entry, const fs::path& folder, const LoadOptions& options) {
  PictureTree tree = read_tree(folder, /*with_domains=*/true, entry.shape.channels, options);
  require(options.first_classes > 0 || tree.class_names.size() == static_cast<std::size_t>(entry.classes),
          ErrorCode::invalid_data, "[pictures] {}: {} must have {} classes, got {}", folder.string(), entry.name,
          entry.classes, tree.class_names.size());
  Dataset dataset;
  dataset.name = entry.name;
  dataset.classes = static_cast<int>(tree.class_names.size());
  dataset.class_names = std::move(tree.class_names);
  dataset.domain_names = std::move(tree.domain_names);
  split_(dataset, tree.samples, SplitRule::group, kHeldOut);
  return dataset;
}

bool holds_office_home(const fs::path& folder) {
  return has_folders(folder, {"Art", "Clipart", "Product", "Real World"}) ||
         has_folders(folder, {"Art", "Clipart", "Product", "RealWorld"});
}

bool holds_pacs(const fs::path& folder) { return has_folders(folder, {"art_painting", "cartoon", "photo", "sketch"}); }

}  // namespace feroma::detail
