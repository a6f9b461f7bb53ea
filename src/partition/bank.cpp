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

using ClassSet = std::vector<std::uint32_t>;

Bank::Entry identity_entry(int classes) {
  return {.recipe = identity_recipe(classes),
          .keeps_class = std::vector<bool>(static_cast<std::size_t>(classes), true)};
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

ClassSet draw_sorted(int classes, int count, Rng& rng) {
  ClassSet drawn = rng.sample(static_cast<std::size_t>(classes), static_cast<std::size_t>(count));
  std::sort(drawn.begin(), drawn.end());
  return drawn;
}

/// `count` random class sets, sorted inside; distinct ones also differ from those `seen` before.
std::vector<ClassSet> draw_class_sets(const BankParameters& parameters, int classes, bool distinct, Rng& rng,
                                      std::set<ClassSet> seen = {}) {
  std::vector<ClassSet> sets;
  while (sets.size() < static_cast<std::size_t>(parameters.entries)) {
    ClassSet classes_of_entry = draw_sorted(classes, parameters.classes_per_entry, rng);
    if (seen.insert(classes_of_entry).second || !distinct) {
      sets.push_back(std::move(classes_of_entry));
    }
  }
  return sets;
}

Bank::Entry keeping_entry(int classes, const ClassSet& kept) {
  Bank::Entry entry = identity_entry(classes);
  entry.keeps_class.assign(static_cast<std::size_t>(classes), false);
  for (const std::uint32_t c : kept) {
    entry.keeps_class[c] = true;
  }
  return entry;
}

Bank make_label_prior_bank(const BankParameters& parameters, int classes, bool distinct, Rng rng) {
  Bank bank;
  for (const ClassSet& kept : draw_class_sets(parameters, classes, distinct, rng)) {
    bank.entries.push_back(keeping_entry(classes, kept));
  }
  return bank;
}

/// All permutations of a pool in lexicographic order, or `listed` random distinct ones.
Bank make_concept_label_bank(const BankParameters& parameters, int classes, int listed, Rng rng) {
  const ClassSet pool = draw_sorted(classes, parameters.swapped_classes, rng);
  ClassSet image = pool;
  Bank bank;
  const auto add = [&] {
    Bank::Entry entry = identity_entry(classes);
    entry.recipe = permuted_recipe(classes, pool, image);
    bank.entries.push_back(std::move(entry));
  };
  if (listed == 0) {
    do {
      add();
    } while (std::next_permutation(image.begin(), image.end()));
    return bank;
  }
  std::set<ClassSet> seen;
  while (bank.size() < listed) {
    rng.shuffle(std::span(image));
    if (seen.insert(image).second) {
      add();
    }
  }
  return bank;
}

Bank::Entry targeting_entry(int classes, const ClassSet& targeted, Transform pattern) {
  Bank::Entry entry = identity_entry(classes);
  for (const std::uint32_t c : targeted) {
    entry.recipe.transform_of_class[c] = pattern;
  }
  return entry;
}

Bank make_concept_feature_bank(const BankParameters& parameters, int classes, Rng rng) {
  const std::vector<Transform> patterns = make_patterns(parameters.rotations, parameters.colours);
  Bank bank;
  for (const ClassSet& targeted : draw_class_sets(parameters, classes, /*distinct=*/true, rng)) {
    bank.entries.push_back(targeting_entry(classes, targeted, patterns[rng.below(patterns.size())]));
  }
  return bank;
}

/// One entry per pattern: a list of classes that are turned and another of classes that are tinted.
Bank make_pattern_bank(const BankParameters& parameters, int classes, Rng rng) {
  const ClassSet turned = draw_sorted(classes, parameters.classes_per_entry, rng);
  const ClassSet tinted = draw_sorted(classes, parameters.classes_per_entry, rng);
  Bank bank;
  for (const Transform pattern : make_patterns(parameters.rotations, parameters.colours)) {
    Bank::Entry entry = identity_entry(classes);
    for (const std::uint32_t c : turned) {
      entry.recipe.transform_of_class[c].quarter_turns = pattern.quarter_turns;
    }
    for (const std::uint32_t c : tinted) {
      entry.recipe.transform_of_class[c].tint = pattern.tint;
    }
    bank.entries.push_back(std::move(entry));
  }
  return bank;
}

Bank make_natural_bank(int classes, int domains) {
  Bank bank;
  for (int domain = 0; domain < domains; ++domain) {
    bank.entries.push_back(identity_entry(classes));
    bank.entries.back().domain = domain;
  }
  return bank;
}

/// Angles that the bank has not, in its colours; where it has all angles, colours that it has not.
std::vector<Transform> unused_patterns(const BankParameters& parameters) {
  constexpr int kAngles = 4;
  const std::vector<Transform> used = make_patterns(parameters.rotations, parameters.colours);
  std::vector<Transform> unused;
  for (int turns = 0; turns < kAngles; ++turns) {
    if (parameters.rotations < kAngles && turns % (kAngles / parameters.rotations) == 0) {
      continue;
    }
    for (int tint = kGray; tint < static_cast<int>(kTints.size()); ++tint) {
      const bool colour_used =
          std::any_of(used.begin(), used.end(), [tint](const Transform& pattern) { return pattern.tint == tint; });
      if (colour_used == (parameters.rotations < kAngles)) {
        unused.push_back({.quarter_turns = turns, .tint = tint});
      }
    }
  }
  return unused;
}

/// Pairs of the bank that are held out of training: one colour per angle, another one at each next angle, so that every
/// angle and every colour is trained on with others. None where there is only one of either.
std::vector<Transform> held_out_pairs(const BankParameters& parameters) {
  const std::vector<Transform> patterns = make_patterns(parameters.rotations, parameters.colours);
  std::vector<Transform> pairs;
  for (int r = 0; r < parameters.rotations && parameters.rotations > 1 && parameters.colours > 1; ++r) {
    pairs.push_back(patterns[static_cast<std::size_t>(r * parameters.colours + r % parameters.colours)]);
  }
  return pairs;
}

/// What unseen clients of P(X) get.
std::vector<Transform> unseen_patterns(const ScenarioOptions& options, const BankParameters& parameters) {
  return options.unseen_from == UnseenFrom::bank ? held_out_pairs(parameters) : unused_patterns(parameters);
}

std::set<ClassSet> sets_of(const Bank& bank, Shift shift) {
  std::set<ClassSet> sets;
  for (const Bank::Entry& entry : bank.entries) {
    ClassSet members;
    for (std::uint32_t c = 0; c < entry.keeps_class.size(); ++c) {
      const bool member =
          shift == Shift::label_prior ? entry.keeps_class[c] : entry.recipe.transform_of_class[c] != Transform{};
      if (member) {
        members.push_back(c);
      }
    }
    sets.insert(std::move(members));
  }
  return sets;
}

}  // namespace

