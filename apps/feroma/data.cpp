#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "commands.h"
#include "feroma/core/error.h"
#include "feroma/data/catalog.h"

namespace feroma::cli {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

/// What the command line of one `data` subcommand gave.
struct DataOptions {
  std::string name;
  std::string folder;
  Format format = Format::text;
};

std::string shape_text(SampleShape shape) { return fmt::format("{}x{}x{}", shape.channels, shape.height, shape.width); }

Json describe(const DatasetEntry& entry, const fs::path& location) {
  Json json;
  json["name"] = entry.name;
  json["title"] = entry.title;
  json["shape"] = {entry.shape.channels, entry.shape.height, entry.shape.width};
  json["classes"] = entry.classes;
  json["source"] = entry.source;
  json["terms"] = entry.terms;
  json["location"] = location.empty() ? Json(nullptr) : Json(location.string());
  return json;
}

void list_datasets(Format format) {
  Json rows = Json::array();
  std::string text = fmt::format("{:<15} {:<34} {:<9} {:>7}  {}\n", "name", "title", "shape", "classes", "location");
  for (const DatasetEntry& entry : known_datasets()) {
    const fs::path location = locate_dataset(entry, "");
    rows.push_back(describe(entry, location));
    text +=
        fmt::format("{:<15} {:<34} {:<9} {:>7}  {}\n", entry.name, entry.title, shape_text(entry.shape), entry.classes,
                    location.empty() ? fmt::format("absent ({})", how_to_get(entry)) : location.string());
  }
  fmt::print("{}", format == Format::json ? rows.dump(2) + "\n" : text);
}

void get_dataset(const DataOptions& options) {
  const fs::path folder = fetch_dataset(
      options.name, [](std::string_view message) { fmt::print(stderr, "{}\n", message); }, options.folder);
  if (options.format == Format::json) {
    fmt::print("{}\n", describe(find_dataset(options.name), folder).dump(2));
  } else {
    fmt::print("{} is in {}\n", options.name, folder.string());
  }
}

/// Samples of each class; with several labels per sample, those that have the label.
std::vector<int> class_counts(const Samples& samples, int classes) {
  std::vector<int> counts(static_cast<std::size_t>(classes), 0);
  for (std::size_t i = 0; i < samples.targets.size(); ++i) {
    counts[i % counts.size()] += samples.targets[i];
  }
  if (!samples.multi_label()) {
    for (const std::int32_t label : samples.labels) {
      ++counts[static_cast<std::size_t>(label)];
    }
  }
  return counts;
}

std::vector<int> domain_counts(const Samples& samples, std::size_t domains) {
  std::vector<int> counts(domains, 0);
  for (const std::int32_t domain : samples.domains) {
    ++counts[static_cast<std::size_t>(domain)];
  }
  return counts;
}

/// One line per class or domain, by name where there is one.
void print_counts(std::string_view what, const std::vector<std::string>& names, const std::vector<int>& train,
                  const std::vector<int>& test) {
  std::size_t width = what.size();
  for (const std::string& name : names) {
    width = std::max(width, name.size());
  }
  fmt::print("{:<{}} {:>8} {:>8}\n", what, width, "train", "test");
  for (std::size_t i = 0; i < train.size(); ++i) {
    fmt::print("{:<{}} {:>8} {:>8}\n", names.empty() ? std::to_string(i) : names[i], width, train[i], test[i]);
  }
}

void print_dataset(const Dataset& dataset) {
  print_counts("class", dataset.class_names, class_counts(dataset.train, dataset.classes),
               class_counts(dataset.test, dataset.classes));
  fmt::print("all samples: {} train, {} test\n", dataset.train.count(), dataset.test.count());
  if (!dataset.domain_names.empty()) {
    fmt::print("\n");
    print_counts("domain", dataset.domain_names, domain_counts(dataset.train, dataset.domain_names.size()),
                 domain_counts(dataset.test, dataset.domain_names.size()));
  }
}

/// Whether every file has a published checksum.
bool has_checksums(const DatasetEntry& entry) {
  return !entry.files.empty() && std::all_of(entry.files.begin(), entry.files.end(), [](const DatasetFile& file) {
    return !file.sha256.empty() || !file.md5.empty();
  });
}

void print_info(const DatasetEntry& entry, const Dataset& dataset, const fs::path& location,
                const std::vector<std::string>& altered) {
  fmt::print("{} ({})\n", entry.title, entry.name);
  fmt::print("  source    {}\n  terms     {}\n  location  {}\n", entry.source, entry.terms, location.string());
  fmt::print("  shape     {}, {} classes\n", shape_text(dataset.train.shape), dataset.classes);
  fmt::print("  checksums {}\n\n", !has_checksums(entry) ? "none published; format and counts checked"
                                   : altered.empty()     ? "verified"
                                                         : fmt::format("differ: {}", fmt::join(altered, ", ")));
  print_dataset(dataset);
}

Json describe_counts(const Dataset& dataset, const Samples& samples) {
  Json json{{"samples", samples.count()}, {"per_class", class_counts(samples, dataset.classes)}};
  if (!dataset.domain_names.empty()) {
    json["per_domain"] = domain_counts(samples, dataset.domain_names.size());
  }
  return json;
}

/// A user's own folder: what was read from it, for there is nothing official to compare it with.
void show_own_info(const DataOptions& options) {
  const std::shared_ptr<const Dataset> dataset = load_dataset(options.name, "");
  const SampleShape shape = dataset->train.shape;
  if (options.format == Format::text) {
    fmt::print("{}\n  location  {}\n  shape     {}, {} classes{}\n\n", dataset->name, options.name, shape_text(shape),
               dataset->classes, dataset->train.multi_label() ? ", several per sample" : "");
    print_dataset(*dataset);
    return;
  }
  Json json{{"name", dataset->name},
            {"shape", {shape.channels, shape.height, shape.width}},
            {"classes", dataset->classes},
            {"class_names", dataset->class_names},
            {"domain_names", dataset->domain_names},
            {"location", options.name}};
  json["train"] = describe_counts(*dataset, dataset->train);
  json["test"] = describe_counts(*dataset, dataset->test);
  fmt::print("{}\n", json.dump(2));
}

void show_info(const DataOptions& options) {
  if (is_own_dataset(options.name)) {
    show_own_info(options);
    return;
  }
  const DatasetEntry& entry = find_dataset(options.name);
  const std::shared_ptr<const Dataset> dataset = load_dataset(options.name, options.folder);
  const fs::path location = locate_dataset(entry, options.folder);
  const std::vector<std::string> altered = altered_files(entry, location);
  if (options.format == Format::text) {
    print_info(entry, *dataset, location, altered);
    return;
  }
  Json json = describe(entry, location);
  json["verified"] = has_checksums(entry) && altered.empty();
  json["altered_files"] = altered;
  json["domain_names"] = dataset->domain_names;
  json["train"] = describe_counts(*dataset, dataset->train);
  json["test"] = describe_counts(*dataset, dataset->test);
  fmt::print("{}\n", json.dump(2));
}

/// Adds a subcommand whose options live as long as its callback.
template <class Work>
CLI::App* add_subcommand(CLI::App& parent, const std::string& name, const std::string& help, const std::string& example,
                         const std::shared_ptr<DataOptions>& options, Work work) {
  CLI::App* command = parent.add_subcommand(name, help);
  command->footer("Example:\n  " + example);
  add_format_option(*command, options->format);
  command->callback([options, work] { work(*options); });
  return command;
}

}  // namespace

void add_data_command(CLI::App& app) {
  CLI::App* data = app.add_subcommand("data", "datasets: what exists, fetch and verify, describe, preview");
  data->require_subcommand(1);
  data->footer("Example:\n  feroma data get mnist");

  add_subcommand(*data, "list", "every dataset this build knows and where it is", "feroma data list --format json",
                 std::make_shared<DataOptions>(), [](const DataOptions& options) { list_datasets(options.format); });

  const auto get = std::make_shared<DataOptions>();
  CLI::App* get_command = add_subcommand(*data, "get", "fetch a dataset and verify it by checksum",
                                         "feroma data get mnist", get, get_dataset);
  get_command->add_option("name", get->name, "name of the dataset")->required();
  get_command->add_option("--dir", get->folder, "folder to put it into; default: the user's data folder");

  const auto info = std::make_shared<DataOptions>();
  CLI::App* info_command = add_subcommand(*data, "info", "samples per class, shape, source, terms and location",
                                          "feroma data info fmnist", info, show_info);
  info_command->add_option("name", info->name, "name of the dataset, or a folder of your own")->required();
  info_command->add_option("--dir", info->folder, "folder with the dataset's files; default: the usual places");
  add_preview_command(*data);
}

}  // namespace feroma::cli
