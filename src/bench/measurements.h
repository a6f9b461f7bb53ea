#pragma once

#include "feroma/bench/figures.h"

namespace feroma::detail {

/// The FMA peak of one core and the training steps of both engines, taken in turns.
[[nodiscard]] Readings measure_steps(const BenchOptions& options);
/// A larger model's training step on both engines.
[[nodiscard]] Readings measure_resnet(const BenchOptions& options);
/// The same local training on one worker and on two.
[[nodiscard]] Readings measure_threads(const BenchOptions& options);
/// Feroma's phases against FedAvg's on the paper's MNIST P(X) cell.
[[nodiscard]] Readings measure_overhead(const BenchOptions& options);
/// Mapping and mixing of a thousand clients against their training.
[[nodiscard]] Readings measure_thousand(const BenchOptions& options);
/// What a sampled client costs, however many there are.
[[nodiscard]] Readings measure_many_clients(const BenchOptions& options);
/// A whole run from reading the data to the report.
[[nodiscard]] Readings measure_job(const BenchOptions& options);

}  // namespace feroma::detail
