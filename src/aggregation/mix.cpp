#include "feroma/aggregation/mix.h"

#include "aggregation/mix_kernel.h"
#include "feroma/core/error.h"

namespace feroma {
namespace {

/// Parameters per block: one output block and the source blocks it reads stay in the first-level caches.
constexpr std::size_t kBlock = 2048;

}  // namespace

std::vector<Parameters> mix(std::span<const ParametersPtr> sources, std::span<const float> weights) {
  require(!sources.empty() && weights.size() % sources.size() == 0, ErrorCode::internal,
          "[aggregation] {} weights cannot be rows over {} models", weights.size(), sources.size());
  const std::size_t rows = weights.size() / sources.size();
  const std::size_t size = sources.front()->size();
  std::vector<Parameters> outputs;
  outputs.reserve(rows);
  for (std::size_t r = 0; r < rows; ++r) {
    outputs.emplace_back(sources.front()->shared_layout());
  }
  for (const ParametersPtr& source : sources) {
    require(source->size() == size, ErrorCode::internal, "[aggregation] models of {} and {} values cannot be mixed",
            size, source->size());
  }
  for (std::size_t begin = 0; begin < size; begin += kBlock) {
    const std::size_t length = std::min(kBlock, size - begin);
    for (std::size_t r = 0; r < rows; ++r) {
      const auto out = outputs[r].values().subspan(begin, length);
      for (std::size_t s = 0; s < sources.size(); ++s) {
        const float weight = weights[r * sources.size() + s];
        if (weight != 0) {
          detail::add_scaled_(out, weight, sources[s]->values().subspan(begin, length));
        }
      }
    }
  }
  return outputs;
}

Parameters weighted_mean(std::span<const ParametersPtr> sources, std::span<const std::int64_t> counts) {
  require(!sources.empty() && sources.size() == counts.size(), ErrorCode::internal,
          "[aggregation] a mean needs one count per model, got {} for {}", counts.size(), sources.size());
  double total = 0;
  for (const std::int64_t count : counts) {
    total += static_cast<double>(count);
  }
  require(total > 0, ErrorCode::internal, "[aggregation] a mean needs at least one example");
  std::vector<float> weights;
  for (const std::int64_t count : counts) {
    weights.push_back(static_cast<float>(static_cast<double>(count) / total));
  }
  return std::move(mix(sources, weights).front());
}

}  // namespace feroma
