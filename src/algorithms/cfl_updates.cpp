#include "algorithms/cfl_updates.h"

#include <algorithm>
#include <cmath>

#include "algorithms/prox.h"
#include "feroma/aggregation/mix.h"

namespace feroma {
namespace {

/// Keeps the cosine of an update of length 0 finite.
constexpr double kSmallestNorm = 1e-12;

float change_at(const CflUpdate& update, std::size_t i) {
  return update.model->values()[i] - update.start->values()[i];
}

/// Calls `use` with the place of every value that is trained.
template <class Use>
void for_each_change(const CflUpdate& update, Use use) {
  for_each_trained(update.start->layout(), [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      use(i);
    }
  });
}

double length_of(const CflUpdate& update) { return std::sqrt(update_product(update, update)); }

}  // namespace

double update_product(const CflUpdate& a, const CflUpdate& b) {
  double sum = 0;
  for_each_change(
      a, [&](std::size_t i) { sum += static_cast<double>(change_at(a, i)) * static_cast<double>(change_at(b, i)); });
  return sum;
}

double mean_norm(const CflUpdates& updates) {
  double examples = 0;
  for (const CflUpdate& update : updates) {
    examples += static_cast<double>(update.num_examples);
  }
  std::vector<double> mean(updates.front().start->size());
  for (const CflUpdate& update : updates) {
    const double weight = static_cast<double>(update.num_examples) / examples;
    for_each_change(update, [&](std::size_t i) { mean[i] += weight * static_cast<double>(change_at(update, i)); });
  }
  double squares = 0;
  for (const double value : mean) {
    squares += value * value;
  }
  return std::sqrt(squares);
}

double size_of(const CflUpdate& update, CflNorm norm) {
  switch (norm) {
    case CflNorm::l2: return length_of(update);
    case CflNorm::largest_coordinate: {
      float largest = 0;
      for_each_change(update, [&](std::size_t i) { largest = std::max(largest, std::abs(change_at(update, i))); });
      return static_cast<double>(largest);
    }
  }
  unreachable();
}

Matrix update_cosines(const CflUpdates& updates, const Parallel& parallel) {
  std::vector<double> lengths(updates.size());
  parallel(updates.size(), [&](std::size_t i) { lengths[i] = length_of(updates[i]); });
  Matrix cosines(updates.size(), updates.size(), 1.0);
  parallel(updates.size(), [&](std::size_t i) {
    for (std::size_t j = i + 1; j < updates.size(); ++j) {
      cosines.at(i, j) = update_product(updates[i], updates[j]) / (lengths[i] * lengths[j] + kSmallestNorm);
    }
  });
  return cosines;
}

double mean_cosine(const CflUpdate& update, const CflUpdates& others) {
  const double length = length_of(update);
  double sum = 0;
  for (const CflUpdate& other : others) {
    sum += update_product(update, other) / (length * length_of(other) + kSmallestNorm);
  }
  return sum / static_cast<double>(others.size());
}

ParametersPtr mean_model(const CflUpdates& updates) {
  std::vector<ParametersPtr> models;
  std::vector<std::int64_t> counts;
  for (const CflUpdate& update : updates) {
    models.push_back(update.model);
    counts.push_back(update.num_examples);
  }
  return share(weighted_mean(models, counts));
}

}  // namespace feroma
