#include <algorithm>

#include "feroma/core/error.h"
#include "feroma/partition/bank.h"
#include "feroma/partition/skew.h"

namespace feroma {
namespace {

/// With more classes than this, levels permute a share of them: 40, 60 and 80 of CIFAR-100.
constexpr int kFewClasses = 20;

/// The levels of the paper; P(Y) keeps a fifth of the classes and P(X|Y) transforms four fifths at every level.
BankParameters level_parameters(Shift shift, Level level, int classes) {
  const int i = level_index(level);
  const int bank = 4 + 2 * i;
  switch (shift) {
    case Shift::covariate: return {.rotations = level == Level::medium ? 2 : 4, .colours = level == Level::low ? 1 : 3};
    case Shift::label_prior: return {.entries = bank, .classes_per_entry = std::max(1, classes / 5)};
    case Shift::concept_label: {
      const int swapped = classes <= kFewClasses ? std::min(classes, 3 + i) : classes * (2 + i) / 5;
      return {.swapped_classes = swapped};
    }
    case Shift::concept_feature:
      return {.rotations = 4, .colours = 3, .entries = bank, .classes_per_entry = std::max(1, 4 * classes / 5)};
    default: return {};  // no other shift has a bank that is made up
  }
}

}  // namespace

BankParameters bank_parameters(const ScenarioOptions& options, int classes) {
  BankParameters parameters = level_parameters(options.shift, options.level, classes);
  const auto override_with = [](int& value, int given) { value = given == 0 ? value : given; };
  const bool one_pattern_each = options.strict && options.shift == Shift::concept_feature;
  if (one_pattern_each) {
    const SkewParameters skew = skew_parameters(options, classes);
    parameters = {.rotations = skew.rotations,
                  .colours = skew.colours,
                  .entries = skew.rotations * skew.colours,
                  .classes_per_entry = skew.targeted_classes};
  }
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
      // 20! is the largest factorial of 64 bits; a list that large is refused long before.
      for (int i = 2; i <= std::min(parameters.swapped_classes, 20); ++i) {
        permutations *= i;
      }
      return permutations;
    }
    default: fail(ErrorCode::internal, "[bank] shift {} has no bank that is made up", name_of(shift));
  }
}

bool has_fresh_permutations(const ScenarioOptions& options, int classes) {
  return options.shift == Shift::concept_label && has_bank(options) && options.perm_bank == 0 &&
         bank_parameters(options, classes).swapped_classes > kMaxListedClasses;
}

bool has_class_sets(const ScenarioOptions& options) {
  return options.shift == Shift::label_prior || (options.shift == Shift::concept_feature && !options.strict);
}

std::optional<std::int64_t> most_class_sets(const ScenarioOptions& options, int classes) {
  const bool distinct = options.shift == Shift::concept_feature || options.generator == Generator::clean;
  return has_class_sets(options) && distinct
             ? std::optional(class_sets(classes, bank_parameters(options, classes).classes_per_entry))
             : std::nullopt;
}

std::int64_t class_sets(int classes, int chosen) {
  constexpr std::int64_t kEnough = 1'000'000'000;
  std::int64_t count = 1;
  for (int i = 1; i <= std::min(chosen, classes - chosen); ++i) {
    count = count * (classes - i + 1) / i;
    if (count > kEnough) {
      return kEnough;
    }
  }
  return count;
}

}  // namespace feroma
