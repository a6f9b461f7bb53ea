#include <fmt/core.h>

#include <algorithm>
#include <numeric>

#include "bench/covariance.h"
#include "bench/requirement_parts.h"

namespace feroma::detail {
namespace {

constexpr double kHalf = 0.5;  // a mask or half keeps this share of the samples
/// The paper's figure for its bound on the covariance, at more than 300 samples.
constexpr double kPublishedCovariance = 2.2e-3;

double widest_variance(const std::vector<std::vector<double>>& rows) {
  const Matrix covariance = covariance_of(rows);
  return variance_along(covariance, widest_direction(covariance));
}

/// Bounds on the covariance of moments of M masks of n rows: tau^2 / (M gamma n).
struct CovarianceBounds {
  double printed = 0;  ///< tau^2 of the widest coordinate, n = all rows
  double corrected =
      0;  ///< tau^2 of the widest direction of means and spreads, n = the rows of a class; all rows' added
};

CovarianceBounds covariance_bounds(const Rows& rows, std::span<const std::int32_t> labels, int classes, int masks) {
  const double taken = masks * kHalf;
  CovarianceBounds bounds;
  double widest_class = 0;
  for (int u = -1; u < classes; ++u) {  // -1: all of them
    std::vector<std::uint32_t> members;
    for (std::uint32_t i = 0; i < rows.count(); ++i) {
      if (u < 0 || labels[i] == u) {
        members.push_back(i);
      }
    }
    if (members.size() < 2) {
      continue;
    }
    const double direction = widest_variance(influences(rows, members)) / (taken * static_cast<double>(members.size()));
    (u < 0 ? bounds.corrected : widest_class) = u < 0 ? direction : std::max(widest_class, direction);
    for (const float std : moments_of(rows, members).std) {
      const auto spread = static_cast<double>(std);
      bounds.printed = std::max(bounds.printed, spread * spread / (taken * static_cast<double>(rows.count())));
    }
  }
  bounds.corrected += widest_class;  // classes do not move together, but each does with the whole
  return bounds;
}

/// Repeated profiles of one client, as vectors.
struct Repeats {
  std::vector<std::vector<double>> first;  ///< half of them
  std::vector<std::vector<double>> second;
};

/// The variance in the widest direction: found on one half and measured on the other, so that chance adds nothing.
double repeated_variance(const Repeats& repeats) {
  return variance_along(covariance_of(repeats.second), widest_direction(covariance_of(repeats.first)));
}

double largest_coordinate(const Repeats& repeats) {
  const Matrix covariance = covariance_of(repeats.first);
  double largest = 0;
  for (std::size_t c = 0; c < covariance.rows; ++c) {
    largest = std::max(largest, covariance.at(c, c));
  }
  return largest;
}

/// By how much the spreads of classes are too small on average, as a share of them.
double spread_bias(const std::vector<std::vector<double>>& repeats, const std::vector<float>& whole,
                   const ProfileShape& shape) {
  double sum = 0;
  double count = 0;
  const auto width = static_cast<std::size_t>(shape.conditional);
  for (std::size_t begin = shape.label_free_size() + width; begin < shape.size(); begin += 2 * width) {
    for (std::size_t c = begin; c < begin + width; ++c) {
      if (whole[c] > 0) {
        double mean = 0;
        for (const auto& repeat : repeats) {
          mean += repeat[c] / static_cast<double>(repeats.size());
        }
        sum += 1 - mean / static_cast<double>(whole[c]);
        count += 1;
      }
    }
  }
  return count > 0 ? sum / count : 0;
}

}  // namespace

void measure_covariance(Probe& paper, int repeats, Requirement& r3) {
  using enum Target::Side;
  const DataVersion& version = paper.versions().front();
  const FeromaOptions& options = paper.options();
  const int classes = paper.cell().model().classes;
  EncodedSamples samples;
  paper.cell().each(1, [&](std::size_t, Trainer& trainer) {
    samples = paper.profiled_samples(version, version.rounds.front(), trainer);
  });
  const Rows rows = project(paper.extractor().projector, samples.rows);
  const auto profile = [&](Subsampling mode, Rng rng) {
    return encode(make_profile(rows, rows, {samples.labels, {}}, classes,
                               {mode, options.replicates, options.missing_class}, std::move(rng)),
                  paper.shape());
  };
  const CovarianceBounds bounds = covariance_bounds(rows, samples.labels, classes, options.replicates);
  r3.results.push_back({"bound_printed",
                        "tau^2 / (M gamma v) with the client's own tau^2, widest coordinate",
                        bounds.printed,
                        {},
                        kPublishedCovariance});
  r3.results.push_back(
      {"bound_corrected", "with a class's samples for v, its widest direction, and spreads", bounds.corrected});
  for (const auto& [mode, name] : enum_names(Subsampling{})) {
    if (mode == Subsampling::off) {
      continue;
    }
    Repeats drawn;
    for (int i = 0; i < 2 * repeats; ++i) {
      const std::vector<float> values = profile(mode, Rng(1).derive(name, static_cast<std::uint64_t>(i)));
      (i < repeats ? drawn.first : drawn.second).emplace_back(values.begin(), values.end());
    }
    const double variance = repeated_variance(drawn);
    r3.results.push_back({fmt::format("variance_{}", name),
                          fmt::format("of repeated profiles of one client in the widest direction, {}", name),
                          variance,
                          {},
                          kPublishedCovariance});
    r3.results.push_back({fmt::format("variance_coordinate_{}", name), "the same of the widest single coordinate",
                          largest_coordinate(drawn)});
    r3.results.push_back(
        {fmt::format("over_printed_{}", name), "the variance over the printed bound", variance / bounds.printed});
    r3.results.push_back({fmt::format("over_corrected_{}", name), "and over the corrected one",
                          variance / bounds.corrected, Target{at_most, 1}});
    r3.results.push_back({fmt::format("spread_bias_{}", name), "by how much class spreads are too small, as a share",
                          spread_bias(drawn.first, profile(Subsampling::off, Rng(0)), paper.shape())});
  }
  r3.notes.push_back(
      fmt::format("covariance: one client, {} held-out samples, {} times {} profiles, P(Y|X) medium, "
                  "preset paper; no Laplace noise",
                  rows.count(), 2, repeats));
}

}  // namespace feroma::detail
