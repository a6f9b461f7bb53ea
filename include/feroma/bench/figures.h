#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "feroma/bench/quartiles.h"

namespace feroma {

/// How much to measure, and for whom.
struct BenchOptions {
  bool quick = false;  ///< fewer repeats and smaller runs: does it work, rather than how fast is it
  int threads = 1;     ///< workers of whole runs
  std::function<void(std::string_view)> say;  ///< what is being measured now
};

/// What one measurement gave: figures, the raw values behind them (name ends in the unit), and remarks on either.
struct Readings {
  std::map<std::string, Quartiles> values;
  std::map<std::string, std::string> notes;

  void merge(Readings other);
};

/// What a figure should be.
struct Target {
  enum class Side { at_least, at_most, below };
  Side side = Side::at_least;
  double limit = 0;

  [[nodiscard]] bool met(double value) const;
};

/// One row of the table of figures. Figures that are ratios of the same interleaved run share a measurement.
struct FigureEntry {
  std::string_view name;
  std::string_view about;
  std::optional<Target> target;
  Readings (*measure)(const BenchOptions& options);
};
[[nodiscard]] const std::vector<FigureEntry>& known_figures();
/// The entry of a name; an unknown name is an invalid_config error that lists the known ones.
[[nodiscard]] const FigureEntry& find_figure(std::string_view name);

/// Measures every figure of this build, or only the one named; a figure that cannot be measured here has no value and
/// a note that says why.
[[nodiscard]] Readings measure_figures(const BenchOptions& options, std::optional<std::string_view> only);

/// The kind of machine a figure was measured on.
struct Machine {
  std::string cpu;  ///< as the operating system names it
  int cores = 1;
  std::string simd_target;
};
[[nodiscard]] Machine this_machine();

}  // namespace feroma
