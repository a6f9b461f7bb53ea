#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "commands.h"
#include "feroma/algorithms/registry.h"
#include "feroma/core/options.h"
#include "feroma/data/catalog.h"
#include "feroma/models/spec.h"
#include "feroma/partition/scenario.h"
#include "options.h"

namespace feroma::cli {
namespace {

/// One line of a list.
struct Row {
  std::string name;
  std::string about;
  std::string source;
  std::string headline = {};  ///< of an algorithm: what serves a test client; only JSON and options have it
};
using Rows = std::vector<Row>;

Rows algorithm_rows() {
  Rows rows;
  for (const AlgorithmEntry& entry : known_algorithms()) {
    rows.push_back({entry.name, entry.category, entry.source, entry.headline});
  }
  return rows;
}

Rows dataset_rows() {
  Rows rows;
  for (const DatasetEntry& entry : known_datasets()) {
    const std::string about = fmt::format("{}, {} classes, {} x {} x {}", entry.title, entry.classes,
                                          entry.shape.channels, entry.shape.height, entry.shape.width);
    rows.push_back({std::string(entry.name), about, std::string(entry.source)});
  }
  return rows;
}

Rows model_rows() {
  Rows rows;
  for (const ModelEntry& entry : known_models()) {
    rows.push_back({std::string(entry.name), "model", std::string(entry.source)});
  }
  return rows;
}

std::string_view about(Shift shift) {
  switch (shift) {
    case Shift::covariate: return "pictures are rotated and tinted";
    case Shift::label_prior: return "only some classes occur";
    case Shift::concept_label: return "labels are permuted inside a pool of classes";
    case Shift::concept_feature: return "pictures of some classes are rotated and tinted";
    case Shift::quantity: return "clients have unequal amounts of data";
    case Shift::covariate_and_label_prior: return "covariate and skewed labels";
    case Shift::concept_label_and_label_prior: return "concept_label and skewed labels";
    case Shift::concept_feature_and_label_prior: return "concept_feature and skewed labels";
    case Shift::covariate_and_quantity: return "covariate and unequal amounts";
    case Shift::label_prior_and_quantity: return "skewed labels and unequal amounts";
    case Shift::concept_label_and_quantity: return "concept_label and unequal amounts";
    case Shift::concept_feature_and_quantity: return "concept_feature and unequal amounts";
    case Shift::natural: return "the dataset's own domains";
    case Shift::iid: return "no shift: equal random shares";
    case Shift::dirichlet: return "each class divided in Dirichlet(alpha) proportions";
    case Shift::pathological: return "each client has samples of a few classes";
    case Shift::shard: return "data sorted by class, cut into shards, a few per client";
    case Shift::natural_id: return "each client has the samples of some owners";
  }
  unreachable();
}

std::string_view about(DriftMode mode) {
  switch (mode) {
    case DriftMode::fixed: return "nothing changes; tests are like training";
    case DriftMode::trND_teDR: return "training data stay; tests are on other distributions";
    case DriftMode::trDA_teDR: return "training data accumulate; tests are on distributions new to the client";
    case DriftMode::trDA_teND: return "training data accumulate; tests are on what the client has seen";
    case DriftMode::trDR_teDR:
      return "each stage replaces the training data; tests are on distributions new to the client";
    case DriftMode::trDR_teND: return "each stage replaces the training data; tests draw from the last stages";
  }
  unreachable();
}

constexpr std::string_view kFeroma = "Feroma, ICLR 2026; ANDA generator";

std::string_view source_of(Shift shift) {
  switch (shift) {
    case Shift::covariate:
    case Shift::label_prior:
    case Shift::concept_label:
    case Shift::concept_feature: return kFeroma;
    case Shift::quantity:
    case Shift::covariate_and_label_prior:
    case Shift::concept_label_and_label_prior:
    case Shift::concept_feature_and_label_prior:
    case Shift::covariate_and_quantity:
    case Shift::label_prior_and_quantity:
    case Shift::concept_label_and_quantity:
    case Shift::concept_feature_and_quantity: return "ANDA generator";
    case Shift::natural: return "the dataset's authors";
    case Shift::iid: return "no paper: what everything else is compared with";
    case Shift::dirichlet: return "Hsu et al., 2019";
    case Shift::pathological: return "Li et al., 2022 (NIID-Bench)";
    case Shift::shard: return "McMahan et al., 2017";
    case Shift::natural_id: return "Caldas et al., 2018 (LEAF)";
  }
  unreachable();
}

std::string_view source_of(DriftMode) { return kFeroma; }

/// The canonical spelling comes first in enum_names; later spellings of the same value are its notation.
template <NamedEnum E>
Rows enum_rows() {
  Rows rows;
  std::vector<E> values;
  for (const auto& [value, name] : enum_names(E{})) {
    const auto known = std::find(values.begin(), values.end(), value);
    if (known == values.end()) {
      values.push_back(value);
      rows.push_back({std::string(name), std::string(about(value)), std::string(source_of(value))});
    } else {
      rows[static_cast<std::size_t>(known - values.begin())].about += fmt::format(", {}", name);
    }
  }
  return rows;
}

Rows shift_rows() { return enum_rows<Shift>(); }
Rows drift_mode_rows() { return enum_rows<DriftMode>(); }

struct Kind {
  std::string_view name;
  Rows (*rows)();
};
constexpr std::array kKinds{Kind{"algorithms", algorithm_rows}, Kind{"datasets", dataset_rows},
                            Kind{"models", model_rows}, Kind{"shifts", shift_rows},
                            Kind{"drift-modes", drift_mode_rows}};

void print_text(const Rows& rows) {
  std::size_t name_width = 0;
  std::size_t about_width = 0;
  for (const Row& row : rows) {
    name_width = std::max(name_width, row.name.size());
    about_width = std::max(about_width, row.about.size());
  }
  for (const Row& row : rows) {
    fmt::print("{:<{}}  {:<{}}  {}\n", row.name, name_width, row.about, about_width, row.source);
  }
}

void print_json(const Rows& rows) {
  auto list = nlohmann::json::array();
  for (const Row& row : rows) {
    list.push_back({{"name", row.name}, {"about", row.about}, {"source", row.source}});
    if (!row.headline.empty()) {
      list.back()["headline"] = row.headline;
    }
  }
  fmt::print("{}\n", list.dump(2));
}

void add_kind(CLI::App& list, const Kind& kind) {
  CLI::App* command = list.add_subcommand(std::string(kind.name), fmt::format("The {} of this build", kind.name));
  command->footer(fmt::format("Example:\n  feroma list {} --format json", kind.name));
  // Shared because CLI11 copies the callback; the option writes into it while parsing.
  const auto format = std::make_shared<Format>(Format::text);
  add_format_option(*command, *format);
  command->callback([format, rows = kind.rows] {
    switch (*format) {
      case Format::text: print_text(rows()); return;
      case Format::json: print_json(rows()); return;
    }
  });
}

}  // namespace

void add_list_command(CLI::App& app) {
  CLI::App* list = app.add_subcommand("list", "What this build knows, one line each with its source");
  list->footer("Example:\n  feroma list algorithms");
  list->require_subcommand(1);
  for (const Kind& kind : kKinds) {
    add_kind(*list, kind);
  }
  add_options_list(*list);
}

}  // namespace feroma::cli
