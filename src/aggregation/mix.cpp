#include "feroma/aggregation/mix.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "aggregation/mix_kernel.h"
#include "feroma/core/error.h"

namespace feroma {
namespace {

using detail::kPassSources;
using detail::kTileRows;
using detail::kTileValues;
using detail::TileSource;

/// Ranges of one task: enough to pay for its working memory, few enough to share out among cores.
constexpr std::size_t kRangesPerTask = 32;

/// Weights too small for a normal float count as zero. Next to weights that sum to 1 they are lost in rounding, and
/// processors are slow with them: a kernel's far neighbours made mixing twenty models take 19 ms instead of 4.
std::vector<float> without_subnormals(std::span<const float> weights) {
  std::vector<float> normal(weights.begin(), weights.end());
  for (float& weight : normal) {
    weight = std::abs(weight) < std::numeric_limits<float>::min() ? 0.0F : weight;
  }
  return normal;
}

/// Neighbouring outputs that are summed together.
struct RowTile {
  std::size_t first = 0;
  std::size_t rows = 0;  ///< kTileRows or 1
};

/// Whether neighbouring rows take from the same sources; only then can they be summed together, since not even a zero
/// of a broken model may reach a row that does not want it.
bool share_sources(std::span<const float> weights, std::size_t sources, std::size_t rows) {
  for (std::size_t s = 0; s < sources; ++s) {
    for (std::size_t r = 1; r < rows; ++r) {
      if ((weights[r * sources + s] != 0) != (weights[s] != 0)) {
        return false;
      }
    }
  }
  return true;
}

std::vector<RowTile> make_tiles(std::span<const float> weights, std::size_t sources, std::size_t rows) {
  std::vector<RowTile> tiles;
  for (std::size_t first = 0; first < rows;) {
    const bool full = first + kTileRows <= rows && share_sources(weights.subspan(first * sources), sources, kTileRows);
    tiles.push_back({first, full ? kTileRows : 1});
    first += tiles.back().rows;
  }
  return tiles;
}

/// Adds a few sources to one tile's sums.
struct TilePass {
  RowTile tile;
  std::size_t begin = 0;  ///< of its sources in the plan
  std::size_t end = 0;
};

/// What every output takes from whom, in the order in which it is added: all tiles pass over the first few sources,
/// then all over the next few. The weights lie in that order too, because they are read once for every range.
struct Plan {
  std::vector<TileSource> sources;
  std::vector<TilePass> passes;
};

Plan make_plan(std::span<const float> weights, std::size_t sources, std::span<const RowTile> tiles) {
  Plan plan;
  for (std::size_t first = 0; first < sources; first += kPassSources) {
    for (const RowTile& tile : tiles) {
      const std::size_t begin = plan.sources.size();
      for (std::size_t s = first; s < std::min(sources, first + kPassSources); ++s) {
        if (weights[tile.first * sources + s] != 0) {
          TileSource& source = plan.sources.emplace_back(TileSource{.source = s});
          for (std::size_t r = 0; r < tile.rows; ++r) {
            source.weights[r] = weights[(tile.first + r) * sources + s];
          }
        }
      }
      if (begin < plan.sources.size()) {
        plan.passes.push_back({tile, begin, plan.sources.size()});
      }
    }
  }
  return plan;
}

/// So many values of one model, at the start of a cache line: a vector that straddles two lines is loaded twice.
struct alignas(64) Range {
  float values[kTileValues];
};

/// The same range of every source, side by side where several tiles will read it.
class Panel {
 public:
  Panel(std::span<const ParametersPtr> sources, bool copied) : sources_(sources), begins_(sources.size()) {
    copies_.resize(copied ? sources.size() : 0);
  }

  void move_to(std::size_t begin, std::size_t length) {
    for (std::size_t s = 0; s < sources_.size(); ++s) {
      const std::span<const float> range = sources_[s]->values().subspan(begin, length);
      begins_[s] = range.data();
      if (!copies_.empty()) {
        std::copy(range.begin(), range.end(), copies_[s].values);
        begins_[s] = copies_[s].values;
      }
    }
  }
  [[nodiscard]] std::span<const float* const> begins() const { return begins_; }

