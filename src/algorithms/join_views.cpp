#include "algorithms/join_views.h"

#include "feroma/core/error.h"

namespace feroma {

View join_views(std::span<const View> views) {
  require(!views.empty(), ErrorCode::internal, "[view] there must be something to join");
  View joined = views.front();
  if (views.size() == 1) {
    return joined;
  }
  joined.items.clear();
  // Windows may have recipes of their own, so each brings its table and counts from where that begins.
  auto recipes = std::make_shared<std::vector<Recipe>>();
  const Recipe* last_table = nullptr;
  std::uint32_t first = 0;
  for (const View& view : views) {
    require(view.samples == joined.samples, ErrorCode::internal, "[view] only views of one split can be joined");
    if (view.recipes.data() != last_table || view.recipes.empty()) {
      first = static_cast<std::uint32_t>(recipes->size());
      recipes->insert(recipes->end(), view.recipes.begin(), view.recipes.end());
      last_table = view.recipes.data();
    }
    for (const ViewItem& item : view.items) {
      joined.items.push_back({item.source, first + item.recipe});
    }
  }
  joined.recipes = *recipes;
  joined.kept_recipes = std::move(recipes);
  return joined;
}

View some_of(const View& view, std::size_t most, Rng rng) {
  View drawn = view;
  if (view.size() > most) {
    drawn.items.clear();
    for (const std::uint32_t i : rng.sample(view.size(), most)) {
      drawn.items.push_back(view.items[i]);
    }
  }
  return drawn;
}

}  // namespace feroma
