#include "feroma/algorithms/cfl.h"

#include <algorithm>
#include <cmath>

#include "algorithms/answers.h"
#include "feroma/aggregation/mix.h"
#include "feroma/mapping/linkage.h"

namespace feroma {
namespace {

/// Keeps the cosine of an update of length 0 finite.
constexpr double kSmallestNorm = 1e-12;

/// A client's answer: its model, and how it differs from the cluster's in everything that is trained.
struct CflUpdate {
  ClientId client{};
  ParametersPtr model;
  std::int64_t num_examples = 0;
  std::vector<float> step;
};
using CflUpdates = std::vector<CflUpdate>;

struct CflCluster {
  ParametersPtr model;
  double largest_mean_norm = 0;  ///< the longest mean update it has made
};

double update_product(std::span<const float> a, std::span<const float> b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    sum += static_cast<double>(a[i]) * static_cast<double>(b[i]);
  }
  return sum;
}

/// Running statistics travel with a model but say nothing about which way its clients pull.
std::vector<float> trained_difference(const Parameters& after, const Parameters& before) {
  std::vector<float> step;
  for (const Segment& segment : before.layout().segments) {
    for (std::size_t i = segment.offset; segment.kind != SegmentKind::buffer && i < segment.offset + segment.size;
         ++i) {
      step.push_back(after.values()[i] - before.values()[i]);
    }
  }
  return step;
}

double mean_norm(const CflUpdates& updates) {
  double examples = 0;
  for (const CflUpdate& update : updates) {
    examples += static_cast<double>(update.num_examples);
  }
  std::vector<double> mean(updates.front().step.size());
  for (const CflUpdate& update : updates) {
    const double weight = static_cast<double>(update.num_examples) / examples;
    for (std::size_t i = 0; i < mean.size(); ++i) {
      mean[i] += weight * static_cast<double>(update.step[i]);
    }
  }
  double squares = 0;
  for (const double value : mean) {
    squares += value * value;
  }
  return std::sqrt(squares);
}

double size_of(std::span<const float> step, CflNorm norm) {
  switch (norm) {
    case CflNorm::l2: return std::sqrt(update_product(step, step));
    case CflNorm::largest_coordinate: {
      float largest = 0;
      for (const float value : step) {
        largest = std::max(largest, std::abs(value));
      }
      return static_cast<double>(largest);
    }
  }
  unreachable();
}

Matrix cosines(const CflUpdates& updates, const Parallel& parallel) {
  std::vector<double> norms;
  for (const CflUpdate& update : updates) {
    norms.push_back(std::sqrt(update_product(update.step, update.step)));
  }
  Matrix similarity(updates.size(), updates.size(), 1.0);
  parallel(updates.size(), [&](std::size_t i) {
    for (std::size_t j = i + 1; j < updates.size(); ++j) {
      similarity.at(i, j) = update_product(updates[i].step, updates[j].step) / (norms[i] * norms[j] + kSmallestNorm);
    }
  });
  return similarity;
}

class Cfl final : public Algorithm {
 public:
  explicit Cfl(const CflOptions& options) : options_(options) {}

  void init(const ServerContext& context) override {
    fit_ = with_momentum(context.fit, options_.momentum_reset);
    parallel_ = context.parallel;
    clusters_ = {{context.initial, 0}};
  }

  [[nodiscard]] Message downlink(Round, int, ClientId client) const override {
    return {{{"model", clusters_[cluster_of(client)].model}}};
  }

  [[nodiscard]] Message client_step(Round, int, ClientContext& context, const Message& received) const override {
    Parameters trained = train_locally(context, *received.model("model"), fit_);
    return {{{"model", share(std::move(trained))}, {"num_examples", Ints{context.report.num_examples}}}};
  }

  void check_answer(Round, int, ClientId client, const Message& message) const override {
    const Answer answer("cfl", client, message);
    answer.model("model", *clusters_.front().model);
    answer.examples(/*least=*/1);
  }

