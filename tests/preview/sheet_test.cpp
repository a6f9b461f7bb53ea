#include "feroma/preview/sheet.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "feroma/preview/png.h"
#include "src/preview/palette.h"
#include "tests/expect_error.h"
#include "tests/preview/toy_scenario.h"

namespace feroma {
namespace {

using test::toy_federation;

/// Calls `check(row, column, cell)` for every cell of a sheet, test cells included.
template <class Check>
void for_each_cell(const Preview& preview, Check check) {
  for (std::size_t row = 0; row < preview.rows.size(); ++row) {
    const PreviewRow& client = preview.rows[row];
    for (std::size_t column = 0; column < client.stages.size(); ++column) {
      check(row, column, client.stages[column]);
    }
    if (client.test) {
      check(row, preview.stages.size(), *client.test);
    }
  }
}

bool is_paper(const Canvas& canvas, Rect area) {
  for (int y = area.y; y < area.y + area.height; ++y) {
    for (int x = area.x; x < area.x + area.width; ++x) {
      if (canvas.at(x, y) != detail::kPaper) {
        return false;
      }
    }
  }
  return true;
}

TEST(Sheet, FramesHaveTheColourOfTheDistribution) {
  const Preview preview = make_preview(toy_federation(Shift::covariate), {});
  const SheetLayout layout = sheet_layout(preview);
  const Canvas canvas = draw_sheet(preview);
  EXPECT_EQ(canvas.width(), layout.width);
  EXPECT_EQ(canvas.height(), layout.height);
  std::map<int, Rgb> colour_of;
  int cells = 0;
  for_each_cell(preview, [&](std::size_t row, std::size_t column, const PreviewCell& cell) {
    const Rect area = layout.place(layout.cell, row, column);
    const Rgb colour = canvas.at(area.x, area.y + area.height / 2);
    EXPECT_EQ(colour, detail::mark_of(cell.distribution).colour);
    EXPECT_EQ(colour, canvas.at(area.x + area.width - 1, area.y + area.height - 1));
    EXPECT_EQ(colour_of.emplace(cell.distribution, colour).first->second, colour);
    ++cells;
  });
  EXPECT_EQ(cells, 3 * 4) << "three stages and the test column";
}

TEST(Sheet, CellsAreApartAndTheTestColumnIsSetOff) {
  const Preview preview = make_preview(toy_federation(Shift::covariate), {});
  const SheetLayout layout = sheet_layout(preview);
  const Canvas canvas = draw_sheet(preview);
  ASSERT_EQ(layout.columns.size(), 4U);
  const Rect first = layout.place(layout.cell, 0, 0);
  EXPECT_EQ(canvas.at(first.x + first.width + 2, first.y + 2), detail::kPaper);
  const int gap = layout.columns[1] - layout.columns[0] - layout.cell.width;
  EXPECT_GT(layout.columns[3] - layout.columns[2] - layout.cell.width, 2 * gap);
  const Rect test = layout.place(layout.cell, 0, 3);
  EXPECT_EQ(canvas.at(test.x - 2, test.y), detail::kPanel);
  EXPECT_EQ(canvas.at(test.x + test.width + 2, test.y + test.height), detail::kPanel);
}

TEST(Sheet, HistogramsHaveOneScale) {
  const Preview preview = make_preview(toy_federation(Shift::label_prior), {});
  const SheetLayout layout = sheet_layout(preview);
  const Canvas canvas = draw_sheet(preview);
  double largest = 0;
  for_each_cell(preview, [&](std::size_t, std::size_t, const PreviewCell& cell) {
    largest = std::max(largest, *std::max_element(cell.histogram.begin(), cell.histogram.end()));
  });
  for_each_cell(preview, [&](std::size_t row, std::size_t column, const PreviewCell& cell) {
    const Rect area = layout.place(layout.histogram, row, column);
    for (int c = 0; c < 10; ++c) {
      const int x = area.x + area.width * c / 10 + 1;
      int height = 0;
      while (height < area.height && canvas.at(x, area.y + area.height - 1 - height) == detail::kSoft) {
        ++height;
      }
      EXPECT_NEAR(height, cell.histogram[static_cast<std::size_t>(c)] / largest * area.height, 0.5 + 1e-9);
    }
  });
}

TEST(Sheet, SamplesAreTheClientsPictures) {
  const Preview preview = make_preview(toy_federation(Shift::covariate), {});
  const SheetLayout layout = sheet_layout(preview);
  const Canvas canvas = draw_sheet(preview);
  const PreviewCell& cell = preview.rows[1].stages[2];
  Rect area = layout.place(layout.sample, 1, 2);
  area.x += layout.sample_step;  // the second sample
  EXPECT_EQ(area.width, 64) << "8 x 8 pixels, enlarged by a whole factor";
  const auto value = [&](std::size_t channel, std::size_t y, std::size_t x) {
    return static_cast<int>(255 * cell.samples.inputs[((3 + channel) * 8 + y) * 8 + x] + 0.5F);
  };
  for (std::size_t y = 0; y < 8; ++y) {
    for (std::size_t x = 0; x < 8; ++x) {
      const Rgb pixel = canvas.at(area.x + static_cast<int>(x) * 8 + 3, area.y + static_cast<int>(y) * 8 + 4);
      EXPECT_EQ(pixel.r, value(0, y, x));
      EXPECT_EQ(pixel.g, value(1, y, x));
      EXPECT_EQ(pixel.b, value(2, y, x));
    }
  }
}

TEST(Sheet, LeftOutStagesLeaveAMarkedGap) {
  const Preview preview = make_preview(toy_federation(Shift::covariate), {.clients = 3, .stages = 2, .samples = 3});
  const SheetLayout layout = sheet_layout(preview);
  ASSERT_TRUE(layout.skipped.has_value());
  EXPECT_GT(*layout.skipped, layout.columns[0] + layout.cell.width);
  EXPECT_LT(*layout.skipped, layout.columns[1]);
  EXPECT_FALSE(is_paper(draw_sheet(preview), {*layout.skipped - 8, layout.rows[0], 16, layout.cell.height}));
  EXPECT_FALSE(sheet_layout(make_preview(toy_federation(Shift::covariate), {})).skipped.has_value());
}

TEST(Sheet, DrawsSignalsTablesAndCellsWithoutSamples) {
  for (const SampleShape shape : {SampleShape{9, 1, 16}, SampleShape{12, 1, 1}}) {
    const Federation federation(test::number_dataset(shape, 10), test::toy_scenario(Shift::label_prior));
    const Preview preview = make_preview(federation, {});
    const SheetLayout layout = sheet_layout(preview);
    const Canvas canvas = draw_sheet(preview);
    const Rect area = layout.place(layout.sample, 0, 0);
    // A ramp from the smallest value to the largest: low on the left, high on the right.
    if (preview.kind == SampleKind::signal) {
      EXPECT_EQ(canvas.at(area.x + 1, area.y + 4), detail::kPanel);
      EXPECT_NE(canvas.at(area.x + 2, area.y + area.height - 3), detail::kPanel);
      EXPECT_NE(canvas.at(area.x + area.width - 2, area.y + 2), detail::kPanel);
    }
    EXPECT_FALSE(is_paper(canvas, area));
  }
  const Preview bare = make_preview(toy_federation(Shift::covariate), {.clients = 1, .stages = 1, .samples = 0});
  EXPECT_GT(draw_sheet(bare).height(), sheet_layout(bare).rows[0]);
}

TEST(Sheet, HundredsOfLabelsFit) {
  const Federation federation(test::make_dataset(3000, 900, {1, 4, 4}, 300), test::toy_scenario(Shift::covariate));
  const Preview preview = make_preview(federation, {});
  const SheetLayout layout = sheet_layout(preview);
  EXPECT_LT(layout.histogram.width, 300) << "neighbours share a bar";
  EXPECT_GT(draw_sheet(preview).width(), 0);
}

TEST(Sheet, RefusesToBeHuge) {
  Preview preview = make_preview(toy_federation(Shift::covariate), {.clients = 1, .stages = 1, .samples = 1});
  preview.rows.resize(100'000, preview.rows.front());
  expect_error(ErrorCode::invalid_config, "show fewer clients", [&] { return draw_sheet(preview); });
}

TEST(Sheet, HasTheSameBytesTwice) {
  const auto png = [] { return encode_png(draw_sheet(make_preview(toy_federation(Shift::concept_feature), {}))); };
  EXPECT_EQ(png(), png());
}

TEST(Palette, IdsThatShareAColourDifferInTheirDashes) {
  for (int a = 1; a <= 32; ++a) {
    for (int b = 1; b < a; ++b) {
      const detail::IdMark first = detail::mark_of(a);
      const detail::IdMark second = detail::mark_of(b);
      EXPECT_TRUE(first.colour != second.colour || first.dash != second.dash) << a << " and " << b;
    }
  }
}

}  // namespace
}  // namespace feroma
