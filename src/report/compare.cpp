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
#include "report/paper_map.h"
#include "report/run_keys.h"

namespace feroma {
namespace {

/// What each label reached with one seed.
using SeedValues = std::map<std::string, double>;
/// Settings by name, and in each what its seeds gave.
using Values = std::map<std::string, std::map<std::int64_t, SeedValues>>;
/// The seeds that count together as one observation: those of a setting, or one alone.
using Block = std::vector<SeedValues>;
using Blocks = std::vector<Block>;

bool is_fedavg(const OurResult& result) { return result.result.algorithm == "fedavg"; }

std::optional<double> compared_accuracy(const RunSet& set, const OurResult& result, FedAvgRound fedavg) {
  if (fedavg == FedAvgRound::best && is_fedavg(result)) {
    return detail::pick(detail::Pick::best_round, result.result);
  }
  return comparable_accuracy(set.runs[result.run], result.result);
}

Values values_of(const RunSet& set, const std::vector<OurResult>& results, FedAvgRound fedavg) {
  Values values;
  for (const OurResult& result : results) {
    const std::optional<double> accuracy = compared_accuracy(set, result, fedavg);
    if (accuracy && std::isfinite(*accuracy)) {
      values[result.setting][result.result.seed][result.label] = *accuracy;
    }
  }
  return values;
}

/// Seeds of one setting repeat the same experiment, so they are one block: otherwise a setting that was run with five
/// seeds would count five times. Where there is one setting alone, its seeds are all that can be compared.
Blocks blocks_of(const Values& values) {
  Blocks blocks;
  const bool by_seed = values.size() == 1;
  for (const auto& [setting, seeds] : values) {
    if (!by_seed) {
      blocks.emplace_back();
    }
    for (const auto& [seed, labels] : seeds) {
      if (by_seed) {
        blocks.emplace_back();
      }
      blocks.back().push_back(labels);
    }
  }
  return blocks;
}

bool has_all(const SeedValues& values, const std::vector<std::string>& labels) {
  return std::all_of(labels.begin(), labels.end(), [&](const std::string& label) { return values.contains(label); });
}

bool is_complete(const Block& block, const std::vector<std::string>& labels) {
  return std::any_of(block.begin(), block.end(), [&](const SeedValues& values) { return has_all(values, labels); });
}

std::size_t complete_blocks(const Blocks& blocks, const std::vector<std::string>& labels) {
  return static_cast<std::size_t>(std::count_if(blocks.begin(), blocks.end(),
                                                [&labels](const Block& block) { return is_complete(block, labels); }));
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

/// The mean of each label over the seeds that all of them have.
std::vector<double> means_of(const Block& block, const std::vector<std::string>& labels) {
  std::vector<double> means(labels.size(), 0);
  double seeds = 0;
  for (const SeedValues& values : block) {
    if (has_all(values, labels)) {
      seeds += 1;
      for (std::size_t i = 0; i < labels.size(); ++i) {
        means[i] += values.at(labels[i]);
      }
    }
  }
  for (double& mean : means) {
    mean /= seeds;
  }
  return means;
}

void collect_values(const Blocks& blocks, Comparison& comparison) {
  for (const Block& block : blocks) {
    if (is_complete(block, comparison.labels)) {
      comparison.blocks.push_back(means_of(block, comparison.labels));
    } else {
      comparison.left_out += 1;
    }
  }
}

std::vector<std::string> labels_of(const Blocks& blocks) {
  std::set<std::string> labels;
  for (const Block& block : blocks) {
    for (const SeedValues& values : block) {
      for (const auto& [label, value] : values) {
        labels.insert(label);
      }
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

/// Two labels by themselves: every setting and seed that has both counts, whoever else is missing there. Absent for
/// fewer than two of them.
std::optional<Comparison::Pair> test_pair(const Blocks& blocks, const std::string& reference,
                                          const std::string& label) {
  std::vector<double> own;
  std::vector<double> other;
  for (const Block& block : blocks) {
    for (const SeedValues& values : block) {
      if (has_all(values, {reference, label})) {
        own.push_back(values.at(reference));
        other.push_back(values.at(label));
      }
    }
  }
  if (own.size() < 2) {
    return std::nullopt;
  }
  const double lead = mean_and_deviation(own)->mean - mean_and_deviation(other)->mean;
  return Comparison::Pair{label, own.size(), lead, wilcoxon_signed_rank(own, other), paired_t(own, other), {}};
}

/// Those that are not ranked are tested as well: a pair needs nothing of the other algorithms.
void test_pairs(const Blocks& blocks, Comparison& comparison) {
  std::vector<std::string> labels = comparison.labels;
  labels.insert(labels.end(), comparison.labels_left_out.begin(), comparison.labels_left_out.end());
  std::vector<double> p;
  for (const std::string& label : without(labels, comparison.reference)) {
    if (std::optional<Comparison::Pair> pair = test_pair(blocks, comparison.reference, label)) {
      p.push_back(pair->wilcoxon ? pair->wilcoxon->p : 1);
      comparison.pairs.push_back(std::move(*pair));
    }
  }
  const std::vector<double> adjusted = holm(p);
  for (std::size_t i = 0; i < comparison.pairs.size(); ++i) {
    comparison.pairs[i].adjusted = adjusted[i];
  }
}

const char* note_on(FedAvgRound fedavg) {
  switch (fedavg) {
    case FedAvgRound::last: return "FedAvg counts by its model of the last round, as in the tables of settings";
    case FedAvgRound::best:
      return "FedAvg counts by its model of the round with the best validation loss, as in the tables of the paper; "
             "tables of settings have that of the last round";
  }
  unreachable();
}

}  // namespace

std::string Comparison::count_text(std::size_t count) const {
  return fmt::format("{} {}{}", count, by_seed ? "seed" : "setting", count == 1 ? "" : "s");
}

std::vector<std::string> Comparison::notes() const {
  std::vector<std::string> notes;
  if (left_out > 0) {
    notes.push_back(fmt::format("not counted, for want of one of these algorithms: {}", count_text(left_out)));
  }
  for (const std::string& label : labels_left_out) {
    notes.push_back(fmt::format("{} is missing in too many of them and is left out of the ranks", label));
  }
  if (!by_seed) {
    notes.emplace_back(
        "in ranks a setting counts once, by the mean over the seeds that all of these have; pairs are tested over n, "
        "every setting and seed that both have");
  }
  if (has_concepts) {
    notes.emplace_back("P(Y|X) counts by few labels where a method has such a figure, else with the association known");
  }
  if (fedavg_round) {
    notes.emplace_back(note_on(*fedavg_round));
  }
  return notes;
}

std::optional<Comparison> compare(const RunSet& set, const std::vector<OurResult>& results,
                                  const std::string& reference, FedAvgRound fedavg, std::vector<std::string>& notes) {
  const Values values = values_of(set, results, fedavg);
  const Blocks blocks = blocks_of(values);
  Comparison comparison;
  comparison.by_seed = values.size() == 1;
  if (std::any_of(results.begin(), results.end(), is_fedavg)) {
    comparison.fedavg_round = fedavg;
  }
  comparison.has_concepts = std::any_of(results.begin(), results.end(), [&set](const OurResult& result) {
    return detail::is_concept_label(set.runs[result.run]);
  });
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
    if (!reference.empty() || (blocks.size() >= 2 && all.size() >= 2)) {
      notes.push_back(fmt::format("no tests: no two algorithms{} were found that have {} in common",
                                  reference.empty() ? "" : fmt::format(", {} among them,", reference),
                                  comparison.count_text(2)));
    }
    return std::nullopt;
  }
  comparison.friedman = *test;
  sort_by_rank(comparison);
  comparison.critical_difference = critical_difference(test->methods, test->blocks);
  comparison.reference = reference.empty() ? comparison.labels.front() : reference;
  test_pairs(blocks, comparison);
  return comparison;
}

}  // namespace feroma
