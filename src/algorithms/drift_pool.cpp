#include "algorithms/drift_pool.h"

#include <algorithm>
#include <cmath>
#include <string_view>

#include "feroma/aggregation/mix.h"
#include "feroma/core/error.h"

namespace feroma {
namespace {

double mean_merit(const WindowMerits& merits, std::size_t candidate) {
  return merits.count == 0 ? 0.0 : merits.sums[candidate] / static_cast<double>(merits.count);
}

std::size_t best_candidate(const WindowMerits& merits) {
  return static_cast<std::size_t>(std::max_element(merits.sums.begin(), merits.sums.end()) - merits.sums.begin());
}

}  // namespace

Matrix drift_distances(const Matrix& merit) {
  Matrix distances(merit.rows, merit.cols);
  for (std::size_t i = 0; i < merit.rows; ++i) {
    for (std::size_t j = 0; j < merit.cols; ++j) {
      distances.at(i, j) = std::max({merit.at(i, i) - merit.at(i, j), merit.at(j, j) - merit.at(j, i), 0.0});
    }
  }
  return distances;
}

DriftPool::DriftPool(const FedDriftOptions& options, ParametersPtr initial)
    : options_(options), initial_(std::move(initial)) {}

bool DriftPool::knows(ClientId client, int window) const {
  const auto found = members_.find(client);
  return found != members_.end() && found->second.model_of_window.contains(window);
}

std::optional<int> DriftPool::last_window(ClientId client) const {
  const auto& windows = windows_of(client);
  return windows.empty() ? std::nullopt : std::optional(windows.rbegin()->first);
}

const std::map<int, int>& DriftPool::windows_of(ClientId client) const {
  static const std::map<int, int> none;
  const auto found = members_.find(client);
  return found == members_.end() ? none : found->second.model_of_window;
}

std::map<ClientId, int> DriftPool::current_models() const {
  std::map<ClientId, int> models;
  for (const auto& [client, member] : members_) {
    models[client] = member.current();
  }
  return models;
}

std::set<int> DriftPool::in_use() const {
  std::set<int> models;
  for (const auto& [client, member] : members_) {
    models.insert(member.current());
  }
  return models;
}

std::size_t DriftPool::capacity() const {
  return options_.pool > 0 ? static_cast<std::size_t>(options_.pool) : members_.size();
}

void DriftPool::assign(Member& member, int window, int model) {
  member.model_of_window[window] = model;
  used_[model] = step_;
}

bool DriftPool::begins_step(const std::map<ClientId, int>& windows) const {
  return std::any_of(windows.begin(), windows.end(),
                     [&](const auto& window) { return window.second > reached_ && members_.contains(window.first); });
}

void DriftPool::reach(const std::map<ClientId, int>& windows) {
  ++step_;
  for (const auto& [client, window] : windows) {
    reached_ = std::max(reached_, window);
  }
}

std::vector<int> DriftPool::candidates(int step) const {
  std::set<int> kept;
  for (const auto& [client, member] : members_) {
    if (step < member.isolated_until) {
      kept.insert(member.current());
    }
  }
  std::vector<int> free;
  for (const auto& [id, model] : models_) {
    if (!kept.contains(id)) {
      free.push_back(id);
    }
  }
  return free;
}

/// All models begin with the same weights: a mean of models that began elsewhere would be no model.
void DriftPool::start(const std::map<ClientId, int>& windows) {
  reach(windows);
  const std::size_t most = options_.pool > 0 ? static_cast<std::size_t>(options_.pool) : windows.size();
  const std::size_t count = options_.variant == FedDriftVariant::F ? std::min(most, windows.size()) : 1;
  for (; next_id_ < static_cast<int>(count); ++next_id_) {
    models_[next_id_] = initial_;
  }
  std::size_t turn = 0;
  for (const auto& [client, window] : windows) {
    // Where there are fewer models than clients, they are dealt out in turn.
    assign(members_[client], window, static_cast<int>(turn++ % count));
  }
}

void DriftPool::advance(const std::vector<int>& candidates, const std::map<ClientId, int>& windows,
                        const Merits& merits) {
  reach(windows);
  renew(choose(candidates, windows, merits), windows);
  if (options_.variant != FedDriftVariant::eager) {
    merge(candidates, merits);
  }
}

void DriftPool::join(const std::vector<int>& candidates, const std::map<ClientId, int>& windows, const Merits& merits) {
  const std::vector<ClientId> drifted = choose(candidates, windows, merits);
  if (options_.latecomers == Latecomers::tested) {
    renew(drifted, windows);
  }
}

std::vector<ClientId> DriftPool::choose(const std::vector<int>& candidates, const std::map<ClientId, int>& windows,
                                        const Merits& merits) {
  std::vector<ClientId> drifted;
  for (const auto& [client, window] : windows) {
    Member& member = members_[client];
    if (!member.model_of_window.empty() && step_ < member.isolated_until) {
      assign(member, window, member.current());
      continue;
    }
    if (candidates.empty()) {  // a newcomer while everybody else is isolated
      assign(member, window, models_.begin()->first);
      continue;
    }
    const WindowMerits& own = merits.at(client).at(window);
    const std::size_t best = best_candidate(own);
    const double merit = mean_merit(own, best);
    assign(member, window, candidates[best]);
    // In the authors' code a client's first merit is that of an untrained model, which nothing falls below. Here there
    // is none, and the test begins one step later as well.
    if (member.merit && *member.merit - merit > options_.delta) {
      drifted.push_back(client);
    }
    member.merit = merit;
  }
  return drifted;
}

void DriftPool::renew(const std::vector<ClientId>& drifted, const std::map<ClientId, int>& windows) {
  std::optional<int> shared;
  for (const ClientId client : drifted) {
    Member& member = members_.at(client);
    const bool eager = options_.variant == FedDriftVariant::eager;
    const std::optional<int> fresh = eager && shared ? shared : copy_of(member.current());
    if (!fresh) {
      continue;
    }
    assign(member, windows.at(client), *fresh);
    if (eager) {
      shared = fresh;
    } else {
      member.isolated_until = step_ + options_.isolation;
    }
  }
}

std::optional<int> DriftPool::copy_of(int model) {
  if (models_.size() >= capacity()) {
    free_unused();
  }
  if (models_.size() >= capacity()) {
    return std::nullopt;
  }
  models_[next_id_] = models_.at(model);
  return next_id_++;
}

/// Drops the model that nobody uses now and that was in use longest ago, and with it the windows that belong to it.
void DriftPool::free_unused() {
  const std::set<int> used_now = in_use();
  std::optional<int> oldest;
  for (const auto& [id, model] : models_) {
    if (!used_now.contains(id) && (!oldest || used_.at(id) < used_.at(*oldest))) {
      oldest = id;
    }
  }
  if (!oldest) {
    return;
  }
  for (auto& [client, member] : members_) {
    std::erase_if(member.model_of_window, [&](const auto& window) { return window.second == *oldest; });
  }
  models_.erase(*oldest);
  used_.erase(*oldest);
}

void DriftPool::merge(const std::vector<int>& candidates, const Merits& merits) {
  std::map<int, std::size_t> index_of;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    index_of[candidates[i]] = i;
  }
  Matrix sums(candidates.size(), candidates.size());
  std::vector<double> guesses(candidates.size());
  std::vector<std::int64_t> counts(candidates.size());
  for (const auto& [client, windows] : merits) {
    const std::map<int, int>& model_of_window = windows_of(client);
    for (const auto& [window, merit] : windows) {
      const auto model = model_of_window.find(window);
      const auto column = model == model_of_window.end() ? index_of.end() : index_of.find(model->second);
      if (column == index_of.end()) {  // of a model too new to merge
        continue;
      }
      counts[column->second] += merit.count;
      guesses[column->second] += merit.guess;
      for (std::size_t i = 0; i < candidates.size(); ++i) {
        sums.at(i, column->second) += merit.sums[i];
      }
    }
  }
  std::vector<std::size_t> judged;  // those whose data somebody has here, and that have learned enough from them
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    const double needed = guesses[i] + options_.merge_needs * static_cast<double>(counts[i]);
    const bool skilled = options_.merge_needs == 0 || sums.at(i, i) > needed;
    if (counts[i] > 0 && skilled && models_.contains(candidates[i])) {
      judged.push_back(i);
    }
  }
  Matrix merit(judged.size(), judged.size());
  for (std::size_t i = 0; i < judged.size(); ++i) {
    for (std::size_t j = 0; j < judged.size(); ++j) {
      merit.at(i, j) = sums.at(judged[i], judged[j]) / static_cast<double>(counts[judged[j]]);
    }
  }
  const double cut = options_.merge_delta > 0 ? options_.merge_delta : options_.delta;
  const std::vector<std::size_t> group_of = link_within(drift_distances(merit), options_.linkage, cut);
  std::map<std::size_t, std::vector<int>> groups;
  for (std::size_t i = 0; i < judged.size(); ++i) {
    groups[group_of[i]].push_back(candidates[judged[i]]);
  }
  for (const auto& [number, group] : groups) {
    if (group.size() > 1) {
      merge_group(group);
    }
  }
}