  void uplink(Round round, int, std::map<ClientId, Message>& answers, StageSeconds& seconds) override {
    std::vector<CflUpdates> of_cluster(clusters_.size());
    last_.clear();
    {
      const StageTimer timer(seconds, Stage::aggregate);
      for (const auto& [client, answer] : answers) {
        const std::size_t cluster = cluster_of(client);
        assignment_[client] = cluster;
        last_.push_back(client);
        of_cluster[cluster].push_back(read_update(client, answer, *clusters_[cluster].model));
      }
    }
    // A child is not looked at again before it has made a step of its own.
    for (std::size_t c = 0; c < of_cluster.size(); ++c) {
      if (!of_cluster[c].empty()) {
        advance(c, of_cluster[c], round, seconds);
      }
    }
  }

  [[nodiscard]] std::optional<ClusterView> clusters() const override {
    ClusterView view;
    for (const CflCluster& cluster : clusters_) {
      view.models.push_back(cluster.model);
    }
    for (const ClientId client : last_) {
      std::vector<double>& shares = view.shares[client];
      shares.resize(clusters_.size());
      shares[cluster_of(client)] = 1;
    }
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
  /// Who has never answered is served by the first cluster, which keeps the number of the whole.
  [[nodiscard]] std::size_t cluster_of(ClientId client) const {
    const auto found = assignment_.find(client);
    return found == assignment_.end() ? 0 : found->second;
  }

  [[nodiscard]] static CflUpdate read_update(ClientId client, const Message& answer, const Parameters& before) {
    const ParametersPtr& model = answer.model("model");
    return {client, model, answer.integer("num_examples"), trained_difference(*model, before)};
  }

  static ParametersPtr mean_model(const CflUpdates& updates) {
    std::vector<ParametersPtr> models;
    std::vector<std::int64_t> counts;
    for (const CflUpdate& update : updates) {
      models.push_back(update.model);
      counts.push_back(update.num_examples);
    }
    return share(weighted_mean(models, counts));
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
    // Members that were not asked this round stay in the first part, which has the parent's number.
    clusters_[cluster] = {mean_model(parts[0]), 0};
    for (const CflUpdate& update : parts[1]) {
      assignment_[update.client] = clusters_.size();
    }
    clusters_.push_back({mean_model(parts[1]), 0});
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
                       [&](const CflUpdate& update) { return size_of(update.step, options_.norm) > eps2; });
  }

  /// The part, 0 or 1, of every update; empty where the parts are too much alike.
  [[nodiscard]] std::vector<std::size_t> bipartition(const CflUpdates& updates) const {
    const Matrix similarity = cosines(updates, parallel_);
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
  std::map<ClientId, std::size_t> assignment_;  ///< of everybody who ever answered
  std::vector<ClientId> last_;                  ///< who answered in the last round
};

void Cfl::save(ModelWriter& out) const {
  out.out().put<std::uint64_t>(clusters_.size());
  for (const CflCluster& cluster : clusters_) {
    out.put(cluster.model);
    out.out().put(cluster.largest_mean_norm);
  }
  out.out().put<std::uint64_t>(assignment_.size());
  for (const auto& [client, cluster] : assignment_) {
    out.out().put(client);
    out.out().put<std::uint64_t>(cluster);
  }
  out.out().put(last_);
}

void Cfl::load(ModelReader& in) {
  clusters_.clear();
  assignment_.clear();
  const auto count = in.in().get<std::uint64_t>();
  for (std::uint64_t c = 0; c < count; ++c) {
    ParametersPtr model = in.get_model();
    require(model != nullptr, ErrorCode::invalid_data, "{}: cluster {} must have a model", in.in().what(), c);
    clusters_.push_back({std::move(model), in.in().get<double>()});
  }
  require(!clusters_.empty(), ErrorCode::invalid_data, "{}: there must be a cluster, got none", in.in().what());
  const auto clients = in.in().get<std::uint64_t>();
  for (std::uint64_t i = 0; i < clients; ++i) {
    const auto client = in.in().get<ClientId>();
    const auto cluster = in.in().get<std::uint64_t>();
    require(cluster < clusters_.size(), ErrorCode::invalid_data, "{}: cluster of a client must be below {}, got {}",
            in.in().what(), clusters_.size(), cluster);
    assignment_[client] = cluster;
  }
  last_ = in.in().get_vector<ClientId>();
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
