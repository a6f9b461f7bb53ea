#include "report/paper_layout.h"

#include <algorithm>
#include <array>
#include <utility>

#include "feroma/core/error.h"

namespace feroma::detail {
namespace {

/// Name or beginning of a name, title, row fields, column fields.
struct LayoutRule {
  std::string_view table;
  std::string_view title;
  std::array<std::string_view, 2> rows;
  std::array<std::string_view, 3> columns;
  PaperLayout::Kind kind = PaperLayout::Kind::cells;
};
constexpr std::array<LayoutRule, 16> kLayouts{{
    {"main_table_1", "all shifts, levels and drifts, by dataset", {"method"}, {"dataset"}},
    {"main_table_2", "MNIST, mean over the four shifts", {"method"}, {"level", "drift"}},
    {"pyx_few_sample_",
     "P(Y|X): association known, or found with 20 labels per class",
     {"variant"},
     {"level", "drift"}},
    {"dp_", "privacy budgets of profiles, MNIST", {"variant"}, {"shift", "level"}},
    {"main_appe_", "one dataset and shift, by level and drift", {"method"}, {"level", "drift"}},
    {"n_client_", "number of clients, MNIST: accuracy and log2 of the seconds", {"method"}, {"clients", "metric"}},
    {"main_chex", "CheXpert, natural shift, macro AUROC", {"method"}, {"level", "drift"}},
    {"main_office", "Office-Home, natural shift", {"method"}, {"drift"}},
    {"cola_", "beside CoLA's adaptation at test time, MNIST", {"method"}, {"level", "drift"}},
    {"uci_har", "UCI-HAR, classes by a Dirichlet law", {"method"}, {"variant"}},
    {"unseen", "test clients with distributions that nobody trained on, MNIST", {"method"}, {"variant"}},
    {"stoc_", "Monte-Carlo subsamples and the threshold", {"variant"}, {"shift", "level"}},
    {"3x1_table", "distances in training and at test time, Fashion-MNIST, all shifts", {"variant"}, {"drift"}},
    {"dft_", "distances in training and at test time, Fashion-MNIST", {"variant"}, {"level", "drift"}},
    {"eps_R1",
     "requirement R1: |profile distance - true distance|, MNIST P(Y|X)",
     {"level"},
     {"variant", "metric"},
     PaperLayout::Kind::requirement},
    {"comm_cost", "bytes of a client and round", {"variant", "method"}, {"metric"}, PaperLayout::Kind::cost},
}};

}  // namespace

PaperLayout layout_of(std::string_view table) {
  const auto found = std::find_if(kLayouts.begin(), kLayouts.end(),
                                  [&](const LayoutRule& rule) { return table.starts_with(rule.table); });
  if (found == kLayouts.end()) {
    return {PaperLayout::Kind::cells, "", {"method", "variant"}, {"dataset", "shift", "level", "drift", "clients"}};
  }
  PaperLayout layout{found->kind, std::string(found->title), {}, {}};
  for (const std::string_view field : found->rows) {
    if (!field.empty()) {
      layout.rows.push_back(field);
    }
  }
  for (const std::string_view field : found->columns) {
    if (!field.empty()) {
      layout.columns.push_back(field);
    }
  }
  return layout;
}

const std::string& field_of(const PublishedFigure& figure, std::string_view name) {
  const std::array<std::pair<std::string_view, const std::string*>, 8> fields{{{"dataset", &figure.dataset},
                                                                               {"shift", &figure.shift},
                                                                               {"level", &figure.level},
                                                                               {"drift", &figure.drift},
                                                                               {"clients", &figure.clients},
                                                                               {"method", &figure.method},
                                                                               {"variant", &figure.variant},
                                                                               {"metric", &figure.metric}}};
  for (const auto& [key, text] : fields) {
    if (key == name) {
      return *text;
    }
  }
  fail(ErrorCode::internal, "[report] a figure has no field {}", name);
}

}  // namespace feroma::detail
