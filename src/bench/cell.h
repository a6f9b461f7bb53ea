#pragma once

#include <atomic>
#include <functional>
#include <string_view>

#include "feroma/runtime/experiment.h"
#include "feroma/runtime/round_loop.h"

namespace feroma::detail {

/// An experiment's data, model and workers, made once; every loop over it starts from the same bits.
class Cell {
 public:
  /// The experiment must outlive the cell.
  Cell(const Experiment& experiment, int threads);

  /// The rounds of the algorithm with this label.
  [[nodiscard]] RoundLoop loop(std::string_view label);

  [[nodiscard]] const Federation& federation() const { return federation_; }
  [[nodiscard]] const ModelSpec& model() const { return model_; }
  /// The run's root stream.
  [[nodiscard]] const Rng& rng() const { return rng_; }
  /// Calls task(i, trainer) for i in 0..count-1 on the loops' workers.
  void each(std::size_t count, const std::function<void(std::size_t, Trainer&)>& task) {
    workers_.run(count, task, stop_);
  }

 private:
  const Experiment& experiment_;
  Federation federation_;
  ModelSpec model_;
  Rng rng_{42};
  ParametersPtr initial_;
  std::atomic<bool> stop_ = false;
  Workers workers_;
};

/// What an algorithm itself costs: neither making data nor scoring.
[[nodiscard]] double phase_seconds(RoundLoop& loop);

}  // namespace feroma::detail
