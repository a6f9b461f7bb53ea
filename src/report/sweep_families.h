#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "feroma/report/study.h"
#include "report/sweep_axes.h"

namespace feroma::detail {

/// Results by their place on the axis, label and seed.
using PlacedResults = std::map<double, std::map<std::string, std::map<std::int64_t, const OurResult*>>>;

/// Runs that differ in nothing but their place on the axis.
struct Family {
  const RunEntry* first = nullptr;  ///< one of those that are in no other family
  PlacedResults results;
};
/// Setting and privacy mode: budgets of different modes do not mean the same.
using FamilyKey = std::pair<std::string, std::string>;
using Families = std::map<FamilyKey, Family>;

/// A setting without some of its lines, "key=value" each.
[[nodiscard]] std::string without_keys(const std::vector<std::string_view>& keys, std::string_view setting);

/// The study's results by family. Runs without privacy stand behind the budgets of every mode, and those of few
/// clients, whose data every scale rule makes alike, in front of the larger numbers of each rule; both of labels alone
/// that have further points there.
[[nodiscard]] Families families_of(const SweepAxis& axis, const Study& study);

}  // namespace feroma::detail
