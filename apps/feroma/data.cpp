#include <fmt/format.h>

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
  std::string text = fmt::format("{:<8} {:<33} {:<9} {:>7}  {}\n", "name", "title", "shape", "classes", "location");
  for (const DatasetEntry& entry : known_datasets()) {
    const fs::path location = locate_dataset(entry, "");
    rows.push_back(describe(entry, location));
    text +=
        fmt::format("{:<8} {:<33} {:<9} {:>7}  {}\n", entry.name, entry.title, shape_text(entry.shape), entry.classes,
                    location.empty() ? fmt::format("absent (feroma data get {})", entry.name) : location.string());
  }
  fmt::print("{}", format == Format::json ? rows.dump(2) + "\n" : text);
}

void get_dataset(const DataOptions& options) {
  const fs::path folder =
      fetch_dataset(options.name, [](std::string_view message) { fmt::print(stderr, "{}\n", message); });
  if (options.format == Format::json) {
    fmt::print("{}\n", describe(find_dataset(options.name), folder).dump(2));
  } else {
    fmt::print("{} is in {}\n", options.name, folder.string());
  }
}

std::vector<int> class_counts(const Samples& samples, int classes) {
  std::vector<int> counts(static_cast<std::size_t>(classes), 0);
  for (const std::int32_t label : samples.labels) {
    ++counts[static_cast<std::size_t>(label)];
  }
  return counts;
}

void print_info(const DatasetEntry& entry, const Dataset& dataset, const fs::path& location,
                const std::vector<std::string>& altered) {
  fmt::print("{} ({})\n", entry.title, entry.name);
  fmt::print("  source    {}\n  terms     {}\n  location  {}\n", entry.source, entry.terms, location.string());
  fmt::print("  shape     {}, {} classes\n", shape_text(entry.shape), entry.classes);
  fmt::print("  checksums {}\n\n", altered.empty() ? "verified" : fmt::format("differ: {}", fmt::join(altered, ", ")));
  const std::vector<int> train = class_counts(dataset.train, dataset.classes);
  const std::vector<int> test = class_counts(dataset.test, dataset.classes);
  fmt::print("{:>5} {:>8} {:>8}\n", "class", "train", "test");
  for (std::size_t c = 0; c < train.size(); ++c) {
    fmt::print("{:>5} {:>8} {:>8}\n", c, train[c], test[c]);
  }
  fmt::print("{:>5} {:>8} {:>8}\n", "all", dataset.train.count(), dataset.test.count());
}

void show_info(const DataOptions& options) {
  const DatasetEntry& entry = find_dataset(options.name);
  const std::shared_ptr<const Dataset> dataset = load_dataset(options.name, options.folder);
  const fs::path location = locate_dataset(entry, options.folder);
  const std::vector<std::string> altered = altered_files(entry, location);
  if (options.format == Format::text) {
    print_info(entry, *dataset, location, altered);
    return;
  }
  Json json = describe(entry, location);
  json["verified"] = altered.empty();
  json["altered_files"] = altered;
  json["train"] = {{"samples", dataset->train.count()}, {"per_class", class_counts(dataset->train, dataset->classes)}};
  json["test"] = {{"samples", dataset->test.count()}, {"per_class", class_counts(dataset->test, dataset->classes)}};
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
  add_subcommand(*data, "get", "fetch a dataset and verify it by checksum", "feroma data get mnist", get, get_dataset)
      ->add_option("name", get->name, "name of the dataset")
      ->required();

  const auto info = std::make_shared<DataOptions>();
  CLI::App* info_command = add_subcommand(*data, "info", "samples per class, shape, source, terms and location",
                                          "feroma data info fmnist", info, show_info);
  info_command->add_option("name", info->name, "name of the dataset")->required();
  info_command->add_option("--dir", info->folder, "folder with the dataset's files; default: the usual places");
  add_preview_command(*data);
}

}  // namespace feroma::cli
