#include "report/paper_notes.h"

#include <fmt/core.h>
#include <fmt/format.h>

#include <string>
#include <string_view>

#include "report/paper_beside.h"
#include "report/paper_layout.h"
#include "report/paper_map.h"

namespace feroma::detail {
namespace {

/// What there is in a table that has to be explained.
struct Seen {
  bool anew = false;        ///< published means that were taken anew
  bool known = false;       ///< P(Y|X) with the association known
  bool aside = false;       ///< figures of ours that stand beside others
  bool others = false;      ///< algorithms that the paper does not have
  bool fedavg = false;      ///< an accuracy of FedAvg
  bool cosine = false;      ///< of ours beside Feroma on Fashion-MNIST
  bool other_data = false;  ///< published figures that are of other data than they say
};

Seen seen_in(const PaperTable& table, bool mean) {
  Seen seen;
  for (const PaperRow& row : table.rows) {
    seen.others = seen.others || row.name == kNotPublished;
    for (const PaperValue& value : row.values) {
      seen.anew = seen.anew || value.printed.has_value();
      seen.aside = seen.aside || value.aside;
      if (value.figure != nullptr && value.figure->metric == "accuracy") {
        const PublishedFigure& figure = *value.figure;
        seen.fedavg = seen.fedavg || (value.ours && figure.method == "FedAvg");
        seen.cosine = seen.cosine || (value.ours && figure.method == "Feroma" && figure.dataset == "FMNIST" &&
                                      figure.variant.empty() && row.label == "feroma-reference");
        seen.known = seen.known || (!mean && figure.variant.empty() && figure.shift == "P(Y|X)");
        seen.other_data = seen.other_data || is_of_other_data(figure);
      }
    }
  }
  return seen;
}

/// What is said of figures that stand beside the paper's without a difference.
std::string aside_note(const PublishedFigure& first) {
  if (first.table.starts_with("dp_")) {
    return "budgets of mode paper alone are the paper's; of the other modes no difference is taken";
  }
  if (first.table == "n_client_all") {
    return "rows with few labels stand beside means that have the association known, so no difference is taken";
  }
  return fmt::format("rows with another dataset in brackets stand beside figures of {}, so no difference is taken",
                     first.dataset);
}

/// Why the paper's own figures cannot be compared with.
std::string other_data_note(std::string_view table) {
  if (table == "3x1_table") {
    return "a quarter of each published mean is dft_py, whose figures are of other data, so no difference is taken";
  }
  if (headings_are_swapped(table)) {
    return "its C.C. row is that of no other table: Feroma's of main_appe_fmnist_py is 3 to 12 points higher. So what "
           "is published is of other data, and no difference is taken; that its headings are swapped too is seen from "
           "3x1_table";
  }
  return "P(Y): what is published is of other data than the main tables, whose figures are 12 to 34 points higher, so "
         "no difference is taken";
}

/// What is said of means over the four shifts.
void add_mean_notes(const PublishedFigure& first, bool anew, PaperTable& table) {
  const char* spread = "; ± is the root of the mean squared spread of the cells";
  if (table.name.starts_with("n_client_")) {
    table.notes.push_back(
        fmt::format("means over shifts: with the association known on P(Y|X), ours as the paper's{}", spread));
  } else if (table.name == "3x1_table") {
    table.notes.push_back(fmt::format("means over shifts and levels: with few labels on P(Y|X){}", spread));
  } else if (first.metric == "accuracy") {
    table.notes.push_back(fmt::format(
        "means over shifts: Feroma with few labels on P(Y|X), other methods with the association known, as published{}",
        spread));
  }
  if (anew && table.name == "3x1_table") {
    table.notes.push_back(
        "published means are taken anew from the twelve figures of dft_*; what is printed has three more, those of "
        "P(Y|X) with the association known, and in its ± the twelve alone");
  } else if (anew) {
    table.notes.push_back(
        "published means of Feroma are taken anew with the paper's few-label figures; printed are those with the "
        "association known");
  }
}

/// What the paper does not say of an experiment, and what ours is instead; empty where it says enough.
std::string assumed_note(std::string_view table) {
  if (table == "unseen") {
    return "the paper names neither shift nor drifts: ours are means of P(X) over 5/20, 10/20 and 20/20, whose "
           "published means are within 0.2 points of its column of 0 %";
  }
  if (table.starts_with("n_client_")) {
    return "the paper names no drifts: ours are 10/20, whose published figures are near its columns of 20 clients";
  }
  if (table == "uci_har") {
    return "the paper names neither rounds nor drifts: ours are 20 rounds in which nobody moves";
  }
  return "";
}

/// What is said of single experiments.
void add_cell_notes(const Seen& seen, PaperTable& table) {
  if (const std::string assumed = assumed_note(table.name); !assumed.empty()) {
    table.notes.push_back(assumed);
  }
  if (seen.fedavg) {
    table.notes.push_back(
        "FedAvg: the model of the round with the best validation loss, as the paper's code takes it; all others after "
        "the last round");
  }
  if (seen.cosine) {
    table.notes.push_back(
        "Feroma on Fashion-MNIST is published with cosine distances (its figures are the C.C. rows of dft_*); preset "
        "reference has Euclidean ones");
  }
  if (seen.known) {
    table.notes.push_back("P(Y|X): association known on both sides");
  }
  if (headings_are_swapped(table.name)) {
    table.notes.push_back(
        "headings are as printed, with levels and drifts swapped: what is headed low 10/20 is medium 5/20, of ours as "
        "of the paper's");
  }
  if (seen.other_data) {
    table.notes.push_back(other_data_note(table.name));
  }
}

}  // namespace

void add_paper_notes(const Filler& filler, const PublishedFigure& first, PaperTable& table) {
  const bool mean = first.shift == "all";
  const Seen seen = seen_in(table, mean);
  if (mean) {
    add_mean_notes(first, seen.anew, table);
  }
  add_cell_notes(seen, table);
  if (seen.aside && layout_of(table.name).kind == PaperLayout::Kind::cells) {
    table.notes.push_back(aside_note(first));
  }
  if (seen.others) {
    table.notes.push_back(
        "algorithms that are not published are taken as Feroma is: on P(Y|X) by few labels in means over shifts, or "
        "where they make nothing of labels, and in other tables, with the association known");
  }
  if (!filler.variants().empty()) {
    table.notes.push_back(
        fmt::format("variants of a preset do not count here: {}", fmt::join(filler.variants(), ", ")));
  }
  if (filler.several()) {
    table.notes.push_back("several settings of ours fit a cell; the one with the most seeds is shown");
  }
}

}  // namespace feroma::detail
