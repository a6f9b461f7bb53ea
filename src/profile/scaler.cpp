#include "feroma/profile/scaler.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "feroma/core/error.h"

namespace feroma {
namespace {

/// Var(std estimate) = std^2 / (2 n) holds for Gaussians; pooled ReLU features have heavier tails.
constexpr double kStdNoise = 1.5;
/// A coordinate must vary over clients by this multiple of its noise before it counts.
constexpr double kCaution = 2.0;
/// Two samples have a spread; a little less, because counts come back from rounded shares.
constexpr double kFewestSamples = 1.99;

std::vector<BlockScaler::Block> blocks_of(const ProfileShape& shape) {
  std::vector<BlockScaler::Block> blocks;
  std::size_t begin = 0;
  const auto add = [&](int size) {
    blocks.push_back({begin, static_cast<std::size_t>(size), 0, 1});
    begin += static_cast<std::size_t>(size);
  };
  add(shape.marginal);
  add(shape.marginal);
  for (int u = 0; u < shape.classes; ++u) {
    add(shape.conditional);
    add(shape.conditional);
  }
  if (shape.priors) {
    add(shape.classes);
  }
  return blocks;
}

/// Noise of a spread, in units of its square over the samples. Of an activation that is rarely above 0, few samples
/// make all of it; how rare it is tells the spread beside the mean.
double spread_noise(double mean, double spread, bool activation) {
  const double rare = activation && mean > 0 ? 0.5 * (spread / mean) * (spread / mean) : 0.0;
  return std::max(kStdNoise, rare);
}

void append_moments(Signature& signature, const Moments& moments, double samples, const ProfileShape& shape,
                    bool activations) {
  const bool absent = samples < kFewestSamples;
  // What was added on purpose may have taken a variance below 0.
  const auto deviation = [&shape](float spread) {
    return static_cast<double>(shape.variances ? std::sqrt(std::max(spread, 0.0F)) : spread);
  };
  for (const float mean : moments.mean) {
    signature.values.push_back(static_cast<double>(mean));
  }
  for (const float std : moments.std) {
    signature.values.push_back(deviation(std));
  }
  for (const float std : moments.std) {
    const double spread = deviation(std);
    signature.noise.push_back(absent ? -1 : spread * spread / samples);
  }
  for (std::size_t i = 0; i < moments.std.size(); ++i) {
    const double spread = deviation(moments.std[i]);
    const double factor = spread_noise(static_cast<double>(moments.mean[i]), spread, activations);
    signature.noise.push_back(absent ? -1 : factor * spread * spread / samples);
  }
}

/// Noise that was added on purpose comes on top of that of sampling.
Signature with_added_noise(Signature signature, std::span<const float> added) {
  for (std::size_t i = 0; i < std::min(signature.noise.size(), added.size()); ++i) {
    signature.noise[i] += signature.noise[i] < 0 ? 0.0 : static_cast<double>(added[i]);
  }
  return signature;
}

}  // namespace

BlockScaler fit_block_scaler(std::span<const std::vector<float>> profiles, const ProfileShape& shape) {
  BlockScaler scaler{blocks_of(shape)};
  for (auto& block : scaler.blocks) {
    double low = std::numeric_limits<double>::infinity();
    double high = -low;
    for (const auto& profile : profiles) {
      require(profile.size() == shape.size(), ErrorCode::internal, "[profile] scaler got {} values, expected {}",
              profile.size(), shape.size());
      for (std::size_t i = block.begin; i < block.begin + block.size; ++i) {
        low = std::min(low, static_cast<double>(profile[i]));
        high = std::max(high, static_cast<double>(profile[i]));
      }
    }
    block.min = low;
    block.factor = high > low ? 1.0 / (high - low) : 1.0;
  }
  return scaler;
}

std::vector<double> scale(const BlockScaler& scaler, std::span<const float> profile) {
  std::vector<double> scaled(profile.begin(), profile.end());
  for (const auto& block : scaler.blocks) {
    for (std::size_t i = block.begin; i < std::min(block.begin + block.size, profile.size()); ++i) {
      scaled[i] = (scaled[i] - block.min) * block.factor;
    }
  }
  return scaled;
}

Signature signature_of(const Profile& profile, const ProfileShape& shape, bool label_free) {
  Signature signature;
  const auto samples = static_cast<double>(profile.num_samples);
  append_moments(signature, profile.marginal, samples, shape, shape.activations);
  if (label_free) {
    return with_added_noise(std::move(signature), profile.added_noise);
  }
  for (std::size_t u = 0; u < profile.per_class.size(); ++u) {
    append_moments(signature, profile.per_class[u], samples * static_cast<double>(profile.prior[u]), shape,
                   /*activations=*/false);
  }
  if (shape.priors) {
    for (const float prior : profile.prior) {
      const auto p = static_cast<double>(prior);
      signature.values.push_back(p);
      signature.noise.push_back(p * (1 - p) / samples);
    }
  }
  return with_added_noise(std::move(signature), profile.added_noise);
}

Reliability fit_reliability(std::span<const Signature> signatures) {
  require(!signatures.empty(), ErrorCode::internal, "[profile] reliability needs at least one signature");
  const std::size_t size = signatures.front().values.size();
  Reliability reliability{std::vector<double>(size), std::vector<double>(size)};
  for (std::size_t i = 0; i < size; ++i) {
    double count = 0;
    double mean = 0;
    double noise = 0;
    for (const Signature& s : signatures) {
      if (s.noise[i] >= 0) {
        count += 1;
        mean += s.values[i];
        noise += s.noise[i];
      }
    }
    if (count < 2) {
      continue;
    }
    mean /= count;
    noise /= count;
    double squares = 0;
    for (const Signature& s : signatures) {
      if (s.noise[i] >= 0) {
        squares += (s.values[i] - mean) * (s.values[i] - mean);
      }
    }
    const double variance = squares / (count - 1);
    if (variance > 0) {
      reliability.variance[i] = variance;
      reliability.share[i] = std::max(0.0, 1.0 - kCaution * noise / variance);
    }
  }
  return reliability;
}

}  // namespace feroma
