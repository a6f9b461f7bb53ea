#include "feroma/drift/appearance.h"

#include <algorithm>

#include "feroma/core/error.h"
#include "feroma/partition/bank.h"
#include "feroma/partition/ranking.h"

namespace feroma {
namespace {

std::vector<std::uint32_t> some_classes(int classes, int count, Rng rng) {
  std::vector<std::uint32_t> chosen = rng.sample(static_cast<std::size_t>(classes), static_cast<std::size_t>(count));
  std::sort(chosen.begin(), chosen.end());
  return chosen;
}

/// One recipe for each pattern, on all classes; a single one that changes nothing where pictures stay.
std::shared_ptr<const std::vector<Recipe>> pattern_recipes(Shift appearance, const SkewParameters& parameters,
                                                           int classes) {
  std::vector<Recipe> recipes;
  if (appearance == Shift::covariate) {
    for (const Transform pattern : make_patterns(parameters.rotations, parameters.colours)) {
      recipes.push_back(identity_recipe(classes));
      std::fill(recipes.back().transform_of_class.begin(), recipes.back().transform_of_class.end(), pattern);
    }
  } else {
    recipes.push_back(identity_recipe(classes));
  }
  return std::make_shared<const std::vector<Recipe>>(std::move(recipes));
}

/// A client's order of things and how much more frequent the first are.
struct Ranked {
  std::vector<std::uint32_t> order;
  std::vector<double> probabilities;

  Ranked(int count, Range skew, Rng rng) : order(rng.permutation(static_cast<std::size_t>(count))) {
    probabilities = ranking(order.size(), rng.uniform(skew.low, skew.high));
  }
  [[nodiscard]] std::uint32_t draw(Rng& rng) const { return order[pick(probabilities, rng)]; }
};

}  // namespace

Appearance::Appearance(const ScenarioOptions& options, int classes, const Rng& rng)
    : shift_(appearance_of(options.shift)),
      mode_(options.drift_mode),
      test_order_(options.test_order),
      classes_(classes),
      parameters_(skew_parameters(options, classes)),
      rng_(rng),
      recipes_(pattern_recipes(shift_, parameters_, classes)) {
  if (shift_ == Shift::concept_label) {
    pool_ = some_classes(classes, parameters_.swapped_classes, rng.derive("swapped_classes"));
  }
  if (shift_ == Shift::concept_feature) {
    turned_ = some_classes(classes, parameters_.targeted_classes, rng.derive("turned_classes"));
    tinted_ = some_classes(classes, parameters_.targeted_classes, rng.derive("tinted_classes"));
  }
}

Rng Appearance::client_stream(const char* purpose, std::size_t client, Part part) const {
  const bool other = tests_drift(mode_) && part != Part::train;
  return rng_.derive(purpose, client, other ? 1 : 0);
}

SampleRows Appearance::rows(std::size_t client, Part part, std::span<const std::uint32_t> sources) const {
  switch (shift_) {
    case Shift::covariate:
      return mode_ == DriftMode::trND_teDR ? ranked_patterns(client, part, sources) : ranked(client, part, sources);
    case Shift::concept_label: return swapped(client, part, sources);
    case Shift::concept_feature: return targeted(client, part, sources);
    default: return unchanged(sources);
  }
}

SampleRows Appearance::unchanged(std::span<const std::uint32_t> sources) const {
  SampleRows rows;
  rows.recipes = recipes_;
  rows.items.reserve(sources.size());
  for (const std::uint32_t source : sources) {
    rows.items.push_back({source, 0});
  }
  return rows;
}

/// Angle and colour are ranked separately.
SampleRows Appearance::ranked(std::size_t client, Part part, std::span<const std::uint32_t> sources) const {
  const Ranked angles(parameters_.rotations, parameters_.skew, client_stream("angles", client, part));
  const Ranked colours(parameters_.colours, parameters_.skew, client_stream("colours", client, part));
  SampleRows rows = unchanged(sources);
  Rng rng = rng_.derive("appearance", client, static_cast<std::uint64_t>(part));
  for (ViewItem& item : rows.items) {
    const std::uint32_t angle = angles.draw(rng);
    item.recipe = angle * static_cast<std::uint32_t>(parameters_.colours) + colours.draw(rng);
  }
  return rows;
}

/// Whole patterns are ranked; in test data the rare ones are frequent, or another order holds.
SampleRows Appearance::ranked_patterns(std::size_t client, Part part, std::span<const std::uint32_t> sources) const {
  const bool reversed = part != Part::train && test_order_ == TestOrder::reversed;
  Ranked patterns(static_cast<int>(recipes_->size()), parameters_.skew,
                  client_stream("patterns", client, reversed ? Part::train : part));
  if (reversed) {
    std::reverse(patterns.order.begin(), patterns.order.end());
  }
  SampleRows rows = unchanged(sources);
  Rng rng = rng_.derive("appearance", client, static_cast<std::uint64_t>(part));
  for (ViewItem& item : rows.items) {
    item.recipe = patterns.draw(rng);
  }
  return rows;
}

SampleRows Appearance::swapped(std::size_t client, Part part, std::span<const std::uint32_t> sources) const {
  Rng own = client_stream("permutation", client, part);
  std::vector<std::uint32_t> image = pool_;
  own.shuffle(std::span(image));
  const double probability =
      rng_.derive("swap_probability", client).uniform(parameters_.skew.low, parameters_.skew.high);
  SampleRows rows = unchanged(sources);
  Rng rng = rng_.derive("appearance", client, static_cast<std::uint64_t>(part));
  for (ViewItem& item : rows.items) {
    item.recipe = rng.bernoulli(probability) ? 1 : 0;
  }
  std::vector<Recipe> recipes{identity_recipe(classes_), permuted_recipe(classes_, pool_, image)};
  rows.recipes = std::make_shared<const std::vector<Recipe>>(std::move(recipes));
  return rows;
}

SampleRows Appearance::targeted(std::size_t client, Part part, std::span<const std::uint32_t> sources) const {
  const std::vector<Transform> patterns = make_patterns(parameters_.rotations, parameters_.colours);
  Rng own = client_stream("targets", client, part);
  std::vector<Recipe> recipes{identity_recipe(classes_)};
  for (const std::uint32_t c : turned_) {
    recipes[0].transform_of_class[c].quarter_turns = patterns[own.below(patterns.size())].quarter_turns;
  }
  for (const std::uint32_t c : tinted_) {
    recipes[0].transform_of_class[c].tint = patterns[own.below(patterns.size())].tint;
  }
  SampleRows rows = unchanged(sources);
  rows.recipes = std::make_shared<const std::vector<Recipe>>(std::move(recipes));
  return rows;
}

}  // namespace feroma
