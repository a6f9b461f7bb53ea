#include "feroma/report/compare.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <numeric>
#include <set>
#include <utility>

#include "feroma/core/error.h"
#include "feroma/core/options.h"

namespace feroma {
namespace {

/// A setting and a seed, and what each label reached there.
using Blocks = std::map<std::pair<std::string, std::int64_t>, std::map<std::string, double>>;

Blocks blocks_of(const RunSet& set, const std::vector<OurResult>& results) {
  Blocks blocks;
  for (const OurResult& result : results) {
    const double accuracy = comparable_accuracy(set.runs[result.run], result.result);
    if (std::isfinite(accuracy)) {
      blocks[{result.setting, result.result.seed}][result.label] = accuracy;
    }
  }
  return blocks;
}

bool has_all(const std::map<std::string, double>& values, const std::vector<std::string>& labels) {
  return std::all_of(labels.begin(), labels.end(), [&](const std::string& label) { return values.contains(label); });
}

std::size_t complete_blocks(const Blocks& blocks, const std::vector<std::string>& labels) {
  return static_cast<std::size_t>(std::count_if(
      blocks.begin(), blocks.end(), [&labels](const auto& block) { return has_all(block.second, labels); }));
}

std::size_t blocks_with(const Blocks& blocks, const std::string& label) { return complete_blocks(blocks, {label}); }

std::vector<std::string> without(std::vector<std::string> labels, const std::string& label) {
  std::erase(labels, label);
  return labels;
}

/// The label that costs the most complete blocks; of equals the one that has the fewest.
std::string costliest(const Blocks& blocks, const std::vector<std::string>& labels, const std::string& keep) {
  std::string worst;
  std::pair<std::size_t, std::size_t> most;
  for (const std::string& label : labels) {
    const std::pair gain(complete_blocks(blocks, without(labels, label)), blocks.size() - blocks_with(blocks, label));
    if (label != keep && (worst.empty() || gain > most)) {
      worst = label;
      most = gain;
    }
  }
  return worst;
}

/// Algorithms that few runs have would leave no block complete: the costliest is left out again and again, and the
/// labels with the most values in complete blocks are taken. `keep` stays.
void choose_labels(const Blocks& blocks, const std::string& keep, Comparison& comparison) {
  std::vector<std::string> labels = comparison.labels;
  std::size_t most = 0;
  while (labels.size() >= 2) {
    const std::size_t complete = complete_blocks(blocks, labels);
    if (complete >= 2 && complete * labels.size() > most) {
      most = complete * labels.size();
      comparison.labels = labels;
    }
    labels = without(labels, costliest(blocks, labels, keep));
  }
}

void collect_values(const Blocks& blocks, Comparison& comparison) {
  for (const auto& [block, values] : blocks) {
    if (!has_all(values, comparison.labels)) {
      comparison.left_out += 1;
      continue;
    }
    std::vector<double>& row = comparison.blocks.emplace_back();
    for (const std::string& label : comparison.labels) {
      row.push_back(values.at(label));
    }
  }
}

std::vector<std::string> labels_of(const Blocks& blocks) {
  std::set<std::string> labels;
  for (const auto& [block, values] : blocks) {
    for (const auto& [label, value] : values) {
      labels.insert(label);
    }
  }
  return {labels.begin(), labels.end()};
}

/// Labels, columns and mean ranks in the order of the ranks.
void sort_by_rank(Comparison& comparison) {
  std::vector<std::size_t> order(comparison.labels.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t i, std::size_t j) {
    return comparison.friedman.mean_ranks[i] < comparison.friedman.mean_ranks[j];
  });
  const auto sorted = [&order](const auto& values) {
    auto result = values;
    for (std::size_t i = 0; i < order.size(); ++i) {
      result[i] = values[order[i]];
    }
    return result;
  };
  comparison.labels = sorted(comparison.labels);
  comparison.friedman.mean_ranks = sorted(comparison.friedman.mean_ranks);
  for (std::vector<double>& block : comparison.blocks) {
    block = sorted(block);
  }
}

std::vector<double> column(const Comparison& comparison, std::size_t c) {
  std::vector<double> values;
  for (const std::vector<double>& block : comparison.blocks) {
    values.push_back(block[c]);
  }
  return values;
}

void test_pairs(std::size_t reference, Comparison& comparison) {
  const std::vector<double> own = column(comparison, reference);
  std::vector<double> p;
  for (std::size_t c = 0; c < comparison.labels.size(); ++c) {
    if (c == reference) {
      continue;
    }
    const std::vector<double> other = column(comparison, c);
    Comparison::Pair pair{comparison.labels[c], 0, wilcoxon_signed_rank(own, other), paired_t(own, other), {}};
    pair.mean_difference = mean_and_deviation(own)->mean - mean_and_deviation(other)->mean;
    p.push_back(pair.wilcoxon ? pair.wilcoxon->p : 1);
    comparison.pairs.push_back(std::move(pair));
  }
  const std::vector<double> adjusted = holm(p);
  for (std::size_t i = 0; i < comparison.pairs.size(); ++i) {
    comparison.pairs[i].adjusted = adjusted[i];
  }
}

}  // namespace

std::optional<Comparison> compare(const RunSet& set, const std::vector<OurResult>& results,
                                  const std::string& reference, std::vector<std::string>& notes) {
  const Blocks blocks = blocks_of(set, results);
  Comparison comparison;
  const std::vector<std::string> all = labels_of(blocks);
  comparison.labels = all;
  const std::string near = nearest_name(reference, all);
  require(reference.empty() || std::find(all.begin(), all.end(), reference) != all.end(), ErrorCode::invalid_config,
          "--versus {}: must be an algorithm of these runs{}", reference,
          near.empty() ? "" : fmt::format(", did you mean {}?", near));
  choose_labels(blocks, reference, comparison);
  std::set_difference(all.begin(), all.end(), comparison.labels.begin(), comparison.labels.end(),
                      std::back_inserter(comparison.labels_left_out));
  collect_values(blocks, comparison);
  const std::optional<FriedmanTest> test = friedman(comparison.blocks);
  if (!test) {
    if (blocks.size() >= 2 && all.size() >= 2) {
      notes.push_back(fmt::format("no tests: no two algorithms{} have two settings and seeds in common",
                                  reference.empty() ? "" : fmt::format(", {} among them,", reference)));
    }
    return std::nullopt;
  }
  comparison.friedman = *test;
  sort_by_rank(comparison);
  comparison.critical_difference = critical_difference(test->methods, test->blocks);
  comparison.reference = reference.empty() ? comparison.labels.front() : reference;
  const auto place = std::find(comparison.labels.begin(), comparison.labels.end(), comparison.reference);
  test_pairs(static_cast<std::size_t>(place - comparison.labels.begin()), comparison);
  return comparison;
}

}  // namespace feroma
