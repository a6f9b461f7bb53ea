#include "feroma/profile/profile.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "feroma/core/error.h"

namespace feroma {
namespace {

/// Row lists whose moments are averaged: one list, except for Bernoulli masks.
std::vector<std::vector<std::uint32_t>> draw_rows(std::size_t count, const ProfileRule& rule, Rng& rng) {
  std::vector<std::vector<std::uint32_t>> lists(1);
  switch (rule.subsampling) {
    case Subsampling::off:
      lists[0].resize(count);
      std::iota(lists[0].begin(), lists[0].end(), 0U);
      return lists;
    case Subsampling::halves:
      for (int m = 0; m < rule.replicates; ++m) {
        const auto half = rng.sample(count, count / 2);
        lists[0].insert(lists[0].end(), half.begin(), half.end());
      }
      return lists;
    case Subsampling::bernoulli:
      lists.resize(static_cast<std::size_t>(rule.replicates));
      for (auto& list : lists) {
        for (std::uint32_t i = 0; i < count; ++i) {
          if (rng.bernoulli(0.5)) {
            list.push_back(i);
          }
        }
      }
      if (std::all_of(lists.begin(), lists.end(), [](const auto& list) { return list.empty(); })) {
        // Of very few rows no mask may have one.
        lists.front().resize(count);
        std::iota(lists.front().begin(), lists.front().end(), 0U);
      }
      return lists;
  }
  unreachable();
}

Moments missing_moments(int width, MissingClass missing) {
  const std::vector<float> entries(static_cast<std::size_t>(width), missing == MissingClass::minus_one ? -1.0F : 0.0F);
  return {entries, entries};
}

bool belongs(const RowLabels& labels, std::size_t row, int label, int classes) {
  if (labels.targets.empty()) {
    return labels.classes[row] == label;
  }
  return labels.targets[row * static_cast<std::size_t>(classes) + static_cast<std::size_t>(label)] > 0.5F;
}

Moments class_moments(const Rows& rows, const RowLabels& labels, int label, int classes, const ProfileRule& rule,
                      std::span<const std::vector<std::uint32_t>> lists) {
  std::vector<Moments> replicates;
  for (const auto& list : lists) {
    std::vector<std::uint32_t> members;
    for (const std::uint32_t i : list) {
      if (belongs(labels, i, label, classes)) {
        members.push_back(i);
      }
    }
    if (members.size() >= static_cast<std::size_t>(rule.least_samples)) {
      replicates.push_back(moments_of(rows, members, rule.spread));
    }
  }
  return replicates.empty() ? missing_moments(rows.width, rule.missing) : average(replicates);
}

std::vector<float> class_shares(const RowLabels& labels, std::size_t rows, int classes, int least_samples) {
  std::vector<std::int64_t> counts(static_cast<std::size_t>(classes));
  for (std::size_t u = 0; u < counts.size(); ++u) {
    for (std::size_t row = 0; row < rows; ++row) {
      counts[u] += belongs(labels, row, static_cast<int>(u), classes) ? 1 : 0;
    }
  }
  std::int64_t total = 0;
  for (auto& count : counts) {
    count = count < least_samples ? 0 : count;
    total += count;
  }
  // Shares of one label per row sum to 1; of several labels each is a share of the rows.
  total = labels.targets.empty() ? total : static_cast<std::int64_t>(rows);
  std::vector<float> shares(counts.size());
  for (std::size_t u = 0; u < counts.size() && total > 0; ++u) {
    shares[u] = static_cast<float>(static_cast<double>(counts[u]) / static_cast<double>(total));
  }
  return shares;
}

}  // namespace

Profile make_profile(const Rows& marginal, const Rows& conditional, const RowLabels& labels, int classes,
                     const ProfileRule& rule, Rng rng) {
  require(marginal.count() > 0, ErrorCode::invalid_data, "[profile] needs at least one sample, got none");
  const auto lists = draw_rows(marginal.count(), rule, rng);
  std::vector<Moments> replicates;
  for (const auto& list : lists) {
    if (!list.empty()) {
      replicates.push_back(moments_of(marginal, list, rule.spread));
    }
  }
  require(!replicates.empty(), ErrorCode::invalid_data, "[profile] {} samples are too few to subsample",
          marginal.count());
  Profile profile;
  profile.marginal = average(replicates);
  profile.num_samples = static_cast<std::int64_t>(marginal.count());
  if (labels.empty()) {
    profile.per_class.assign(static_cast<std::size_t>(classes), missing_moments(conditional.width, rule.missing));
    profile.prior.assign(static_cast<std::size_t>(classes), 0.0F);
    return profile;
  }
  const std::size_t wanted = conditional.count() * (labels.targets.empty() ? 1 : static_cast<std::size_t>(classes));
  require(labels.classes.size() + labels.targets.size() == wanted, ErrorCode::internal,
          "[profile] {} labels and {} targets for {} samples of {} classes", labels.classes.size(),
          labels.targets.size(), conditional.count(), classes);
  profile.prior = class_shares(labels, conditional.count(), classes, rule.least_samples);
  for (int u = 0; u < classes; ++u) {
    profile.per_class.push_back(class_moments(conditional, labels, u, classes, rule, lists));
  }
  return profile;
}

std::vector<float> encode(const Profile& profile, const ProfileShape& shape) {
  std::vector<float> values;
  values.reserve(shape.size());
  const auto append = [&values](const std::vector<float>& part) {
    values.insert(values.end(), part.begin(), part.end());
  };
  append(profile.marginal.mean);
  append(profile.marginal.std);
  for (const Moments& moments : profile.per_class) {
    append(moments.mean);
    append(moments.std);
  }
  if (shape.priors) {
    append(profile.prior);
  }
  require(values.size() == shape.size(), ErrorCode::internal, "[profile] {} values for a shape of {}", values.size(),
          shape.size());
  return values;
}

Profile decode(std::span<const float> values, const ProfileShape& shape, std::int64_t num_samples) {
  require(values.size() == shape.size(), ErrorCode::invalid_data, "[profile] must have {} values, got {}", shape.size(),
          values.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    require(std::isfinite(values[i]), ErrorCode::invalid_data, "[profile] value {} must be finite, got {}", i,
            values[i]);
  }
  std::size_t position = 0;
  const auto take = [&](int count) {
    const auto part = values.subspan(position, static_cast<std::size_t>(count));
    position += part.size();
    return std::vector<float>(part.begin(), part.end());
  };
  Profile profile;
  profile.num_samples = num_samples;
  profile.marginal.mean = take(shape.marginal);
  profile.marginal.std = take(shape.marginal);
  for (int u = 0; u < shape.classes; ++u) {
    Moments moments;
    moments.mean = take(shape.conditional);
    moments.std = take(shape.conditional);
    profile.per_class.push_back(std::move(moments));
  }
  profile.prior = shape.priors ? take(shape.classes) : std::vector<float>(static_cast<std::size_t>(shape.classes));
  return profile;
}

}  // namespace feroma
