#include "algorithms/join_views.h"

#include <gtest/gtest.h>

#include "tests/expect_error.h"
#include "tests/toy_engine.h"

namespace feroma {
namespace {

/// The first `count` toy samples, labels turned by `turn`.
View turned_labels(const Samples& samples, std::uint32_t count, std::int32_t turn) {
  Recipe recipe{std::vector<Transform>(10), {}};
  for (std::int32_t c = 0; c < 10; ++c) {
    recipe.label_of_class.push_back((c + turn) % 10);
  }
  View view;
  view.samples = &samples;
  view.shape = samples.shape;
  view.kept_recipes = std::make_shared<const std::vector<Recipe>>(1, recipe);
  view.recipes = *view.kept_recipes;
  for (std::uint32_t i = 0; i < count; ++i) {
    view.items.push_back({i, 0});
  }
  return view;
}

TEST(JoinViews, EveryPartKeepsItsRecipes) {
  const Samples samples = test::toy_samples(20, 10, Rng(1));
  View joined;
  {
    const View first = turned_labels(samples, 3, 0);
    const View second = turned_labels(samples, 2, 4);
    const std::vector<View> views{first, second, second, first};
    joined = join_views(views);
  }
  ASSERT_EQ(joined.size(), 10U);
  std::vector<std::int32_t> labels;
  for (std::size_t i = 0; i < joined.size(); ++i) {
    labels.push_back(joined.label(i));
  }
  EXPECT_EQ(labels, (std::vector<std::int32_t>{0, 1, 2, 4, 5, 4, 5, 0, 1, 2}));
}

TEST(JoinViews, OneViewIsItself) {
  const Samples samples = test::toy_samples(20, 10, Rng(1));
  const std::vector<View> one{turned_labels(samples, 5, 2)};
  const View joined = join_views(one);
  EXPECT_EQ(joined.items, one[0].items);
  EXPECT_EQ(joined.recipes.data(), one[0].recipes.data());
}

TEST(JoinViews, RefusesNothingAndOtherSplits) {
  const Samples a = test::toy_samples(20, 10, Rng(1));
  const Samples b = test::toy_samples(20, 10, Rng(2));
  const std::vector<View> two{turned_labels(a, 2, 0), turned_labels(b, 2, 0)};
  expect_error(ErrorCode::internal, "one split", [&] { return join_views(two).size(); });
  expect_error(ErrorCode::internal, "something to join", [&] { return join_views({}).size(); });
}

}  // namespace
}  // namespace feroma
