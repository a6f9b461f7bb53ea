#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "feroma/report/run_data.h"
#include "feroma/report/study.h"

namespace feroma {

/// A figure of a report.
struct Figure {
  std::string name;  ///< of its file, without an ending
  std::string title;
  std::string caption;  ///< what is seen, in a sentence or two
  std::string svg;      ///< as part of a page
  std::string numbers;  ///< the values as an HTML table; empty where the caption says it all

  /// The figure as a file of its own, in light and dark.
  [[nodiscard]] std::string file() const;
  [[nodiscard]] int width() const;  ///< of that file, in pixels
  [[nodiscard]] int height() const;
};

/// Figures of the whole study: ranks, what runs differ in, costs.
[[nodiscard]] std::vector<Figure> study_figures(const Study& study, const std::vector<PublishedFigure>& published);
/// Figures of one run: accuracy with its clients, profiles, mixing.
[[nodiscard]] std::vector<Figure> run_figures(const RunData& run);
/// Lines on what is not drawn of a run, and why.
[[nodiscard]] std::vector<std::string> undrawn_figures(const RunData& run);

/// Runs whose own figures are drawn, one for each of the first `most` settings and named after it: of every label the
/// run with the least seed, joined. A run whose files are damaged is an error that names the file, or a line of
/// `damaged` where that is given.
[[nodiscard]] std::vector<RunData> drawn_runs(const Study& study, std::size_t most,
                                              std::vector<std::string>* damaged = nullptr);

/// One page with everything, which needs nothing else.
[[nodiscard]] std::string study_html(const Study& study, const std::vector<PublishedFigure>& published,
                                     const std::vector<RunData>& runs, const std::string& title);

}  // namespace feroma
