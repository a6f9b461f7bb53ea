#include "feroma/partition/bank.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <set>

#include "feroma/core/error.h"

namespace feroma {
namespace {

/// A colour is the channel that is saturated; -1 leaves the picture gray.
constexpr int kGray = -1;
constexpr std::array<int, 3> kTints{0, 2, 1};  // red, blue, green: green is the first to be dropped

int level_index(Level level) {
  switch (level) {
    case Level::low: return 0;
    case Level::medium: return 1;
    case Level::high: return 2;
  }
  unreachable();
}

/// The levels of the paper; P(Y) keeps a fifth of the classes and P(X|Y) transforms four fifths at every level.
BankParameters level_parameters(Shift shift, Level level, int classes) {
  const int i = level_index(level);
  const int bank = 4 + 2 * i;
  switch (shift) {
    case Shift::covariate: return {.rotations = level == Level::medium ? 2 : 4, .colours = level == Level::low ? 1 : 3};
    case Shift::label_prior: return {.entries = bank, .classes_per_entry = std::max(1, classes / 5)};
    case Shift::concept_label: return {.swapped_classes = std::min(classes, 3 + i)};
    case Shift::concept_feature:
      return {.rotations = 4, .colours = 3, .entries = bank, .classes_per_entry = std::max(1, 4 * classes / 5)};
  }
  unreachable();
}

Recipe identity_recipe(int classes) {
  Recipe recipe;
  recipe.transform_of_class.assign(static_cast<std::size_t>(classes), Transform{});
  recipe.label_of_class.resize(static_cast<std::size_t>(classes));
  std::iota(recipe.label_of_class.begin(), recipe.label_of_class.end(), 0);
  return recipe;
}

Bank::Entry identity_entry(int classes) {
  return {.recipe = identity_recipe(classes),
          .keeps_class = std::vector<bool>(static_cast<std::size_t>(classes), true)};
}

/// Every (angle, colour), angle-major.
std::vector<Transform> make_patterns(int rotations, int colours) {
  std::vector<Transform> patterns;
  for (int r = 0; r < rotations; ++r) {
    for (int c = 0; c < colours; ++c) {
      patterns.push_back(
          {.quarter_turns = r * 4 / rotations, .tint = colours == 1 ? kGray : kTints[static_cast<std::size_t>(c)]});
    }
  }
  return patterns;
}

Bank make_covariate_bank(const BankParameters& parameters, int classes) {
  Bank bank;
  for (const Transform pattern : make_patterns(parameters.rotations, parameters.colours)) {
    Bank::Entry entry = identity_entry(classes);
    std::fill(entry.recipe.transform_of_class.begin(), entry.recipe.transform_of_class.end(), pattern);
    bank.entries.push_back(std::move(entry));
  }
  return bank;
}

/// `count` random class sets, sorted inside.
std::vector<std::vector<std::uint32_t>> draw_class_sets(const BankParameters& parameters, int classes, bool distinct,
                                                        Rng& rng) {
  std::vector<std::vector<std::uint32_t>> sets;
  std::set<std::vector<std::uint32_t>> seen;
  while (sets.size() < static_cast<std::size_t>(parameters.entries)) {
    std::vector<std::uint32_t> classes_of_entry =
        rng.sample(static_cast<std::size_t>(classes), static_cast<std::size_t>(parameters.classes_per_entry));
    std::sort(classes_of_entry.begin(), classes_of_entry.end());
    if (seen.insert(classes_of_entry).second || !distinct) {
      sets.push_back(std::move(classes_of_entry));
    }
  }
  return sets;
}

Bank make_label_prior_bank(const BankParameters& parameters, int classes, bool distinct, Rng rng) {
  Bank bank;
  for (const auto& kept : draw_class_sets(parameters, classes, distinct, rng)) {
    Bank::Entry entry = identity_entry(classes);
    entry.keeps_class.assign(static_cast<std::size_t>(classes), false);
    for (const std::uint32_t c : kept) {
      entry.keeps_class[c] = true;
    }
    bank.entries.push_back(std::move(entry));
  }
  return bank;
}

Bank make_concept_label_bank(const BankParameters& parameters, int classes, Rng rng) {
  std::vector<std::uint32_t> pool =
      rng.sample(static_cast<std::size_t>(classes), static_cast<std::size_t>(parameters.swapped_classes));
  std::sort(pool.begin(), pool.end());
  std::vector<std::uint32_t> image = pool;
  Bank bank;
  do {
    Bank::Entry entry = identity_entry(classes);
    for (std::size_t i = 0; i < pool.size(); ++i) {
      entry.recipe.label_of_class[pool[i]] = static_cast<std::int32_t>(image[i]);
    }
    bank.entries.push_back(std::move(entry));
  } while (std::next_permutation(image.begin(), image.end()));
  return bank;
}

Bank make_concept_feature_bank(const BankParameters& parameters, int classes, Rng rng) {
  const std::vector<Transform> patterns = make_patterns(parameters.rotations, parameters.colours);
  Bank bank;
  for (const auto& targeted : draw_class_sets(parameters, classes, /*distinct=*/true, rng)) {
    const Transform pattern = patterns[rng.below(patterns.size())];
    Bank::Entry entry = identity_entry(classes);
    for (const std::uint32_t c : targeted) {
      entry.recipe.transform_of_class[c] = pattern;
    }
    bank.entries.push_back(std::move(entry));
  }
  return bank;
}

}  // namespace

BankParameters bank_parameters(const ScenarioOptions& options, int classes) {
  BankParameters parameters = level_parameters(options.shift, options.level, classes);
  const auto override_with = [](int& value, int given) { value = given == 0 ? value : given; };
  override_with(parameters.rotations, options.rotations);
  override_with(parameters.colours, options.colours);
  override_with(parameters.entries, options.bank);
  override_with(parameters.classes_per_entry, options.classes_per_entry);
  override_with(parameters.swapped_classes, options.swapped_classes);
  return parameters;
}

std::int64_t bank_size(Shift shift, const BankParameters& parameters) {
  switch (shift) {
    case Shift::covariate: return std::int64_t{parameters.rotations} * parameters.colours;
    case Shift::label_prior:
    case Shift::concept_feature: return parameters.entries;
    case Shift::concept_label: {
      std::int64_t permutations = 1;
      // 20! is the largest factorial of 64 bits; a pool that large is refused long before.
      for (int i = 2; i <= std::min(parameters.swapped_classes, 20); ++i) {
        permutations *= i;
      }
      return permutations;
    }
  }
  unreachable();
}

Bank make_bank(const ScenarioOptions& options, int classes, const Rng& rng) {
  const BankParameters parameters = bank_parameters(options, classes);
  const Rng own = rng.derive("bank");
  switch (options.shift) {
    case Shift::covariate: return make_covariate_bank(parameters, classes);
    case Shift::label_prior:
      return make_label_prior_bank(parameters, classes, options.generator == Generator::clean, own);
    case Shift::concept_label: return make_concept_label_bank(parameters, classes, own);
    case Shift::concept_feature: return make_concept_feature_bank(parameters, classes, own);
  }
  unreachable();
}

}  // namespace feroma
