#include "algorithms/batch_rows.h"

#include <gtest/gtest.h>

#include <numeric>

#include "algorithms/dense.h"

namespace feroma {
namespace {

/// Samples 0, 1, ... whose values count on from one another.
Batch counting_batch(int size, BatchLayout layout, std::vector<float>& rows) {
  Batch empty;
  empty.shape = {2, 3, 5};
  empty.layout = layout;
  rows.resize(static_cast<std::size_t>(size * 30));
  std::iota(rows.begin(), rows.end(), 1.0F);
  std::vector<std::int32_t> labels(static_cast<std::size_t>(size));
  std::iota(labels.begin(), labels.end(), 0);
  return with_rows(empty, rows, labels);
}

TEST(BatchRows, RowsGoIntoABatchAndComeOutAgain) {
  for (const BatchLayout layout : {BatchLayout(), BatchLayout(BatchLayout::sample_innermost, 2)}) {
    std::vector<float> rows;
    const Batch batch = counting_batch(19, layout, rows);
    EXPECT_EQ(batch.inputs.size(), layout.size(batch.shape, 19));
    EXPECT_EQ(rows_of(batch), rows);
  }
}

TEST(BatchRows, ValuesLieWhereTheLayoutSays) {
  std::vector<float> rows;
  const Batch batch = counting_batch(19, BatchLayout(BatchLayout::sample_innermost, 2), rows);
  // Sample 17 is lane 1 of group 1; channel 1, row 2, column 3 is pixel (1 * 3 + 2) * 9 + 2 + 3 of its group.
  EXPECT_EQ(batch.inputs[static_cast<std::size_t>(2 * 3 * 9 * 16 + 50 * 16 + 1)], rows[17 * 30 + 28]);
  EXPECT_EQ(batch.inputs[static_cast<std::size_t>(2 * 3 * 9 * 16 + 46 * 16 + 1)], 0.0F);  // the border
  EXPECT_EQ(batch.inputs.back(), 0.0F);                                                   // nobody's lane
}

TEST(BatchRows, MoreSamplesComeBehindThoseThatAreThere) {
  for (const BatchLayout layout : {BatchLayout(), BatchLayout(BatchLayout::sample_innermost, 1)}) {
    std::vector<float> rows;
    Batch batch = counting_batch(13, layout, rows);
    const std::vector<float> more(8 * 30, -1.0F);
    const Batch joined = with_rows(batch, more, std::vector<std::int32_t>(8, 7));
    EXPECT_EQ(joined.size, 21);
    EXPECT_EQ(joined.labels[12], 12);
    EXPECT_EQ(joined.labels[13], 7);
    rows.insert(rows.end(), more.begin(), more.end());
    EXPECT_EQ(rows_of(joined), rows);
  }
}

TEST(Dense, ProductsAgreeWithPlainLoops) {
  for (const auto& [rows, inner, columns] : {std::array<std::size_t, 3>{1, 1, 1}, {7, 3, 70}, {13, 130, 5}}) {
    std::vector<float> a(rows * inner);
    std::vector<float> b(inner * columns);
    for (std::size_t i = 0; i < a.size(); ++i) {
      a[i] = static_cast<float>(i % 7) - 3.0F;
    }
    for (std::size_t i = 0; i < b.size(); ++i) {
      b[i] = static_cast<float>(i % 5) - 2.0F;
    }
    const std::vector<float> product = multiply(a, b, inner);
    const std::vector<float> turned = transpose(b, columns);
    ASSERT_EQ(product.size(), rows * columns);
    for (std::size_t i = 0; i < rows * columns; ++i) {
      float sum = 0;  // whole numbers: exact in any order
      for (std::size_t k = 0; k < inner; ++k) {
        sum += a[i / columns * inner + k] * turned[i % columns * inner + k];
      }
      EXPECT_EQ(product[i], sum) << i;
    }
  }
}

}  // namespace
}  // namespace feroma
