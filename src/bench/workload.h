#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "feroma/bench/figures.h"
#include "feroma/core/batch.h"
#include "feroma/data/view.h"
#include "feroma/models/spec.h"
#include "feroma/runtime/experiment.h"

namespace feroma::detail {

/// Seconds on the wall that `action` takes.
template <class Action>
double seconds_of(Action&& action) {
  const auto start = std::chrono::steady_clock::now();
  action();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// Processor time of this thread so far: what others do on the machine meanwhile does not count.
[[nodiscard]] double thread_seconds();

/// Processor seconds of this thread that `action` takes.
template <class Action>
double thread_seconds_of(Action&& action) {
  const double start = thread_seconds();
  action();
  return thread_seconds() - start;
}

/// Processor seconds per call of `action`, called until `budget` seconds are used so that the clock's own cost does not
/// count.
template <class Action>
double thread_seconds_per_call(double budget, Action&& action) {
  double total = 0;
  double calls = 0;
  while (total < budget) {
    total += thread_seconds_of(action);
    calls += 1;
  }
  return total / calls;
}

/// A batch of noise in the layout of an engine.
[[nodiscard]] Batch noise_batch(const ModelSpec& spec, int size, BatchLayout layout);

/// One client's data: noise pictures as large as MNIST's, tinted, so that a batch costs what it costs in a run.
class NoiseClient {
 public:
  explicit NoiseClient(std::size_t samples);
  [[nodiscard]] const View& view() const { return view_; }

 private:
  std::unique_ptr<Samples> samples_;  // behind pointers: the view borrows both
  std::unique_ptr<Recipe> recipe_;
  View view_;
};

/// Says what is measured, where somebody listens.
void say(const BenchOptions& options, std::string_view text);

/// MNIST where it is on this machine, else Fashion-MNIST, else empty.
[[nodiscard]] std::string available_dataset();
/// Notes that `figures` were measured on another dataset than MNIST, or not at all.
void note_dataset(Readings& readings, std::string_view dataset, const std::vector<std::string>& figures);

/// A config file of this repository that is built into the library.
[[nodiscard]] std::string_view job_config();
[[nodiscard]] std::string_view overhead_config();
[[nodiscard]] std::string_view many_clients_config();
/// The experiment of such a config with some of its values replaced ("scenario.rounds=4").
[[nodiscard]] Experiment experiment_of(std::string_view config, const std::vector<std::string>& overrides);

}  // namespace feroma::detail
