#include "feroma/algorithms/cfl.h"

#include <algorithm>
#include <cmath>

#include "algorithms/cfl_updates.h"
#include "feroma/algorithms/answers.h"
#include "feroma/algorithms/components.h"
#include "feroma/mapping/linkage.h"

namespace feroma {
namespace {

struct CflCluster {
  ParametersPtr model;
  double largest_mean_norm = 0;  ///< the longest mean update it has made
  std::size_t parent = 0;        ///< the cluster that it was split off from, which has a lower number
};

/// Where a client was last put, and how many clusters there were then: those that came out of its own since may be its
/// home as well. Everything comes out of the first, so a newcomer's home may be any.
struct CflPlace {
  std::size_t cluster = 0;
  std::size_t clusters_then = 1;
};

class Cfl final : public Algorithm {
 public:
  explicit Cfl(const CflOptions& options) : options_(options) {}

  void init(const ServerContext& context) override {
    fit_ = with_momentum(context.fit, options_.momentum_reset);
    parallel_ = context.parallel;
    clusters_ = {{context.initial, 0, 0}};
    count_members();
  }

  [[nodiscard]] Message downlink(Round, int, ClientId client) const override {
    return {{{"model", clusters_[cluster_of(client)].model}}};
  }

  [[nodiscard]] Message client_step(Round, int, ClientContext& context, const Message& received) const override {
    Parameters trained =
        train_locally(context, *received.model("model"), fit_, {}, kept_momentum(options_.momentum_reset));
    return {{{"model", share(std::move(trained))}, {"num_examples", Ints{context.report.num_examples}}}};
  }

  void check_answer(Round, int, ClientId client, const Message& message) const override {
    const Answer answer("cfl", client, message);
    answer.model("model", *clusters_.front().model);
    answer.examples(/*least=*/1);
    answer.expect_nothing_else();
  }

  void uplink(Round round, int, std::map<ClientId, Message>& answers, StageSeconds& seconds) override {
    if (answers.empty()) {
      return;
    }
    std::vector<CflUpdates> of_cluster;
    {
      const StageTimer timer(seconds, Stage::map);
      of_cluster = sort_answers(answers);
    }
    // A child is not looked at again before it has made a step of its own.
    for (std::size_t c = 0; c < of_cluster.size(); ++c) {
      if (!of_cluster[c].empty()) {
        advance(c, of_cluster[c], round, seconds);
      }
    }
    count_members();
  }

  [[nodiscard]] std::optional<ClusterView> clusters() const override {
    ClusterView view;
    for (const CflCluster& cluster : clusters_) {
      view.models.push_back(cluster.model);
    }
    for (const auto& [client, place] : places_) {
      std::vector<double>& shares = view.shares[client];
      shares.resize(clusters_.size());
      shares[cluster_of(client)] = 1;
    }
    view.present = present_;
    return view;
  }

  [[nodiscard]] std::vector<ServedModel> served() const override {
    std::vector<ServedModel> models;
    for (const CflCluster& cluster : clusters_) {
      models.push_back({std::nullopt, 0, cluster.model, {}, 0});
    }
    return models;
  }

  void save(ModelWriter& out) const override;
  void load(ModelReader& in) override;

 private:
  [[nodiscard]] CflPlace place_of(ClientId client) const {
    const auto found = places_.find(client);
    return found == places_.end() ? CflPlace{} : found->second;
  }
  /// The clusters that a client may belong to: several where it was absent when its own split, or is new.
  [[nodiscard]] std::vector<std::size_t> homes_of(const CflPlace& place) const;
  /// The one it is served by: of several, that with the most clients.
  [[nodiscard]] std::size_t cluster_of(ClientId client) const;
  void count_members();
  /// The answers by cluster. Who has several homes is put where the members' updates are most like its own.
  [[nodiscard]] std::vector<CflUpdates> sort_answers(const std::map<ClientId, Message>& answers);
  /// Where an update fits best; absent where members of fewer than two homes are here to compare with.
  [[nodiscard]] std::optional<std::size_t> best_home(const CflUpdate& update, const std::vector<std::size_t>& homes,
                                                     const std::vector<CflUpdates>& settled) const;

  [[nodiscard]] CflUpdate read_update(ClientId client, const Message& answer, const ParametersPtr& start) const {
    const std::int64_t weight = options_.weights == CflWeights::uniform ? 1 : answer.integer("num_examples");
    return {client, answer.model("model"), start, weight};
  }

