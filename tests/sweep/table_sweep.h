#pragma once

#include <fmt/core.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "feroma/core/files.h"
#include "feroma/sweep/sweep.h"
#include "tests/data/synthetic.h"

namespace feroma::test {

/// The message of the error with this code that `action` throws.
template <class Action>
std::string refusal_of(ErrorCode code, Action action) {
  const Error error = error_of(action);
  EXPECT_EQ(static_cast<int>(error.code()), static_cast<int>(code)) << error.what();
  return error.what();
}

/// True if `text` holds `part`; on failure the whole text is shown.
inline ::testing::AssertionResult holds(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos ? ::testing::AssertionSuccess()
                                                   : ::testing::AssertionFailure() << '"' << part << "\" is not in:\n"
                                                                                   << text;
}

/// A sweep over a small table of one's own: a cell takes milliseconds.
class TableSweep : public ::testing::Test {
 protected:
  TableSweep() {
    const std::filesystem::path data = folder() / "table";
    std::filesystem::create_directories(data);
    std::ofstream(data / "dataset.toml") << "[dataset]\nkind = \"csv\"\nfile = \"rows.csv\"\nlabel_column = \"y\"\n";
    std::ofstream rows(data / "rows.csv");
    rows << "x,y\n";
    for (int i = 0; i < 120; ++i) {
      rows << i % 7 << ',' << (i % 7 < 3 ? 0 : 1) << '\n';
    }
    write("base.toml", fmt::format("[scenario]\ndataset = '{}'\nshift = 'iid'\ndrift_mode = 'static'\nclients = 2\n"
                                   "rounds = 3\ndrifts = 1\n[training]\nmodel = 'mlp'\n"
                                   "[[algorithm]]\nname = 'fedavg'\n[[algorithm]]\nname = 'fedprox'\n",
                                   data.string()));
  }

  [[nodiscard]] const std::filesystem::path& folder() const { return scratch_.path(); }
  [[nodiscard]] std::filesystem::path out() const { return folder() / "out"; }
  std::filesystem::path write(const std::string& name, const std::string& text) const {
    std::ofstream(folder() / name) << text;
    return folder() / name;
  }
  [[nodiscard]] Sweep sweep(const std::string& text, const SweepChanges& changes = {}) const {
    return read_sweep(write("grid.toml", text), changes);
  }
  std::vector<CellOutcome> run(const Sweep& sweep, SweepOptions options = {}) const {
    if (options.out.empty()) {
      options.out = out();
    }
    return run_sweep(sweep, options, stop_);
  }

  /// Everything in a cell's summary.json except times and memory.
  static nlohmann::json figures(const std::filesystem::path& cell) {
    nlohmann::json summary = nlohmann::json::parse(read_text(cell / "summary.json"));
    for (nlohmann::json& result : summary["results"]) {
      for (const char* key : {"seconds_total", "seconds", "samples_per_second", "peak_rss_bytes"}) {
        result.erase(key);
      }
    }
    return summary;
  }

  std::atomic<bool> stop_ = false;

 private:
  ScratchFolder scratch_;
};

}  // namespace feroma::test
