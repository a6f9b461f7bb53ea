#include "feroma/partition/partitioners.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "feroma/core/error.h"
#include "feroma/core/portable_math.h"
#include "feroma/partition/pool.h"
#include "feroma/partition/ranking.h"

namespace feroma {
namespace {

constexpr int kDirichletTries = 10'000;

/// Samples of each class in random order.
Lists by_class(const Samples& samples, int classes, Rng rng) {
  Lists lists(static_cast<std::size_t>(classes));
  for (const std::uint32_t source : rng.permutation(samples.count())) {
    lists[static_cast<std::size_t>(samples.labels[source])].push_back(source);
  }
  return lists;
}

void append(std::vector<std::uint32_t>& list, std::span<const std::uint32_t> part) {
  list.insert(list.end(), part.begin(), part.end());
}

/// Logarithm of a gamma draw (Marsaglia and Tsang, 2000); the draw itself would vanish for small shapes.
double draw_log_gamma(double shape, Rng& rng) {
  // A shape below one is raised by one and corrected by a power of a uniform number.
  const double raised = shape < 1 ? shape + 1 : shape;
  const double d = raised - 1.0 / 3;
  const double c = 1 / std::sqrt(9 * d);
  for (;;) {
    const double x = rng.normal();
    const double root = 1 + c * x;
    const double u = 1 - rng.uniform();
    if (root <= 0) {
      continue;
    }
    const double v = root * root * root;
    if (portable_log(u) < 0.5 * x * x + d - d * v + d * portable_log(v)) {
      const double log_draw = portable_log(d) + portable_log(v);
      return shape < 1 ? log_draw + portable_log(1 - rng.uniform()) / shape : log_draw;
    }
  }
}

/// Cuts a class where the running sum of proportions says; the last client gets what rounding leaves.
void divide(std::span<const std::uint32_t> members, std::span<const double> proportions, Lists& lists) {
  double sum = 0;
  std::size_t first = 0;
  for (std::size_t k = 0; k < lists.size(); ++k) {
    sum += proportions[k];
    const auto cut = static_cast<std::size_t>(std::llround(sum * static_cast<double>(members.size())));
    const std::size_t end = k + 1 == lists.size() ? members.size() : std::clamp(cut, first, members.size());
    append(lists[k], members.subspan(first, end - first));
    first = end;
  }
}

std::size_t smallest(const Lists& lists) {
  return std::min_element(lists.begin(), lists.end(), [](const auto& a, const auto& b) { return a.size() < b.size(); })
      ->size();
}

Lists pathological(const Samples& samples, int classes, const Lists& clients_of_class, std::size_t clients,
                   const Rng& rng) {
  Lists lists(clients);
  const Lists members = by_class(samples, classes, rng);
  for (std::size_t c = 0; c < members.size(); ++c) {
    const std::vector<std::uint32_t>& holders = clients_of_class[c];
    for (std::size_t i = 0; i < holders.size(); ++i) {
      const Slice slice = client_slice(members[c].size(), holders.size(), i);
      append(lists[holders[i]], std::span(members[c]).subspan(slice.first, slice.count));
    }
  }
  return lists;
}

Lists shards(const Samples& samples, int classes, std::size_t clients, std::span<const std::uint32_t> dealt,
             const Rng& rng) {
  std::vector<std::uint32_t> sorted;
  for (const auto& members : by_class(samples, classes, rng)) {
    append(sorted, members);
  }
  Lists lists(clients);
  for (std::size_t i = 0; i < dealt.size(); ++i) {
    const Slice slice = client_slice(sorted.size(), dealt.size(), dealt[i]);
    append(lists[i * clients / dealt.size()], std::span(sorted).subspan(slice.first, slice.count));
  }
  return lists;
}

/// Position of each owner among `owners`, and with it the client: owners are dealt in turn.
Lists by_owner(const Samples& samples, const std::vector<std::int32_t>& owners, std::size_t clients) {
  Lists lists(clients);
  for (std::uint32_t source = 0; source < samples.count(); ++source) {
    const auto found = std::lower_bound(owners.begin(), owners.end(), samples.owners[source]);
    if (found != owners.end() && *found == samples.owners[source]) {
      lists[static_cast<std::size_t>(found - owners.begin()) % clients].push_back(source);
    }
  }
  return lists;
}

std::vector<std::int32_t> distinct_owners(const Samples& samples) {
  const std::set<std::int32_t> owners(samples.owners.begin(), samples.owners.end());
  return {owners.begin(), owners.end()};
}

}  // namespace

std::vector<double> draw_dirichlet(double alpha, std::size_t count, Rng& rng) {
  std::vector<double> logs(count);
  for (double& log : logs) {
    log = draw_log_gamma(alpha, rng);
  }
  return softmax(logs);
}

SplitLists dirichlet_lists(const Dataset& dataset, std::size_t clients, double alpha, const Rng& rng) {
  const Lists train = by_class(dataset.train, dataset.classes, rng.derive("train_pool"));
  const Lists test = by_class(dataset.test, dataset.classes, rng.derive("test_pool"));
  Rng draws = rng.derive("dirichlet");
  for (int i = 0; i < kDirichletTries; ++i) {
    SplitLists lists{Lists(clients), Lists(clients)};
    for (std::size_t c = 0; c < train.size(); ++c) {
      const std::vector<double> proportions = draw_dirichlet(alpha, clients, draws);
      divide(train[c], proportions, lists.train);
      divide(test[c], proportions, lists.test);
    }
    if (smallest(lists.train) >= kDirichletMinimum && smallest(lists.test) > 0) {
      return lists;
    }
  }
  fail(ErrorCode::invalid_config,
       "scenario.clients must be so few, or scenario.alpha so large, that all get {} training samples and a test "
       "sample, "
       "got {} and {}",
       kDirichletMinimum, clients, alpha);
}

SplitLists pathological_lists(const Dataset& dataset, std::size_t clients, int classes_per_client, const Rng& rng) {
  const auto classes = static_cast<std::size_t>(dataset.classes);
  Lists clients_of_class(classes);
  for (std::size_t k = 0; k < clients; ++k) {
    // The first class goes round, so that no class is forgotten where there are enough clients; the others are random.
    const std::size_t first = k % classes;
    clients_of_class[first].push_back(static_cast<std::uint32_t>(k));
    const auto others = static_cast<std::size_t>(classes_per_client - 1);
    for (const std::uint32_t step : rng.derive("pathological", k).sample(classes - 1, others)) {
      clients_of_class[(first + 1 + step) % classes].push_back(static_cast<std::uint32_t>(k));
    }
  }
  return {pathological(dataset.train, dataset.classes, clients_of_class, clients, rng.derive("train_pool")),
          pathological(dataset.test, dataset.classes, clients_of_class, clients, rng.derive("test_pool"))};
}

SplitLists shard_lists(const Dataset& dataset, std::size_t clients, int shards_per_client, const Rng& rng) {
  const std::vector<std::uint32_t> dealt =
      rng.derive("shards").permutation(clients * static_cast<std::size_t>(shards_per_client));
  return {shards(dataset.train, dataset.classes, clients, dealt, rng.derive("train_pool")),
          shards(dataset.test, dataset.classes, clients, dealt, rng.derive("test_pool"))};
}

std::size_t owner_count(const Samples& samples) { return distinct_owners(samples).size(); }

bool same_owners(const Dataset& dataset) {
  const std::vector<std::int32_t> train = distinct_owners(dataset.train);
  const std::vector<std::int32_t> test = distinct_owners(dataset.test);
  return std::includes(test.begin(), test.end(), train.begin(), train.end());
}

SplitLists owner_lists(const Dataset& dataset, std::size_t clients, std::size_t test_clients) {
  require(!dataset.train.owners.empty() && !dataset.test.owners.empty(), ErrorCode::invalid_config,
          "scenario.shift must not be natural_id because {} does not say whose its samples are", dataset.name);
  const std::vector<std::int32_t> owners = distinct_owners(dataset.train);
  require(clients <= owners.size(), ErrorCode::invalid_config,
          "scenario.clients must be <= {}, the owners of samples in {}, got {}", owners.size(), dataset.name, clients);
  const std::vector<std::int32_t> test_owners = distinct_owners(dataset.test);
  SplitLists lists;
  lists.train = by_owner(dataset.train, owners, clients);
  if (same_owners(dataset)) {
    lists.test = by_owner(dataset.test, owners, clients);
    return lists;
  }
  require(test_clients <= test_owners.size(), ErrorCode::invalid_config,
          "scenario.test_clients must be <= {}, the owners of test samples in {}, got {}", test_owners.size(),
          dataset.name, test_clients);
  lists.test = by_owner(dataset.test, test_owners, test_clients);
  lists.test.resize(clients);
  return lists;
}

}  // namespace feroma