  /// One round of a cluster: the mean of its members' models, or of each part's where it splits.
  void advance(std::size_t cluster, const CflUpdates& updates, Round round, StageSeconds& seconds) {
    std::vector<std::size_t> part;
    {
      const StageTimer timer(seconds, Stage::map);
      if (wants_split(clusters_[cluster], updates, round)) {
        part = bipartition(updates);
      }
    }
    const StageTimer timer(seconds, Stage::aggregate);
    if (part.empty()) {
      clusters_[cluster].model = mean_model(updates);
      return;
    }
    std::array<CflUpdates, 2> parts;
    for (std::size_t i = 0; i < updates.size(); ++i) {
      parts[part[i]].push_back(updates[i]);
    }
    const ParametersPtr parent = clusters_[cluster].model;
    const auto start_of = [&](const CflUpdates& members) {
      return options_.split_round == SplitRound::discard ? parent : mean_model(members);
    };
    clusters_.push_back({start_of(parts[1]), 0, cluster});
    clusters_[cluster] = {start_of(parts[0]), 0, clusters_[cluster].parent};
    put_members(cluster, updates, part);
  }

  /// After a split off `cluster`: members that were not asked this round are told apart when they are.
  void put_members(std::size_t cluster, const CflUpdates& updates, std::span<const std::size_t> part) {
    const std::size_t fresh = clusters_.size() - 1;
    for (const CflUpdate& update : updates) {
      places_[update.client] = {cluster, clusters_.size()};
    }
    for (std::size_t i = 0; i < updates.size(); ++i) {
      const bool by_position = options_.split_members == SplitMembers::positions;
      places_[by_position ? present_[i] : updates[i].client] = {part[i] == 0 ? cluster : fresh, clusters_.size()};
    }
  }

  [[nodiscard]] bool wants_split(CflCluster& cluster, const CflUpdates& updates, Round round) const {
    const double mean = mean_norm(updates);
    cluster.largest_mean_norm = std::max(cluster.largest_mean_norm, mean);
    const bool relative = options_.threshold_mode == CflThresholds::relative;
    const double eps1 = relative ? options_.relative_eps1 * cluster.largest_mean_norm : options_.eps1;
    const double eps2 = relative ? options_.relative_eps2 * eps1 : options_.eps2;
    if (round <= options_.warmup || updates.size() <= 2 || mean >= eps1) {
      return false;
    }
    return std::any_of(updates.begin(), updates.end(),
                       [&](const CflUpdate& update) { return size_of(update, options_.norm) > eps2; });
  }

  /// The part, 0 or 1, of every update; empty where the parts are too much alike.
  [[nodiscard]] std::vector<std::size_t> bipartition(const CflUpdates& updates) const {
    const Matrix similarity = update_cosines(updates, parallel_);
    Matrix distances = similarity;
    for (double& value : distances.values) {
      value = 1 - value;
    }
    std::vector<std::size_t> part = link_into(distances, Linkage::complete, 2);
    double closest = -1;
    for (std::size_t i = 0; i < updates.size(); ++i) {
      for (std::size_t j = i + 1; j < updates.size(); ++j) {
        closest = part[i] == part[j] ? closest : std::max(closest, similarity.at(i, j));
      }
    }
    const double gap = std::sqrt(std::max(0.0, 1 - closest) / 2);
    return gap > options_.gamma_max ? part : std::vector<std::size_t>();
  }

