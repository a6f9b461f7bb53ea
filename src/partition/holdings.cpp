#include "feroma/partition/holdings.h"

#include <utility>

#include "feroma/partition/label_skew.h"
#include "feroma/partition/partitioners.h"
#include "feroma/partition/quantity.h"
#include "feroma/partition/skew.h"

namespace feroma {
namespace {

Holdings listed(const Dataset& dataset, SplitLists lists, const Rng& rng) {
  return {.train = {dataset.train.count(), std::move(lists.train), rng.derive("train_pool")},
          .test = {dataset.test.count(), std::move(lists.test), rng.derive("test_pool")}};
}

Sizes make_sizes(const Dataset& dataset, const ScenarioOptions& options, const SkewParameters& parameters,
                 const Rng& rng) {
  const auto clients = static_cast<std::size_t>(options.clients);
  const std::size_t train = dataset.train.count();
  const std::size_t test = dataset.test.count();
  if (has_unequal_sizes(options.shift)) {
    return {unequal_sizes(train, clients, parameters.quantity_std, rng.derive("train_sizes")),
            unequal_sizes(test, clients, parameters.quantity_std, rng.derive("test_sizes"))};
  }
  return {std::vector<std::size_t>(clients, train / clients), std::vector<std::size_t>(clients, test / clients)};
}

/// Consecutive parts of the split in random order, the one that equal shares divide too.
Lists cut(std::span<const std::uint32_t> order, const std::vector<std::size_t>& sizes) {
  Lists lists;
  std::size_t first = 0;
  for (const std::size_t size : sizes) {
    const std::span<const std::uint32_t> part = order.subspan(first, size);
    lists.emplace_back(part.begin(), part.end());
    first += size;
  }
  return lists;
}

}  // namespace

Holdings equal_holdings(const Dataset& dataset, const ScenarioOptions& options, const Rng& rng) {
  const auto clients = static_cast<std::size_t>(options.clients);
  const auto drawn = static_cast<std::size_t>(options.samples_per_client);
  const std::size_t train = dataset.train.count();
  const std::size_t test = dataset.test.count();
  return {.train = {train, clients, drawn, rng.derive("train_pool")},
          .test = {test, clients, drawn == 0 ? 0 : drawn_test_samples(drawn, train, test), rng.derive("test_pool")}};
}

Holdings make_holdings(const Dataset& dataset, const ScenarioOptions& options, const Rng& rng) {
  const SkewParameters parameters = skew_parameters(options, dataset.classes);
  const auto clients = static_cast<std::size_t>(options.clients);
  switch (options.shift) {
    case Shift::dirichlet: return listed(dataset, dirichlet_lists(dataset, clients, parameters.alpha, rng), rng);
    case Shift::pathological:
      return listed(dataset, pathological_lists(dataset, clients, parameters.classes_per_client, rng), rng);
    case Shift::shard: return listed(dataset, shard_lists(dataset, clients, parameters.shards_per_client, rng), rng);
    case Shift::natural_id: {
      const int test_clients = options.test_clients == 0 ? options.clients : options.test_clients;
      return listed(dataset, owner_lists(dataset, clients, static_cast<std::size_t>(test_clients)), rng);
    }
    default: break;
  }
  if (skews_labels(options.shift)) {
    const Sizes sizes = make_sizes(dataset, options, parameters, rng);
    return listed(dataset,
                  options.drift_mode == DriftMode::trND_teDR
                      ? ranked_lists(dataset, sizes, parameters, options.test_order, rng)
                      : skewed_lists(dataset, sizes, parameters, rng),
                  rng);
  }
  Holdings equal = equal_holdings(dataset, options, rng);
  if (!has_unequal_sizes(options.shift)) {
    return equal;
  }
  const Sizes sizes = make_sizes(dataset, options, parameters, rng);
  return listed(dataset, {cut(equal.train.pool(), sizes.train), cut(equal.test.pool(), sizes.test)}, rng);
}

}  // namespace feroma
