#pragma once

#include <vector>

#include "feroma/preview/preview.h"

namespace feroma::detail {

/// Sums up what a client holds; all cells of a preview choose their samples by the same order of classes.
class CellMaker {
 public:
  /// `class_order` lists all classes; samples of the first ones are shown where a cell has enough of them.
  CellMaker(std::vector<int> class_order, int classes, int samples);

  /// The cell of a client that holds both views; samples to show are taken from the first.
  [[nodiscard]] PreviewCell make(int distribution, const View& view, const View& more) const;

 private:
  /// Positions of the samples to show: one of each class before a second one of any.
  [[nodiscard]] std::vector<std::uint32_t> choose(const View& view) const;

  std::vector<int> class_order_;
  int classes_;
  int samples_;
};

}  // namespace feroma::detail
