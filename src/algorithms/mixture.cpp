#include "algorithms/mixture.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "feroma/core/error.h"
#include "feroma/core/portable_math.h"

namespace feroma {
namespace {

/// A share of zero has no logarithm and would never grow again.
constexpr double kLeastShare = 1e-8;
/// No label is impossible.
constexpr double kLeastLabelMass = 1e-8;
/// As near to 0 and 1 as a rate may come; 1 minus it is still below 1 as a float.
constexpr double kLeastLabelRate = 1e-7;

double log_prior(std::span<const float> priors, const View& view, std::size_t sample) {
  if (!view.samples->multi_label()) {
    const auto label = static_cast<std::size_t>(view.label(sample));
    require(label < priors.size(), ErrorCode::invalid_data, "[fedrc] a label must be below {}, got {}", priors.size(),
            label);
    return portable_log(static_cast<double>(priors[label]));
  }
  const std::span<const std::uint8_t> targets = view.targets(sample);
  double sum = 0;
  for (std::size_t u = 0; u < priors.size(); ++u) {
    const auto present = static_cast<double>(priors[u]);
    sum += portable_log(targets[u] != 0 ? present : 1.0 - present);
  }
  return sum / static_cast<double>(priors.size());
}

}  // namespace

std::vector<double> floored_shares(std::span<const float> shares) {
  std::vector<double> floored;
  double sum = 0;
  for (const float share : shares) {
    floored.push_back(std::max(static_cast<double>(share), kLeastShare));
    sum += floored.back();
  }
  for (double& share : floored) {
    share /= sum;
  }
  return floored;
}

std::vector<double> label_priors(std::vector<double> mass) {
  double sum = 0;
  for (double& value : mass) {
    value = std::max(value, kLeastLabelMass);
    sum += value;
  }
  for (double& value : mass) {
    value /= sum;
  }
  return mass;
}

std::vector<double> label_rates(std::vector<double> mass, double samples) {
  for (double& value : mass) {
    // Nobody's component: each label is as likely as not.
    value = samples > 0 ? std::clamp(value / samples, kLeastLabelRate, 1 - kLeastLabelRate) : 0.5;
  }
  return mass;
}

ComponentTable log_label_priors(std::span<const float> priors, std::size_t components, const View& view) {
  const std::size_t classes = priors.size() / components;
  ComponentTable table(components);
  for (std::size_t m = 0; m < components; ++m) {
    for (std::size_t i = 0; i < view.size(); ++i) {
      table[m].push_back(log_prior(priors.subspan(m * classes, classes), view, i));
    }
  }
  return table;
}

ComponentTable responsibilities(std::span<const double> shares, const ComponentTable& losses,
                                const ComponentTable& log_priors) {
  ComponentTable table = losses;
  const std::size_t samples = losses.front().size();
  for (std::size_t m = 0; m < losses.size(); ++m) {
    const double log_share = portable_log(shares[m]);
    for (std::size_t i = 0; i < samples; ++i) {
      table[m][i] = log_share - losses[m][i] - (log_priors.empty() ? 0.0 : log_priors[m][i]);
    }
  }
  for (std::size_t i = 0; i < samples; ++i) {
    double top = -std::numeric_limits<double>::infinity();
    for (const auto& row : table) {
      top = std::max(top, row[i]);  // never what is not a number
    }
    double sum = 0;
    for (std::size_t m = 0; m < table.size(); ++m) {
      double& value = table[m][i];
      if (std::isinf(top)) {
        value = shares[m];
      } else {
        value = std::isnan(value) ? 0.0 : portable_exp(value - top);
      }
      sum += value;
    }
    for (auto& row : table) {
      row[i] /= sum;
    }
  }
  return table;
}

std::vector<double> shares_from(const ComponentTable& responsibilities, std::span<const double> otherwise) {
  const std::size_t samples = responsibilities.front().size();
  if (samples == 0) {
    return {otherwise.begin(), otherwise.end()};
  }
  std::vector<double> shares;
  for (const auto& row : responsibilities) {
    double sum = 0;
    for (const double g : row) {
      sum += g;
    }
    shares.push_back(sum / static_cast<double>(samples));
  }
  return shares;
}

std::vector<double> shares_after(int steps, const ComponentTable& losses, const ComponentTable& log_priors) {
  std::vector<double> shares(losses.size(), 1.0 / static_cast<double>(losses.size()));
  for (int step = 0; step < steps; ++step) {
    const Floats remembered(shares.begin(), shares.end());  // as training clients do between rounds
    shares = shares_from(responsibilities(floored_shares(remembered), losses, log_priors), shares);
  }
  return shares;
}

Floats label_mass(const ComponentTable& responsibilities, const View& view, std::size_t classes) {
  std::vector<double> mass(responsibilities.size() * classes);
  for (std::size_t m = 0; m < responsibilities.size(); ++m) {
    for (std::size_t i = 0; i < view.size(); ++i) {
      if (!view.samples->multi_label()) {
        mass[m * classes + static_cast<std::size_t>(view.label(i))] += responsibilities[m][i];
        continue;
      }
      const std::span<const std::uint8_t> targets = view.targets(i);
      for (std::size_t u = 0; u < classes; ++u) {
        mass[m * classes + u] += targets[u] != 0 ? responsibilities[m][i] : 0.0;
      }
    }
  }
  return {mass.begin(), mass.end()};
}

}  // namespace feroma