  CflOptions options_;
  FitOptions fit_;
  Parallel parallel_ = in_turn;
  std::vector<CflCluster> clusters_;
  std::vector<std::size_t> members_;     ///< clients of each cluster that can belong to no other
  std::map<ClientId, CflPlace> places_;  ///< of everybody who ever answered
  std::vector<ClientId> present_;        ///< who answered last
};

std::vector<std::size_t> Cfl::homes_of(const CflPlace& place) const {
  std::vector<std::size_t> homes;
  for (std::size_t c = 0; c < clusters_.size(); ++c) {
    std::size_t origin = c;
    while (origin >= place.clusters_then) {
      origin = clusters_[origin].parent;
    }
    if (origin == place.cluster) {
      homes.push_back(c);
    }
  }
  return homes;
}

std::size_t Cfl::cluster_of(ClientId client) const {
  const std::vector<std::size_t> homes = homes_of(place_of(client));
  return *std::max_element(homes.begin(), homes.end(),
                           [&](std::size_t a, std::size_t b) { return members_[a] < members_[b]; });
}

void Cfl::count_members() {
  members_.assign(clusters_.size(), 0);
  for (const auto& [client, place] : places_) {
    if (homes_of(place).size() == 1) {
      members_[place.cluster] += 1;
    }
  }
}

std::vector<CflUpdates> Cfl::sort_answers(const std::map<ClientId, Message>& answers) {
  CflUpdates updates;
  std::vector<std::size_t> served_by;
  std::vector<std::vector<std::size_t>> homes;
  std::vector<CflUpdates> settled(clusters_.size());
  present_.clear();
  for (const auto& [client, answer] : answers) {
    present_.push_back(client);
    served_by.push_back(cluster_of(client));
    homes.push_back(homes_of(place_of(client)));
    updates.push_back(read_update(client, answer, clusters_[served_by.back()].model));
    if (homes.back().size() == 1) {
      settled[served_by.back()].push_back(updates.back());
    }
  }
  std::vector<std::optional<std::size_t>> fits(updates.size());
  parallel_(updates.size(), [&](std::size_t i) {
    fits[i] = homes[i].size() == 1 ? homes[i].front() : best_home(updates[i], homes[i], settled);
  });
  std::vector<CflUpdates> of_cluster(clusters_.size());
  for (std::size_t i = 0; i < updates.size(); ++i) {
    CflPlace& place = places_[updates[i].client];
    place = fits[i] ? CflPlace{*fits[i], clusters_.size()} : place;
    // Who is moved sits this round out: it has trained a model that is not its new cluster's.
    if (!fits[i] || *fits[i] == served_by[i]) {
      of_cluster[served_by[i]].push_back(std::move(updates[i]));
    }
  }
  return of_cluster;
}

std::optional<std::size_t> Cfl::best_home(const CflUpdate& update, const std::vector<std::size_t>& homes,
                                          const std::vector<CflUpdates>& settled) const {
  std::optional<std::size_t> best;
  double most = 0;
  std::size_t compared = 0;
  for (const std::size_t home : homes) {
    if (settled[home].empty()) {
      continue;
    }
    const double cosine = mean_cosine(update, settled[home]);
    ++compared;
    if (!best || cosine > most) {
      best = home;
      most = cosine;
    }
  }
  return compared >= 2 ? best : std::nullopt;
}

void Cfl::save(ModelWriter& out) const {
  out.out().put<std::uint64_t>(clusters_.size());
  for (const CflCluster& cluster : clusters_) {
    out.put(cluster.model);
    out.out().put(cluster.largest_mean_norm);
    out.out().put<std::uint64_t>(cluster.parent);
  }
  out.out().put<std::uint64_t>(places_.size());
  for (const auto& [client, place] : places_) {
    out.out().put(client);
    out.out().put<std::uint64_t>(place.cluster);
    out.out().put<std::uint64_t>(place.clusters_then);
  }
  out.out().put(present_);
}

void Cfl::load(ModelReader& in) {
  clusters_.clear();
  places_.clear();
  const auto count = in.in().get<std::uint64_t>();
  for (std::uint64_t c = 0; c < count; ++c) {
    ParametersPtr model = in.get_model();
    require(model != nullptr, ErrorCode::invalid_data, "{}: cluster {} must have a model", in.in().what(), c);
    const auto largest = in.in().get<double>();
    const auto parent = in.in().get<std::uint64_t>();
    require(parent < std::max<std::uint64_t>(c, 1), ErrorCode::invalid_data,
            "{}: cluster {} must come out of an earlier one, got {}", in.in().what(), c, parent);
    clusters_.push_back({std::move(model), largest, parent});
  }
  require(!clusters_.empty(), ErrorCode::invalid_data, "{}: there must be a cluster, got none", in.in().what());
  const auto clients = in.in().get<std::uint64_t>();
  for (std::uint64_t i = 0; i < clients; ++i) {
    const auto client = in.in().get<ClientId>();
    const auto cluster = in.in().get<std::uint64_t>();
    const auto then = in.in().get<std::uint64_t>();
    require(cluster < then && then <= clusters_.size(), ErrorCode::invalid_data,
            "{}: cluster of a client must be below {} of {}, got {}", in.in().what(), then, clusters_.size(), cluster);
    places_[client] = {cluster, then};
  }
  present_ = load_present([&](ClientId client) { return places_.contains(client); }, in);
  count_members();
}

}  // namespace

void CflOptions::check(const CflOptions& defaults, Problems& problems, const std::string& where) const {
  const auto applies = [&](std::string_view key, bool changed, CflThresholds needed) {
    if (changed && threshold_mode != needed) {
      problems.add("{}.{} would be ignored: it needs threshold_mode {}", where, key, name_of(needed));
    }
  };
  applies("eps1", eps1 != defaults.eps1, CflThresholds::absolute);
  applies("eps2", eps2 != defaults.eps2, CflThresholds::absolute);
  applies("relative_eps1", relative_eps1 != defaults.relative_eps1, CflThresholds::relative);
  applies("relative_eps2", relative_eps2 != defaults.relative_eps2, CflThresholds::relative);
}

std::unique_ptr<Algorithm> make_cfl(const CflOptions& options) { return std::make_unique<Cfl>(options); }

}  // namespace feroma