/// The lowest of them takes over: the mean of the weights by how many windows each has, and all their windows.
void DriftPool::merge_group(const std::vector<int>& group) {
  std::vector<ParametersPtr> models;
  std::vector<std::int64_t> pairs;
  for (const int id : group) {
    models.push_back(models_.at(id));
    pairs.push_back(0);
    for (auto& [client, member] : members_) {
      for (auto& [window, model] : member.model_of_window) {
        if (model == id) {
          pairs.back() += 1;
          model = group.front();
        }
      }
    }
    used_[group.front()] = std::max(used_[group.front()], used_[id]);
  }
  models_.at(group.front()) = share(weighted_mean(models, pairs));
  for (std::size_t i = 1; i < group.size(); ++i) {
    models_.erase(group[i]);
    used_.erase(group[i]);
  }
}

void DriftPool::save(ModelWriter& out) const {
  out.out().put<std::int32_t>(step_);
  out.out().put<std::int32_t>(reached_);
  out.out().put<std::int32_t>(next_id_);
  out.out().put<std::uint64_t>(models_.size());
  for (const auto& [id, model] : models_) {
    out.out().put<std::int32_t>(id);
    out.out().put<std::int32_t>(used_.at(id));
    out.put(model);
  }
  out.out().put<std::uint64_t>(members_.size());
  for (const auto& [client, member] : members_) {
    out.out().put(client);
    out.out().put(member.merit.has_value());
    out.out().put(member.merit.value_or(0));
    out.out().put<std::int32_t>(member.isolated_until);
    out.out().put<std::uint64_t>(member.model_of_window.size());
    for (const auto& [window, model] : member.model_of_window) {
      out.out().put<std::int32_t>(window);
      out.out().put<std::int32_t>(model);
    }
  }
}

