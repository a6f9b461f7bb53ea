#include "src/preview/notes.h"

#include <gtest/gtest.h>

namespace feroma::detail {
namespace {

Bank::Entry unchanged(int classes) {
  Bank::Entry entry;
  for (int c = 0; c < classes; ++c) {
    entry.recipe.transform_of_class.push_back({});
    entry.recipe.label_of_class.push_back(c);
    entry.keeps_class.push_back(true);
  }
  return entry;
}

TEST(Notes, SayWhatADistributionDoes) {
  EXPECT_EQ(about_distribution(unchanged(3)), "as stored");

  Bank::Entry turned = unchanged(3);
  turned.recipe.transform_of_class.assign(3, {.quarter_turns = 1, .tint = 2});
  EXPECT_EQ(about_distribution(turned), "90° blue");
  turned.recipe.transform_of_class[1] = {};
  EXPECT_EQ(about_distribution(turned), "90° blue except classes 1");
  turned.recipe.transform_of_class[2] = {.quarter_turns = 2};
  EXPECT_EQ(about_distribution(turned), "90° blue for classes 0; 180° for classes 2");

  Bank::Entry few = unchanged(4);
  few.keeps_class = {false, true, false, true};
  EXPECT_EQ(about_distribution(few), "only classes 1, 3");

  Bank::Entry renamed = unchanged(3);
  renamed.recipe.label_of_class = {2, 1, 0};
  EXPECT_EQ(about_distribution(renamed), "labels 0→2 2→0");
}

TEST(Notes, ClassesThatAreTreatedDifferentlyComeFirst) {
  Bank bank;
  bank.entries = {unchanged(4), unchanged(4), unchanged(4)};
  EXPECT_EQ(telling_classes(bank, 4), (std::vector<int>{0, 1, 2, 3}));
  bank.entries[1].recipe.label_of_class = {0, 1, 3, 2};
  bank.entries[2].keeps_class[3] = false;
  EXPECT_EQ(telling_classes(bank, 4), (std::vector<int>{3, 2, 0, 1}));
  EXPECT_EQ(telling_classes({}, 2), (std::vector<int>{0, 1}));
}

}  // namespace
}  // namespace feroma::detail