Recipe identity_recipe(int classes) {
  Recipe recipe;
  recipe.transform_of_class.assign(static_cast<std::size_t>(classes), Transform{});
  recipe.label_of_class.resize(static_cast<std::size_t>(classes));
  std::iota(recipe.label_of_class.begin(), recipe.label_of_class.end(), 0);
  return recipe;
}

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

Recipe permuted_recipe(int classes, const std::vector<std::uint32_t>& pool, const std::vector<std::uint32_t>& image) {
  Recipe recipe = identity_recipe(classes);
  for (std::size_t i = 0; i < pool.size(); ++i) {
    recipe.label_of_class[pool[i]] = static_cast<std::int32_t>(image[i]);
  }
  return recipe;
}

Bank make_bank(const ScenarioOptions& options, int classes, const Rng& rng, int domains) {
  const BankParameters parameters = bank_parameters(options, classes);
  const Rng own = rng.derive("bank");
  switch (options.shift) {
    case Shift::covariate: return make_covariate_bank(parameters, classes);
    case Shift::label_prior:
      return make_label_prior_bank(parameters, classes, options.generator == Generator::clean, own);
    case Shift::concept_label: {
      if (!has_fresh_permutations(options, classes)) {
        return make_concept_label_bank(parameters, classes, options.perm_bank, own);
      }
      Rng pool_rng = own;
      Bank bank;
      bank.fresh_pool = draw_sorted(classes, parameters.swapped_classes, pool_rng);
      return bank;
    }
    case Shift::concept_feature:
      return options.strict ? make_pattern_bank(parameters, classes, own)
                            : make_concept_feature_bank(parameters, classes, own);
    case Shift::natural: return make_natural_bank(classes, domains);
    default: fail(ErrorCode::internal, "[bank] shift {} has no bank", name_of(options.shift));
  }
}

std::int64_t held_out_size(const ScenarioOptions& options, int classes) {
  const BankParameters parameters = bank_parameters(options, classes);
  if (options.shift == Shift::covariate) {
    return static_cast<std::int64_t>(unseen_patterns(options, parameters).size());
  }
  if (options.shift == Shift::label_prior || (options.shift == Shift::concept_feature && !options.strict)) {
    const std::int64_t left = class_sets(classes, parameters.classes_per_entry) - parameters.entries;
    return std::clamp<std::int64_t>(left, 0, parameters.entries);
  }
  return 0;  // all permutations and all domains are trained on
}

void add_held_out_entries(Bank& bank, const ScenarioOptions& options, int classes, const Rng& rng) {
  BankParameters parameters = bank_parameters(options, classes);
  parameters.entries = static_cast<int>(held_out_size(options, classes));
  Rng own = rng.derive("held_out_bank");
  if (options.shift == Shift::covariate) {
    for (const Transform pattern : unseen_patterns(options, parameters)) {
      std::erase_if(bank.entries, [&](const Bank::Entry& entry) {
        return entry.recipe.transform_of_class.front() == pattern;  // of the bank itself
      });
      bank.entries.push_back(identity_entry(classes));
      auto& transforms = bank.entries.back().recipe.transform_of_class;
      std::fill(transforms.begin(), transforms.end(), pattern);
    }
  } else {
    const std::vector<Transform> patterns = make_patterns(parameters.rotations, parameters.colours);
    const std::set<ClassSet> seen = sets_of(bank, options.shift);
    for (const ClassSet& set : draw_class_sets(parameters, classes, /*distinct=*/true, own, seen)) {
      bank.entries.push_back(options.shift == Shift::label_prior
                                 ? keeping_entry(classes, set)
                                 : targeting_entry(classes, set, patterns[own.below(patterns.size())]));
    }
  }
  bank.held_out = parameters.entries;
}

}  // namespace feroma
