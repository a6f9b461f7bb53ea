#include <fmt/core.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>

#include "bench/measurements.h"
#include "bench/workload.h"
#include "feroma/core/error.h"
#include "feroma/runtime/run.h"

namespace feroma::detail {
namespace {

namespace fs = std::filesystem;

/// The reference implementation on two cores: 25 s to make the data and 98 s to run.
constexpr double kReferenceSeconds = 123;

/// A folder for one run, removed with everything in it.
class ScratchFolder {
 public:
  ScratchFolder() {
    std::string name = (fs::temp_directory_path() / "feroma-bench-XXXXXX").string();
    require(mkdtemp(name.data()) != nullptr, ErrorCode::io, "{}: cannot be made", name);
    path_ = name;
  }
  ~ScratchFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;

  [[nodiscard]] const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

void run_job(const std::string& dataset, int threads) {
  const ScratchFolder folder;
  const std::atomic<bool> stop = false;
  const Experiment experiment = experiment_of(job_config(), {fmt::format("scenario.dataset={}", dataset)});
  RunOptions run;
  run.out = folder.path() / "run";
  run.threads = threads;
  static_cast<void>(run_experiment(experiment, run, stop));
}

}  // namespace

Readings measure_job(const BenchOptions& options) {
  Readings readings;
  const std::string dataset = available_dataset();
  note_dataset(readings, dataset, {"job_over_reference", "job_seconds"});
  if (dataset.empty()) {
    return readings;
  }
  std::vector<double> seconds;
  std::vector<double> ratios;
  const int repeats = options.quick ? 1 : 5;
  for (int repeat = 0; repeat < repeats; ++repeat) {
    say(options, fmt::format("a whole run of 10 clients x 10 rounds on {}: {} of {}", dataset, repeat + 1, repeats));
    seconds.push_back(seconds_of([&] { run_job(dataset, options.threads); }));
    ratios.push_back(kReferenceSeconds / seconds.back());
  }
  readings.values["job_seconds"] = quartiles_of(seconds);
  readings.values["job_over_reference"] = quartiles_of(ratios);
  return readings;
}

}  // namespace feroma::detail
