#include "feroma/partition/shares.h"

#include <algorithm>
#include <cmath>

#include "feroma/core/distinct_draws.h"
#include "feroma/core/error.h"
#include "feroma/partition/pool.h"

namespace feroma {

std::size_t share_count(std::size_t total, std::size_t clients, std::size_t samples) {
  return samples == 0 ? clients : std::max<std::size_t>(total / samples, 1);
}

std::size_t drawn_test_samples(std::size_t samples, std::size_t train, std::size_t test) {
  const double share = static_cast<double>(samples) * static_cast<double>(test) / static_cast<double>(train);
  return std::max<std::size_t>(static_cast<std::size_t>(std::llround(share)), 1);
}

Shares::Shares(std::size_t total, std::size_t clients, std::size_t samples, const Rng& rng)
    : clients_(clients), samples_(samples), rng_(rng), order_(Rng(rng).permutation(total)) {
  require(samples <= total, ErrorCode::internal, "[shares] cannot draw {} samples out of {}", samples, total);
}

Shares::Shares(std::size_t total, std::vector<std::vector<std::uint32_t>> lists, const Rng& rng)
    : Shares(total, lists.size(), 0, rng) {
  lists_ = std::move(lists);
}

std::span<const std::uint32_t> Shares::part(std::size_t client) const {
  if (!lists_.empty()) {
    return lists_[client];
  }
  const Slice slice = client_slice(order_.size(), clients_, client);
  return std::span(order_).subspan(slice.first, slice.count);
}

std::vector<std::uint32_t> Shares::of(std::size_t client) const {
  if (samples_ == 0) {
    const std::span<const std::uint32_t> own = part(client);
    return {own.begin(), own.end()};
  }
  std::vector<std::uint32_t> own = rng_.derive("client", client).sample(order_.size(), samples_);
  for (std::uint32_t& sample : own) {
    sample = order_[sample];
  }
  return own;
}

bool Shares::any_of(std::size_t client, const std::function<bool(std::uint32_t)>& wanted) const {
  if (samples_ == 0) {
    const std::span<const std::uint32_t> own = part(client);
    return std::any_of(own.begin(), own.end(), wanted);
  }
  Rng rng = rng_.derive("client", client);
  DistinctDraws draws(rng, order_.size());
  for (std::size_t i = 0; i < samples_; ++i) {
    if (wanted(order_[draws.next()])) {
      return true;
    }
  }
  return false;
}

}  // namespace feroma
