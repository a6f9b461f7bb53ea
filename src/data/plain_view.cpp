#include "feroma/data/plain_view.h"

#include <memory>
#include <numeric>

namespace feroma {

View plain_view(const Dataset& dataset, std::span<const std::uint32_t> rows) {
  Recipe as_it_is;
  as_it_is.transform_of_class.resize(static_cast<std::size_t>(dataset.classes));
  as_it_is.label_of_class.resize(static_cast<std::size_t>(dataset.classes));
  std::iota(as_it_is.label_of_class.begin(), as_it_is.label_of_class.end(), 0);
  View view;
  // Copies of a view share its recipe, which nobody else keeps.
  view.kept_recipes = std::make_shared<const std::vector<Recipe>>(1, std::move(as_it_is));
  view.recipes = *view.kept_recipes;
  view.samples = &dataset.train;
  view.shape = dataset.train.shape;
  view.items.reserve(rows.size());
  for (const std::uint32_t row : rows) {
    view.items.push_back({.source = row, .recipe = 0});
  }
  return view;
}

}  // namespace feroma
