#include "feroma/mapping/distance.h"

#include <cmath>

#include "feroma/core/error.h"

namespace feroma {
namespace {

void check_sizes(std::size_t a, std::size_t b) {
  require(a == b, ErrorCode::internal, "[mapping] profiles of {} and {} values cannot be compared", a, b);
}

}  // namespace

double euclidean(std::span<const double> a, std::span<const double> b) {
  check_sizes(a.size(), b.size());
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    sum += (a[i] - b[i]) * (a[i] - b[i]);
  }
  return std::sqrt(sum);
}

double cosine(std::span<const double> a, std::span<const double> b) {
  check_sizes(a.size(), b.size());
  double dot = 0;
  double aa = 0;
  double bb = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    dot += a[i] * b[i];
    aa += a[i] * a[i];
    bb += b[i] * b[i];
  }
  return aa > 0 && bb > 0 ? 1.0 - dot / (std::sqrt(aa) * std::sqrt(bb)) : 1.0;
}

NoisyDistance reliable_distance(const Reliability& reliability, const Signature& a, const Signature& b) {
  check_sizes(a.values.size(), b.values.size());
  NoisyDistance distance;
  double total = 0;
  for (std::size_t i = 0; i < a.values.size(); ++i) {
    if (reliability.share[i] <= 0 || a.noise[i] < 0 || b.noise[i] < 0) {
      continue;
    }
    const double weight = reliability.share[i] / reliability.variance[i];
    distance.squared += weight * (a.values[i] - b.values[i]) * (a.values[i] - b.values[i]);
    distance.floor += weight * (a.noise[i] + b.noise[i]);
    total += reliability.share[i];
  }
  if (total > 0) {
    distance.squared /= total;
    distance.floor /= total;
  }
  return distance;
}

}  // namespace feroma
