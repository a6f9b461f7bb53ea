#include "feroma/runtime/predictions.h"

#include <fmt/format.h>

#include <algorithm>

#include "report/csv.h"

namespace feroma {
namespace {

using detail::csv_field;

std::string class_name(const std::vector<std::string>& names, std::size_t number) {
  return number < names.size() ? csv_field(names[number]) : std::to_string(number);
}

std::string sample_name(const Dataset& dataset, std::size_t number) {
  return number < dataset.sample_names.size() ? csv_field(dataset.sample_names[number]) : std::to_string(number);
}

}  // namespace

std::string predictions_csv(const Assigned& assigned, const Dataset& dataset, std::span<const float> probabilities) {
  const auto classes = static_cast<std::size_t>(assigned.classes);
  const std::vector<std::string>& names = assigned.names.classes.empty() ? dataset.class_names : assigned.names.classes;
  // Labels that are numbers stay numbers; where there are none, the model's words are the only ones.
  const bool are_numbers = dataset.class_names.empty() && !dataset.labelled_rows.empty();
  const std::vector<std::string>& own = dataset.class_names.empty() && !are_numbers ? names : dataset.class_names;
  const bool are_named = !assigned.multi_label && names.size() == classes;
  std::string text = "sample";
  if (assigned.multi_label) {
    for (std::size_t u = 0; u < classes; ++u) {
      text += "," + class_name(own, u);
    }
  } else {
    text += are_named ? ",class,probability,predicted_name" : ",class,probability";
  }
  text += "\n";
  for (std::size_t i = 0; i < probabilities.size() / classes; ++i) {
    const auto row = probabilities.subspan(i * classes, classes);
    text += sample_name(dataset, i);
    if (assigned.multi_label) {
      for (const float probability : row) {
        text += fmt::format(",{:.6f}", probability);
      }
    } else {
      const auto best = static_cast<std::size_t>(std::max_element(row.begin(), row.end()) - row.begin());
      text += fmt::format(",{},{:.6f}", class_name(own, best), row[best]);
      text += are_named ? "," + csv_field(names[best]) : "";
    }
    text += "\n";
  }
  return text;
}

}  // namespace feroma
