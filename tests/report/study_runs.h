#pragma once

#include <fmt/core.h>

#include <filesystem>
#include <string>
#include <vector>

#include "feroma/core/files.h"
#include "feroma/report/run_data.h"
#include "feroma/report/run_set.h"
#include "feroma/report/study.h"
#include "feroma/report/summary.h"
#include "tests/core/temp_folder.h"
#include "tests/report/sample_run.h"

namespace feroma::test {

/// A finished run of a cell of the paper's, by its config and results alone.
struct CellRun {
  std::string shift = "covariate";
  std::string level = "low";
  int drifts = 5;
  int seed = 42;
  int clients = 20;
  std::string dataset = "mnist";
  std::string more = {};    ///< further lines of [scenario]
  std::string tables = {};  ///< further tables
  std::string model = "lenet5";
  std::string keys = {};  ///< further lines of every [[algorithm]]
  int rounds = 20;
  std::string manifest = "{}\n";
};

inline void write_cell(const std::filesystem::path& folder, const CellRun& cell, std::vector<ResultRecord> results) {
  std::string config = fmt::format(
      "[scenario]\ndataset = \"{}\"\nshift = \"{}\"\nlevel = \"{}\"\ngenerator = \"feroma\"\ndrifts = {}\nrounds = {}\n"
      "clients = {}\nseed = {}\n{}\n[training]\nmodel = \"{}\"\n{}\n",
      cell.dataset, cell.shift, cell.level, cell.drifts, cell.rounds, cell.clients, cell.seed, cell.more, cell.model,
      cell.tables);
  for (ResultRecord& result : results) {
    result.seed = cell.seed;
    config +=
        fmt::format("[[algorithm]]\nname = \"{}\"\nlabel = \"{}\"\n{}", result.algorithm, result.label, cell.keys);
  }
  make_writable_folder(folder);
  write_file_atomically(folder / "config.toml", config);
  write_file_atomically(folder / "manifest.json", cell.manifest);
  write_summary(folder / "summary.json", {scenario_of(parse_settings(config, "config")), results});
}

inline RunSet runs_in(const std::filesystem::path& folder, bool keep_going = false) {
  return find_runs(std::vector{folder}, keep_going);
}

inline Study study_of(const TempFolder& folder, const StudyOptions& options = {}) {
  return make_study(runs_in(folder.path()), options, published_figures());
}

/// Two settings with three seeds each, in which feroma leads fedavg and fedavg leads ifca.
inline void write_study(const TempFolder& folder) {
  for (int seed = 42; seed < 45; ++seed) {
    for (const int drifts : {5, 10}) {
      const double extra = seed - 42;
      write_cell(folder / fmt::format("d{}-s{}", drifts, seed), {.drifts = drifts, .seed = seed},
                 {sample_result("ifca", 40 + extra), sample_result("fedavg", 70 + 2 * extra),
                  sample_result("feroma-auto", 90 + extra)});
    }
  }
}

/// The line that starts like this; empty where there is none.
inline std::string line_with(const std::string& text, const std::string& start) {
  const std::size_t at = text.find("\n" + start) + 1;
  return at == 0 ? "" : text.substr(at, text.find('\n', at) - at);
}

/// A sample run with profiles: two numbers per client that tell its distribution.
inline RunData run_with_profiles(const TempFolder& folder, const SampleRun& sample = {}) {
  write_sample_run(folder / "run", sample);
  RunWriter writer(folder / "run", RunWriter::Mode::resume);
  for (int round = sample.warm_up + 1; round <= sample.rounds; ++round) {
    ProfileRecord record{"feroma-auto", round, static_cast<std::size_t>(sample.clients), {}};
    for (int k = 0; k < sample.clients; ++k) {
      record.values.push_back(sample_distribution(sample, k, round));
      record.values.push_back(0.1 * k);
    }
    writer.profiles(record);
  }
  return load_run(folder / "run");
}

}  // namespace feroma::test
