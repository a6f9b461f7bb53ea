#include "report/sweep_families.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>

#include "report/paper_map.h"
#include "report/run_keys.h"

namespace feroma::detail {
namespace {

/// Adds results of labels that have a curve: a point alone says nothing about the axis. Seeds that are there stay.
void add_results(const PlacedResults& more, PlacedResults& results) {
  std::map<std::string, std::set<double>> places;
  for (const auto& [place, labels] : more) {
    for (const auto& [label, seeds] : labels) {
      places[label].insert(place);
    }
  }
  std::set<std::string> curves;
  for (const auto& [place, labels] : results) {
    for (const auto& [label, seeds] : labels) {
      curves.insert(label);
    }
  }
  for (const auto& [place, labels] : more) {
    for (const auto& [label, seeds] : labels) {
      if (curves.contains(label) || places.at(label).size() > 1) {
        results[place][label].insert(seeds.begin(), seeds.end());
      }
    }
  }
}

/// Samples are repeated, by one rule or another.
bool repeats_samples(const RunEntry& run) { return text_of(run, kScaleRule) != "none"; }

void add_runs_without_privacy(Families& families) {
  for (auto& [key, family] : families) {
    const auto off = families.find({key.first, "off"});
    if (key.second != "off" && off != families.end()) {
      add_results(off->second.results, family.results);
    }
  }
}

/// Puts runs of few clients, by their setting without the rule, into the families of each rule; where there is none,
/// they are a family by themselves.
void add_few_clients(Families few, Families& families) {
  for (auto& [key, small] : few) {
    bool taken = false;
    for (auto& [other, family] : families) {
      if (repeats_samples(*family.first) && other.second == key.second &&
          without_keys({kScaleRule}, other.first) == key.first) {
        add_results(small.results, family.results);
        taken = true;
      }
    }
    if (!taken) {
      families[key] = std::move(small);
    }
  }
}

}  // namespace

std::string without_keys(const std::vector<std::string_view>& keys, std::string_view setting) {
  std::string rest;
  while (!setting.empty()) {
    const std::size_t end = setting.find('\n') + 1;
    const std::string_view key = setting.substr(0, setting.find('='));
    if (std::find(keys.begin(), keys.end(), key) == keys.end()) {
      rest += setting.substr(0, end);
    }
    setting.remove_prefix(end);
  }
  return rest;
}

Families families_of(const SweepAxis& axis, const Study& study) {
  std::vector<std::string_view> keys = axis.follows;
  keys.push_back(axis.key);
  Families families;
  Families few;
  for (const OurResult& result : study.results) {
    const RunEntry& run = study.set.runs[result.run];
    const std::optional<double> place = place_of(axis, run);
    const std::optional<double> value = axis.get(run, result.result);
    if (!place || !value || !std::isfinite(*value)) {
      continue;
    }
    const bool any_rule = axis.key == kClientsKey && *place <= kSameScale && repeats_samples(run);
    const std::string setting = without_keys(keys, result.setting);
    Family& family = any_rule ? few[{without_keys({kScaleRule}, setting), privacy_mode(run)}]
                              : families[{setting, privacy_mode(run)}];
    family.first = family.first == nullptr ? &run : family.first;
    family.results[*place][result.label].emplace(result.result.seed, &result);
  }
  if (axis.key == kBudgetKey) {
    add_runs_without_privacy(families);
  }
  add_few_clients(std::move(few), families);
  return families;
}

}  // namespace feroma::detail
