#include "feroma/report/compare.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
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

/// Labels that at least half of the blocks have, so that one odd run does not empty the comparison.
void choose_labels(const Blocks& blocks, Comparison& comparison) {
  std::map<std::string, std::size_t> counts;
  for (const auto& [block, values] : blocks) {
    for (const auto& [label, value] : values) {
      counts[label] += 1;
    }
  }
  for (const auto& [label, count] : counts) {
    (2 * count >= blocks.size() ? comparison.labels : comparison.labels_left_out).push_back(label);
  }
}

void collect_values(const Blocks& blocks, Comparison& comparison) {
  for (const auto& [block, values] : blocks) {
    std::vector<double> row;
    for (const std::string& label : comparison.labels) {
      const auto found = values.find(label);
      if (found != values.end()) {
        row.push_back(found->second);
      }
    }
    if (row.size() == comparison.labels.size()) {
      comparison.blocks.push_back(std::move(row));
    } else {
      comparison.left_out += 1;
    }
  }
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
                                  const std::string& reference) {
  const Blocks blocks = blocks_of(set, results);
  Comparison comparison;
  choose_labels(blocks, comparison);
  if (!reference.empty()) {
    const std::string near = nearest_name(reference, comparison.labels);
    require(std::find(comparison.labels.begin(), comparison.labels.end(), reference) != comparison.labels.end(),
            ErrorCode::invalid_config, "--versus {}: must be an algorithm of these runs{}", reference,
            near.empty() ? "" : fmt::format(", did you mean {}?", near));
  }
  collect_values(blocks, comparison);
  const std::optional<FriedmanTest> test = friedman(comparison.blocks);
  if (!test) {
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
