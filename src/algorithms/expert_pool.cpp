#include "algorithms/expert_pool.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "feroma/aggregation/mix.h"
#include "feroma/core/error.h"
#include "feroma/mapping/linkage.h"

namespace feroma {
namespace {

double median_of(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

/// That many rows, each with the same chance, in their order.
std::vector<float> some_rows(const std::vector<float>& rows, std::size_t width, std::size_t count, Rng& rng) {
  if (count * width == rows.size()) {
    return rows;
  }
  std::vector<std::uint32_t> chosen = rng.sample(rows.size() / width, count);
  std::sort(chosen.begin(), chosen.end());
  std::vector<float> kept;
  for (const std::uint32_t row : chosen) {
    const auto begin = rows.begin() + static_cast<std::ptrdiff_t>(row * width);
    kept.insert(kept.end(), begin, begin + static_cast<std::ptrdiff_t>(width));
  }
  return kept;
}

}  // namespace

double weight_cosine(const Parameters& a, const Parameters& b) {
  double ab = 0;
  double aa = 0;
  double bb = 0;
  for (const Segment& segment : a.layout().segments) {
    for (std::size_t i = segment.offset; segment.kind != SegmentKind::buffer && i < segment.offset + segment.size;
         ++i) {
      const auto x = static_cast<double>(a.values()[i]);
      const auto y = static_cast<double>(b.values()[i]);
      ab += x * y;
      aa += x * x;
      bb += y * y;
    }
  }
  return aa > 0 && bb > 0 ? ab / std::sqrt(aa * bb) : 0;
}

void LatentMemory::add(const LatentMemory& more, int width, int most, Rng& rng) {
  const auto columns = static_cast<std::size_t>(width);
  const std::size_t own = embeddings.size() / columns;
  const std::size_t other = more.embeddings.size() / columns;
  const auto places = static_cast<std::size_t>(most);
  std::size_t keep_own = own;
  std::size_t keep_other = other;
  if (own + other > places) {
    // Places are dealt out one by one, as if each were drawn from all samples that either side stands for.
    keep_own = 0;
    keep_other = 0;
    for (std::size_t place = 0; place < places; ++place) {
      const std::uint64_t own_left = static_cast<std::uint64_t>(seen) - keep_own;
      const std::uint64_t other_left = static_cast<std::uint64_t>(more.seen) - keep_other;
      const bool ours = keep_other == other || (keep_own < own && rng.below(own_left + other_left) < own_left);
      (ours ? keep_own : keep_other) += 1;
    }
  }
  embeddings = some_rows(embeddings, columns, keep_own, rng);
  const std::vector<float> joining = some_rows(more.embeddings, columns, keep_other, rng);
  embeddings.insert(embeddings.end(), joining.begin(), joining.end());
  seen += more.seen;
  histogram.resize(more.histogram.size());
  for (std::size_t c = 0; c < histogram.size(); ++c) {
    histogram[c] += more.histogram[c];
  }
}

ExpertPool::ExpertPool(const ShiftExOptions& options, ParametersPtr initial, int width, Rng rng)
    : options_(options), width_(width), rng_(std::move(rng)) {
  experts_.push_back({std::move(initial), {}});
}

std::size_t ExpertPool::expert_of(ClientId client) const {
  const auto found = assignment_.find(client);
  return found == assignment_.end() ? 0 : found->second;
}

double ExpertPool::mmd(const LatentMemory& a, const LatentMemory& b) const {
  return squared_mmd(a.rows(width_), b.rows(width_), *bandwidth_);
}

ExpertPool::Choice ExpertPool::cheapest(const LatentMemory& data, const Parallel& parallel) const {
  std::vector<double> costs(experts_.size());
  parallel(experts_.size(), [&](std::size_t e) {
    const LatentMemory& memory = experts_[e].memory;
    costs[e] = mmd(data, memory) + options_.label_weight * jensen_shannon(data.histogram, memory.histogram);
  });
  const auto least = std::min_element(costs.begin(), costs.end());
  return {static_cast<std::size_t>(least - costs.begin()), *least};
}

void ExpertPool::introduce(const std::map<ClientId, LatentMemory>& clients, const Parallel& parallel) {
  if (clients.empty()) {
    return;
  }
  const bool first = !bandwidth_;
  for (const auto& [client, data] : clients) {
    const std::size_t chosen = first ? 0 : cheapest(data, parallel).expert;
    assignment_[client] = chosen;
    Rng rng = rng_.derive("memory", draws_++);
    experts_[chosen].memory.add(data, width_, options_.samples, rng);
  }
  if (first) {
    bandwidth_ = median_distance(experts_[0].memory.rows(width_));
  }
}

Matrix ExpertPool::distances(const std::vector<const ShiftReport*>& reports, const Parallel& parallel) const {
  const std::size_t count = reports.size();
  const auto rows = [&](std::size_t i) { return reports[i]->data.rows(width_); };
  std::vector<double> own(count);
  parallel(count, [&](std::size_t i) { own[i] = mean_kernel(rows(i), rows(i), *bandwidth_); });
  Matrix apart(count, count);
  parallel(count, [&](std::size_t i) {
    for (std::size_t j = i + 1; j < count; ++j) {
      apart.at(i, j) = std::max(own[i] + own[j] - 2 * mean_kernel(rows(i), rows(j), *bandwidth_), 0.0);
    }
  });
  return apart;
}

void ExpertPool::reassign(const std::map<ClientId, ShiftReport>& shifted, const Parallel& parallel) {
  if (shifted.empty()) {
    return;
  }
  std::vector<ClientId> clients;
  std::vector<const ShiftReport*> reports;
  std::vector<double> thresholds;
  for (const auto& [client, report] : shifted) {
    clients.push_back(client);
    reports.push_back(&report);
    thresholds.push_back(report.threshold);
  }
  const double eps = median_of(thresholds);
  const std::vector<std::size_t> group_of = link_within(distances(reports, parallel), Linkage::single, eps);
  const std::size_t groups = 1 + *std::max_element(group_of.begin(), group_of.end());
  const std::size_t settled = experts_.size();
  for (std::size_t g = 0; g < groups; ++g) {
    LatentMemory data;
    Rng rng = rng_.derive("memory", draws_++);
    for (std::size_t i = 0; i < clients.size(); ++i) {
      if (group_of[i] == g) {
        data.add(reports[i]->data, width_, options_.samples, rng);
      }
    }
    Choice choice = cheapest(data, parallel);
    const bool full = experts_.size() >= static_cast<std::size_t>(options_.experts);
    if (choice.cost >= options_.create_cost * eps && !full) {
      // The new expert starts as the one that comes nearest, but with a memory of its own.
      experts_.push_back({experts_[choice.expert].model, {}});
      choice.expert = experts_.size() - 1;
    }
    experts_[choice.expert].memory.add(data, width_, options_.samples, rng);
    for (std::size_t i = 0; i < clients.size(); ++i) {
      if (group_of[i] == g) {
        assignment_[clients[i]] = choice.expert;
      }
    }
  }
  merge_alike(eps, settled, parallel);
}

/// Experts made in this step are left alone: they still have the weights that they were copied from.
void ExpertPool::merge_alike(double eps, std::size_t settled, const Parallel& parallel) {
  for (std::size_t a = 0; a < settled; ++a) {
    // From the last on; what was compared before a merge is compared again where it lies below.
    std::optional<std::size_t> b = last_alike(a, settled, eps, parallel);
    while (b) {
      merge(a, *b);
      --settled;
      b = last_alike(a, *b, eps, parallel);
    }
  }
}

/// The last expert between `expert` and `end` that has seen and become the same.
std::optional<std::size_t> ExpertPool::last_alike(std::size_t expert, std::size_t end, double eps,
                                                  const Parallel& parallel) const {
  const Expert& one = experts_[expert];
  std::vector<char> alike(end);  // not bool, whose elements share bytes
  parallel(end - expert - 1, [&](std::size_t i) {
    const Expert& other = experts_[expert + 1 + i];
    const bool same =
        weight_cosine(*one.model, *other.model) > options_.merge_cosine && mmd(one.memory, other.memory) < eps / 2;
    alike[expert + 1 + i] = same ? 1 : 0;
  });
  for (std::size_t b = end; b-- > expert + 1;) {
    if (alike[b] != 0) {
      return b;
    }
  }
  return std::nullopt;
}

void ExpertPool::merge(std::size_t into, std::size_t from) {
  Expert& kept = experts_[into];
  const Expert& other = experts_[from];
  const std::vector<ParametersPtr> models{kept.model, other.model};
  const std::vector<std::int64_t> weights{kept.memory.seen, other.memory.seen};
  kept.model = share(weighted_mean(models, weights));
  Rng rng = rng_.derive("memory", draws_++);
  kept.memory.add(other.memory, width_, options_.samples, rng);
  experts_.erase(experts_.begin() + static_cast<std::ptrdiff_t>(from));
  for (auto& [client, expert] : assignment_) {
    if (expert == from) {
      expert = into;
    } else if (expert > from) {
      --expert;
    }
  }
}

std::optional<std::size_t> ExpertPool::nearest(RowsView embeddings) const {
  if (!bandwidth_ || embeddings.count() == 0) {
    return std::nullopt;
  }
  std::size_t best = 0;
  double least = 0;
  for (std::size_t e = 0; e < experts_.size(); ++e) {
    const double distance = squared_mmd(embeddings, experts_[e].memory.rows(width_), *bandwidth_);
    if (e == 0 || distance < least) {
      best = e;
      least = distance;
    }
  }
  return best;
}

void ExpertPool::save(ModelWriter& out) const {
  out.out().put(draws_);
  out.out().put(bandwidth_.value_or(0));
  out.out().put<std::uint64_t>(experts_.size());
  for (const Expert& expert : experts_) {
    out.put(expert.model);
    out.out().put(expert.memory.embeddings);
    out.out().put(expert.memory.seen);
    out.out().put(expert.memory.histogram);
  }
  out.out().put<std::uint64_t>(assignment_.size());
  for (const auto& [client, expert] : assignment_) {
    out.out().put(client);
    out.out().put<std::uint64_t>(expert);
  }
}

void ExpertPool::load(ModelReader& in) {
  experts_.clear();
  assignment_.clear();
  draws_ = in.in().get<std::uint64_t>();
  const auto bandwidth = in.in().get<double>();
  bandwidth_ = bandwidth > 0 ? std::optional(bandwidth) : std::nullopt;
  const auto experts = in.in().get<std::uint64_t>();
  for (std::uint64_t e = 0; e < experts; ++e) {
    Expert expert{in.get_model(), {}};
    require(expert.model != nullptr, ErrorCode::invalid_data, "{}: expert {} must have a model", in.in().what(), e);
    expert.memory.embeddings = in.in().get_vector<float>();
    require(expert.memory.embeddings.size() % static_cast<std::size_t>(width_) == 0, ErrorCode::invalid_data,
            "{}: embeddings must have {} values each, got {} in all", in.in().what(), width_,
            expert.memory.embeddings.size());
    expert.memory.seen = in.in().get<std::int64_t>();
    require(expert.memory.seen >= static_cast<std::int64_t>(expert.memory.rows(width_).count()),
            ErrorCode::invalid_data, "{}: embeddings must stand for as many samples or more, got {}", in.in().what(),
            expert.memory.seen);
    expert.memory.histogram = in.in().get_vector<double>();
    experts_.push_back(std::move(expert));
  }
  require(!experts_.empty(), ErrorCode::invalid_data, "{}: there must be an expert, got none", in.in().what());
  const auto clients = in.in().get<std::uint64_t>();
  for (std::uint64_t i = 0; i < clients; ++i) {
    const auto client = in.in().get<ClientId>();
    const auto expert = in.in().get<std::uint64_t>();
    require(expert < experts_.size(), ErrorCode::invalid_data, "{}: expert of a client must be below {}, got {}",
            in.in().what(), experts_.size(), expert);
    assignment_[client] = expert;
  }
}

}  // namespace feroma
