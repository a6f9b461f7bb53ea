#include "feroma/algorithms/fesem.h"

#include <cmath>

#include "feroma/algorithms/answers.h"

namespace feroma {
namespace {

double squared_difference(std::span<const float> a, std::span<const float> b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double difference = static_cast<double>(a[i]) - static_cast<double>(b[i]);
    sum += difference * difference;
  }
  return sum;
}

double distance_to_centre(CentreDistance kind, const Parameters& model, const Parameters& centre) {
  double sum = 0;
  for (std::size_t s = 0; s < centre.layout().segments.size(); ++s) {
    const double squared = squared_difference(model.segment(s), centre.segment(s));
    switch (kind) {
      case CentreDistance::squared:
        // Running statistics are not learned; they would outweigh what is.
        sum += centre.layout().segments[s].kind == SegmentKind::buffer ? 0.0 : squared;
        break;
      case CentreDistance::tensor_norms: sum += std::sqrt(squared); break;
    }
  }
  return sum;
}

/// Adds the gradient of weight * |params - centre|^2, which leaves buffers alone.
FitHooks pull_to(const Parameters& centre, double weight) {
  if (weight == 0) {
    return {};
  }
  FitHooks hooks;
  hooks.edit_gradient = [&centre, twice = static_cast<float>(2 * weight)](std::span<const float> params,
                                                                          std::span<float> gradient) {
    for (const Segment& segment : centre.layout().segments) {
      if (segment.kind != SegmentKind::buffer) {
        for (std::size_t i = segment.offset; i < segment.offset + segment.size; ++i) {
          gradient[i] += twice * (params[i] - centre.values()[i]);
        }
      }
    }
  };
  return hooks;
}

class Fesem final : public Algorithm {
 public:
  explicit Fesem(const FesemOptions& options) : options_(options) {}

  void init(const ServerContext& context) override {
    fit_ = with_learning_rate(with_momentum(context.fit, options_.momentum_reset), options_.learning_rate);
    parallel_ = context.parallel;
    rng_ = context.rng.derive("groups");
    centres_ = options_.centre_start == CentreStart::apart
                   ? initial_models(context, options_.clusters, "fesem")
                   : Models(static_cast<std::size_t>(options_.clusters), context.initial);
  }

  /// A client that is in no cluster yet has no model to compare, so it gets all centres and takes the best; while these
  /// are one model, it gets that.
  [[nodiscard]] Message downlink(Round, int, ClientId client) const override {
    if (centres_.size() == 1 || deals_groups()) {
      return {{{"model", centres_.front()}}};
    }
    const auto known = cluster_of_.find(client);
    return known == cluster_of_.end() ? message_of(centres_) : Message{{{"model", centres_[known->second]}}};
  }

  [[nodiscard]] Message client_step(Round, int, ClientContext& context, const Message& received) const override {
    Message answer;
    ParametersPtr start;
    if (received.has("model")) {
      start = received.model("model");
    } else {
      const Models centres = models_in(received, centres_.size());
      if (options_.first_round == FirstRound::all) {
        return answer_after_training_all(context, centres);
      }
      const std::size_t chosen = best_model(context, centres);
      start = centres[chosen];
      answer.values["cluster"] = Ints{static_cast<std::int64_t>(chosen)};
    }
    answer.values["model"] = share(train_locally(context, *start, fit_, pull_to(*start, options_.proximal),
                                                 kept_momentum(options_.momentum_reset)));
    answer.values["num_examples"] = Ints{context.report.num_examples};
    return answer;
  }

  void check_answer(Round, int, ClientId client, const Message& message) const override {
    const Answer answer("fesem", client, message);
    answer.model("model", *centres_.front());
    answer.examples();
    if (chooses(client)) {
      answer.integer("cluster", 0, options_.clusters - 1);
    }
    answer.expect_nothing_else();
  }

  void uplink(Round, int, std::map<ClientId, Message>& answers, StageSeconds& seconds) override {
    if (answers.empty()) {  // says nothing about who is near which centre
      return;
    }
    std::vector<ClientId> clients;
    std::vector<const Message*> messages;
    std::vector<Upload> uploads;
    for (const auto& [client, answer] : answers) {
      clients.push_back(client);
      messages.push_back(&answer);
      uploads.push_back(upload_in(answer, "model"));
    }
    const std::vector<std::size_t> clusters = assign(clients, messages, uploads, seconds);
    move_centres(clients, clusters, uploads, seconds);
    for (std::size_t i = 0; i < clients.size(); ++i) {
      cluster_of_[clients[i]] = clusters[i];
    }
    present_ = std::move(clients);
  }

  [[nodiscard]] std::optional<ClusterView> clusters() const override {
    return cluster_view(centres_, cluster_of_, present_);
  }
  [[nodiscard]] Passes passes_to_serve(int, bool) const override { return {options_.clusters, 0}; }
  [[nodiscard]] std::vector<ServedModel> served() const override { return served_models(centres_); }

  void save(ModelWriter& out) const override {
    feroma::save(centres_, out);
    feroma::save(cluster_of_, out);
    out.out().put(present_);
  }
  void load(ModelReader& in) override {
    centres_ = load_models(centres_.size(), in);
    cluster_of_ = load_assignment(centres_.size(), in);
    present_ = load_present([&](ClientId client) { return cluster_of_.contains(client); }, in);
  }