void DriftPool::load(ModelReader& in) {
  const auto rule = [&](bool holds, std::string_view what, auto got) {
    require(holds, ErrorCode::invalid_data, "{}: {}, got {}", in.in().what(), what, got);
  };
  models_.clear();
  used_.clear();
  members_.clear();
  step_ = in.in().get<std::int32_t>();
  reached_ = in.in().get<std::int32_t>();
  next_id_ = in.in().get<std::int32_t>();
  rule(step_ >= 0, "time steps must be >= 0", step_);
  rule(reached_ >= 0, "the window reached must be >= 0", reached_);
  const auto models = in.in().get<std::uint64_t>();
  rule((models == 0) == (step_ == 0), "there must be models from the first step on", models);
  for (std::uint64_t i = 0; i < models; ++i) {
    const int id = in.in().get<std::int32_t>();
    rule(id >= 0 && id < next_id_ && !models_.contains(id), "models must have numbers of their own below the next", id);
    used_[id] = in.in().get<std::int32_t>();
    rule(used_[id] >= 0 && used_[id] <= step_, "a model must have been chosen in a step so far", used_[id]);
    models_[id] = in.get_model();
    require(models_[id] != nullptr, ErrorCode::invalid_data, "{}: model {} must have weights", in.in().what(), id);
  }
  const auto members = in.in().get<std::uint64_t>();
  for (std::uint64_t i = 0; i < members; ++i) {
    load_member(in);
  }
}

void DriftPool::load_member(ModelReader& in) {
  const auto rule = [&](bool holds, std::string_view what, auto got) {
    require(holds, ErrorCode::invalid_data, "{}: {}, got {}", in.in().what(), what, got);
  };
  const auto client = in.in().get<ClientId>();
  rule(!members_.contains(client), "a client must be there once", to_index(client));
  Member& member = members_[client];
  const bool has_merit = in.in().get<bool>();
  const auto merit = in.in().get<double>();
  rule(std::isfinite(merit), "a merit must be finite", merit);
  member.merit = has_merit ? std::optional(merit) : std::nullopt;
  member.isolated_until = in.in().get<std::int32_t>();
  const auto windows = in.in().get<std::uint64_t>();
  rule(windows > 0, "a client must have a window", windows);
  for (std::uint64_t w = 0; w < windows; ++w) {
    const int window = in.in().get<std::int32_t>();
    const int model = in.in().get<std::int32_t>();
    rule(window >= 0 && !member.model_of_window.contains(window), "windows must be >= 0, each once", window);
    rule(models_.contains(model), "a window must belong to a model that exists", model);
    member.model_of_window[window] = model;
  }
}

}  // namespace feroma
