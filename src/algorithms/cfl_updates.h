#pragma once

#include <span>
#include <vector>

#include "feroma/algorithms/cfl.h"
#include "feroma/mapping/matrix.h"

namespace feroma {

/// A client's answer and the model it was trained from. The difference is never stored: it would be one more model for
/// every client.
struct CflUpdate {
  ClientId client{};
  ParametersPtr model;
  ParametersPtr start;
  std::int64_t num_examples = 0;  ///< or 1, where all clients count alike
};
using CflUpdates = std::vector<CflUpdate>;

/// The scalar product of what two clients have changed. Running statistics travel with a model but say nothing about
/// which way its clients pull, so they are left out, here and below.
[[nodiscard]] double update_product(const CflUpdate& a, const CflUpdate& b);
/// The length of the mean update, by examples.
[[nodiscard]] double mean_norm(const CflUpdates& updates);
/// How large a client's update is.
[[nodiscard]] double size_of(const CflUpdate& update, CflNorm norm);
/// The cosine of every two updates, in the upper triangle.
[[nodiscard]] Matrix update_cosines(const CflUpdates& updates, const Parallel& parallel);
/// The mean cosine of an update with others.
[[nodiscard]] double mean_cosine(const CflUpdate& update, const CflUpdates& others);
/// The mean of the clients' models, by examples.
[[nodiscard]] ParametersPtr mean_model(const CflUpdates& updates);

}  // namespace feroma
