#include "feroma/preview/canvas.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "tests/expect_error.h"

namespace feroma {
namespace {

constexpr Rgb kWhite{255, 255, 255};
constexpr Rgb kBlack{0, 0, 0};
constexpr Rgb kBlue{0, 0, 255};

auto count(const Canvas& canvas, Rgb colour) {
  return std::count(canvas.pixels().begin(), canvas.pixels().end(), colour);
}

TEST(Canvas, StartsAsPaperAndRefusesToBeEmpty) {
  const Canvas canvas(3, 2, kBlue);
  EXPECT_EQ(canvas.pixels().size(), 6U);
  EXPECT_EQ(count(canvas, kBlue), 6);
  expect_error(ErrorCode::internal, "got 0 x 2", [] { return Canvas(0, 2, kWhite); });
  expect_error(ErrorCode::internal, "got (3, 0)", [&] { return canvas.at(3, 0); });
}

TEST(Canvas, BlendsByCoverage) {
  Canvas canvas(1, 1, kBlack);
  canvas.blend_(0, 0, {200, 100, 0}, 0.5);
  EXPECT_EQ(canvas.at(0, 0), (Rgb{100, 50, 0}));
  canvas.blend_(0, 0, kBlue);
  EXPECT_EQ(canvas.at(0, 0), kBlue);
  canvas.blend_(-1, 5, kWhite);  // outside: cut off
  EXPECT_EQ(canvas.at(0, 0), kBlue);
}

TEST(CanvasFill, CutsOffWhatIsOutside) {
  Canvas canvas(4, 4, kWhite);
  fill_(canvas, {2, 3, 10, 10}, kBlack);
  EXPECT_EQ(count(canvas, kBlack), 2);
  fill_(canvas, {-5, -5, 6, 6}, kBlue);
  EXPECT_EQ(canvas.at(0, 0), kBlue);
  EXPECT_EQ(count(canvas, kBlue), 1);
}

TEST(CanvasFrame, IsABorderOfTheGivenThickness) {
  Canvas canvas(10, 8, kWhite);
  frame_(canvas, {0, 0, 10, 8}, 2, kBlack);
  EXPECT_EQ(count(canvas, kWhite), 6 * 4);
  EXPECT_EQ(canvas.at(1, 1), kBlack);
  EXPECT_EQ(canvas.at(2, 2), kWhite);
  EXPECT_EQ(canvas.at(8, 6), kBlack);
}

TEST(CanvasFrame, DashesAlternateWithAPaleColour) {
  Canvas canvas(12, 12, kWhite);
  frame_(canvas, {0, 0, 12, 12}, 1, kBlack, 3);
  EXPECT_EQ(canvas.at(0, 0), kBlack);
  EXPECT_EQ(canvas.at(2, 0), kBlack);
  EXPECT_EQ(canvas.at(3, 0), canvas.at(5, 0));
  EXPECT_NE(canvas.at(3, 0), kBlack);
  EXPECT_NE(canvas.at(3, 0), kWhite) << "the border must not have holes";
  EXPECT_EQ(canvas.at(6, 0), kBlack);
}

TEST(CanvasBlit, RepeatsPixelsByWholeFactors) {
  Canvas canvas(6, 4, kWhite);
  const std::vector<Rgb> picture{kBlack, kBlue, kBlue, kBlack};
  blit_(canvas, {1, 0, 4, 4}, picture, 2, 2);
  EXPECT_EQ(canvas.at(0, 0), kWhite);
  EXPECT_EQ(canvas.at(1, 0), kBlack);
  EXPECT_EQ(canvas.at(2, 1), kBlack);
  EXPECT_EQ(canvas.at(3, 1), kBlue);
  EXPECT_EQ(canvas.at(4, 3), kBlack);
  EXPECT_EQ(canvas.at(5, 3), kWhite);
  expect_error(ErrorCode::internal, "got 4", [&] {
    blit_(canvas, {0, 0, 2, 2}, picture, 3, 2);
    return 0;
  });
}

TEST(CanvasPolyline, CoversItsThicknessAndEachPixelOnce) {
  Canvas canvas(12, 8, kWhite);
  // The way back covers the same pixels: half covered ones must not become darker.
  const std::vector<Point> there_and_back{{2, 4}, {9, 4}, {2, 4}};
  polyline_(canvas, there_and_back, 3, kBlack);
  EXPECT_EQ(canvas.at(5, 4), kBlack);
  EXPECT_EQ(canvas.at(5, 3), kBlack);
  EXPECT_EQ(canvas.at(5, 5), (Rgb{128, 128, 128}));
  EXPECT_EQ(canvas.at(5, 2), (Rgb{128, 128, 128}));
  EXPECT_EQ(canvas.at(5, 6), kWhite);
  EXPECT_EQ(canvas.at(11, 4), kWhite);
}

TEST(CanvasPolyline, OnePointIsADotAndNoneIsNothing) {
  Canvas canvas(5, 5, kWhite);
  polyline_(canvas, std::vector<Point>{}, 2, kBlack);
  EXPECT_EQ(count(canvas, kWhite), 25);
  polyline_(canvas, std::vector<Point>{{2.5, 2.5}}, 1, kBlack);
  EXPECT_EQ(canvas.at(2, 2), kBlack);
  EXPECT_EQ(canvas.at(0, 0), kWhite);
}

TEST(CanvasBars, RiseFromTheLowerEdge) {
  Canvas canvas(30, 10, kWhite);
  bars_(canvas, {0, 0, 30, 10}, std::vector<double>{1, 0.5, 0}, kBlack);
  EXPECT_EQ(canvas.at(0, 0), kBlack);
  EXPECT_EQ(canvas.at(10, 4), kWhite);
  EXPECT_EQ(canvas.at(10, 5), kBlack);
  EXPECT_EQ(canvas.at(20, 9), kWhite);
  EXPECT_EQ(canvas.at(9, 9), kWhite) << "bars stand apart";
}

TEST(CanvasBars, LittleIsMoreThanNothing) {
  Canvas canvas(4, 10, kWhite);
  bars_(canvas, {0, 0, 4, 10}, std::vector<double>{0.001, 0}, kBlack);
  EXPECT_EQ(canvas.at(0, 9), kBlack);
  EXPECT_EQ(canvas.at(0, 8), kWhite);
  EXPECT_EQ(canvas.at(2, 9), kWhite);
}

}  // namespace
}  // namespace feroma
