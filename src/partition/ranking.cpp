#include "feroma/partition/ranking.h"

#include <algorithm>

#include "feroma/core/portable_math.h"

namespace feroma {

std::vector<double> softmax(std::span<const double> logits) {
  const double largest = *std::max_element(logits.begin(), logits.end());
  std::vector<double> probabilities;
  probabilities.reserve(logits.size());
  double sum = 0;
  for (const double logit : logits) {
    probabilities.push_back(portable_exp(logit - largest));
    sum += probabilities.back();
  }
  for (double& p : probabilities) {
    p /= sum;
  }
  return probabilities;
}

std::vector<double> ranking(std::size_t count, double scale) {
  std::vector<double> logits(count);
  for (std::size_t rank = 0; rank < count; ++rank) {
    logits[rank] = -scale * static_cast<double>(rank);
  }
  return softmax(logits);
}

std::size_t pick(std::span<const double> probabilities, Rng& rng) {
  double left = rng.uniform();
  for (std::size_t i = 0; i + 1 < probabilities.size(); ++i) {
    left -= probabilities[i];
    if (left < 0) {
      return i;
    }
  }
  return probabilities.size() - 1;
}

}  // namespace feroma