 private:
  std::span<const ParametersPtr> sources_;
  std::vector<const float*> begins_;
  std::vector<Range> copies_;
};

/// The sums of every row over one range; contiguous, because the same range of many models shares few cache sets.
void sum_range(const Plan& plan, const Panel& panel, std::size_t length, std::span<Range> sums) {
  std::fill(sums.begin(), sums.end(), Range{});
  for (const TilePass& pass : plan.passes) {
    detail::mix_pass({std::span(plan.sources).subspan(pass.begin, pass.end - pass.begin), panel.begins(),
                      sums[pass.tile.first].values, pass.tile.rows, length});
  }
}

}  // namespace

std::vector<Parameters> mix(std::span<const ParametersPtr> sources, std::span<const float> all_weights,
                            const Parallel& parallel) {
  require(!sources.empty() && all_weights.size() % sources.size() == 0, ErrorCode::internal,
          "[aggregation] {} weights cannot be rows over {} models", all_weights.size(), sources.size());
  const std::vector<float> weights = without_subnormals(all_weights);
  const std::size_t rows = weights.size() / sources.size();
  const std::size_t size = sources.front()->size();
  for (const ParametersPtr& source : sources) {
    require(source->size() == size, ErrorCode::internal, "[aggregation] models of {} and {} values cannot be mixed",
            size, source->size());
  }
  std::vector<Parameters> outputs;
  outputs.reserve(rows);
  for (std::size_t r = 0; r < rows; ++r) {
    outputs.emplace_back(sources.front()->shared_layout());
  }
  const std::vector<RowTile> tiles = make_tiles(weights, sources.size(), rows);
  const Plan plan = make_plan(weights, sources.size(), tiles);
  const std::size_t part = kRangesPerTask * kTileValues;
  parallel((size + part - 1) / part, [&](std::size_t task) {
    Panel panel(sources, /*copied=*/tiles.size() > 1);
    std::vector<Range> sums(rows);
    for (std::size_t begin = task * part; begin < std::min(size, (task + 1) * part); begin += kTileValues) {
      const std::size_t length = std::min(kTileValues, size - begin);
      panel.move_to(begin, length);
      sum_range(plan, panel, length, sums);
      for (std::size_t r = 0; r < rows; ++r) {
        std::copy_n(sums[r].values, length, outputs[r].values().data() + begin);
      }
    }
  });
  return outputs;
}

std::vector<float> shares_of(std::span<const std::int64_t> counts) {
  double total = 0;
  for (const std::int64_t count : counts) {
    total += static_cast<double>(count);
  }
  require(total > 0, ErrorCode::internal, "[aggregation] a mean needs at least one example");
  std::vector<float> weights;
  for (const std::int64_t count : counts) {
    weights.push_back(static_cast<float>(static_cast<double>(count) / total));
  }
  return weights;
}

Parameters weighted_mean(std::span<const ParametersPtr> sources, std::span<const std::int64_t> counts) {
  require(!sources.empty() && sources.size() == counts.size(), ErrorCode::internal,
          "[aggregation] a mean needs one count per model, got {} for {}", counts.size(), sources.size());
  return std::move(mix(sources, shares_of(counts)).front());
}

Parameters extrapolate(const ParametersPtr& now, const ParametersPtr& before, double momentum) {
  const std::array sources{now, before};
  const std::array weights{static_cast<float>(1 + momentum), static_cast<float>(-momentum)};
  Parameters ahead = std::move(mix(sources, weights).front());
  const std::vector<Segment>& segments = now->layout().segments;
  for (std::size_t i = 0; i < segments.size(); ++i) {
    if (segments[i].kind == SegmentKind::buffer) {
      std::copy(now->segment(i).begin(), now->segment(i).end(), ahead.segment(i).begin());
    }
  }
  return ahead;
}

}  // namespace feroma