 private:
  /// Trains every centre; the answer is the one that fits the client's data best afterwards.
  [[nodiscard]] Message answer_after_training_all(ClientContext& context, const Models& centres) const {
    std::vector<Parameters> params;
    std::vector<Floats> velocities;
    for (const ParametersPtr& centre : centres) {
      params.push_back(centre->clone());
      velocities.emplace_back(centre->size());
    }
    std::vector<Learner> learners;
    for (std::size_t m = 0; m < centres.size(); ++m) {
      learners.push_back({params[m], pull_to(*centres[m], options_.proximal)});
      learners.back().hooks.velocity = velocities[m];
    }
    std::vector<double> losses;
    {
      const StageTimer timer(context.seconds, Stage::train);
      losses = context.trainer.fit_together(learners, context.train, fit_, context.rng.derive("train"));
    }
    Models trained;
    for (Parameters& model : params) {
      trained.push_back(share(std::move(model)));
    }
    const std::size_t chosen = best_model(context, trained);
    if (const std::string kept = kept_momentum(options_.momentum_reset); !kept.empty()) {
      context.state.values[kept] = std::move(velocities[chosen]);
    }
    context.report.num_examples = static_cast<std::int64_t>(context.train.size());
    context.report.train_loss = losses[chosen];
    context.report.before = score_for_the_record(context, *centres[chosen]);
    context.report.after = score_for_the_record(context, *trained[chosen]);
    return {{{"model", trained[chosen]},
             {"cluster", Ints{static_cast<std::int64_t>(chosen)}},
             {"num_examples", Ints{context.report.num_examples}}}};
  }

  /// Whether the client is in no cluster yet and takes the best centre by itself.
  [[nodiscard]] bool chooses(ClientId client) const {
    return centres_.size() > 1 && !deals_groups() && !cluster_of_.contains(client);
  }
  /// Whether nobody has answered yet and the centres are one model.
  [[nodiscard]] bool deals_groups() const {
    return options_.centre_start == CentreStart::groups && cluster_of_.empty();
  }
  /// Random groups that are as large as one another.
  [[nodiscard]] std::vector<std::size_t> dealt(std::size_t clients) const {
    std::vector<std::size_t> groups(clients);
    Rng rng = rng_;
    std::size_t turn = 0;
    for (const std::uint32_t i : rng.permutation(clients)) {
      groups[i] = turn++ % centres_.size();
    }
    return groups;
  }

  /// The centre nearest to each client's model, or in its first round the one it chose itself or was dealt.
  [[nodiscard]] std::vector<std::size_t> assign(std::span<const ClientId> clients,
                                                std::span<const Message* const> messages,
                                                std::span<const Upload> uploads, StageSeconds& seconds) const {
    const StageTimer timer(seconds, Stage::map);
    if (deals_groups()) {
      return dealt(uploads.size());
    }
    std::vector<std::size_t> clusters(uploads.size());
    parallel_(uploads.size(), [&](std::size_t i) {
      if (chooses(clients[i])) {
        clusters[i] = static_cast<std::size_t>(messages[i]->integer("cluster"));
        return;
      }
      std::vector<double> distances;
      for (const ParametersPtr& centre : centres_) {
        distances.push_back(distance_to_centre(options_.distance, *uploads[i].model, *centre));
      }
      clusters[i] = lowest(distances);
    });
    return clusters;
  }

  void move_centres(std::span<const ClientId> clients, std::span<const std::size_t> clusters,
                    std::span<const Upload> uploads, StageSeconds& seconds) {
    const StageTimer timer(seconds, Stage::aggregate);
    std::vector<std::vector<Upload>> members(centres_.size());
    for (std::size_t i = 0; i < clients.size(); ++i) {
      const auto before = cluster_of_.find(clients[i]);
      const bool moved = before != cluster_of_.end() && before->second != clusters[i];
      Upload upload = uploads[i];
      if (moved && options_.moved == MovedClient::untrained) {
        upload.model = centres_[clusters[i]];
      }
      members[clusters[i]].push_back(std::move(upload));
    }
    for (std::size_t m = 0; m < centres_.size(); ++m) {
      centres_[m] = members[m].empty() ? emptied(centres_[m], options_.empty)
                                       : mean_or(centres_[m], members[m], options_.averaging);
    }
  }

  FesemOptions options_;
  FitOptions fit_;
  Parallel parallel_ = in_turn;
  Rng rng_{0};
  Models centres_;
  Assignment cluster_of_;          ///< every client that ever answered
  std::vector<ClientId> present_;  ///< who answered last
};

}  // namespace

void FesemOptions::check(const FesemOptions& preset, Problems& problems, const std::string& where) const {
  const auto needs_several = [&](std::string_view option, bool changed) {
    check_needs_several(option, changed, "clusters", clusters, problems, where);
  };
  needs_several("distance", distance != preset.distance);
  needs_several("moved", moved != preset.moved);
  needs_several("empty", empty != preset.empty);
  needs_several("first_round", first_round != preset.first_round);
}

std::unique_ptr<Algorithm> make_fesem(const FesemOptions& options) { return std::make_unique<Fesem>(options); }

}  // namespace feroma
