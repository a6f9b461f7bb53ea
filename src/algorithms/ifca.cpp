#include "feroma/algorithms/ifca.h"

#include "feroma/algorithms/answers.h"

namespace feroma {
namespace {

class Ifca final : public Algorithm {
 public:
  explicit Ifca(const IfcaOptions& options) : options_(options) {}

  void init(const ServerContext& context) override {
    fit_ = with_learning_rate(with_momentum(context.fit, options_.momentum_reset), options_.learning_rate);
    models_ = initial_models(context, options_.clusters, "ifca");
  }

  [[nodiscard]] Message downlink(Round, int, ClientId) const override { return message_of(models_); }

  [[nodiscard]] Message client_step(Round, int, ClientContext& context, const Message& received) const override {
    const Models models = models_in(received, models_.size());
    const std::size_t chosen = models.size() == 1 ? 0 : best_model(context, models);
    Parameters trained =
        train_locally(context, *models[chosen], fit_, {}, kept_momentum(options_.momentum_reset, model_key(chosen)));
    return {{{"model", share(std::move(trained))},
             {"cluster", Ints{static_cast<std::int64_t>(chosen)}},
             {"num_examples", Ints{context.report.num_examples}}}};
  }

  void check_answer(Round, int, ClientId client, const Message& message) const override {
    const Answer answer("ifca", client, message);
    answer.model("model", *models_.front());
    answer.examples();
    answer.integer("cluster", 0, options_.clusters - 1);
    answer.expect_nothing_else();
  }

  void uplink(Round, int, std::map<ClientId, Message>& answers, StageSeconds& seconds) override {
    const StageTimer timer(seconds, Stage::aggregate);
    if (answers.empty()) {  // says nothing about which models are wanted
      return;
    }
    Assignment chosen_by;
    std::vector<std::vector<Upload>> uploads(models_.size());
    for (const auto& [client, answer] : answers) {
      const auto cluster = static_cast<std::size_t>(answer.integer("cluster"));
      uploads[cluster].push_back(upload_in(answer, "model"));
      chosen_by[client] = cluster;
    }
    for (std::size_t m = 0; m < models_.size(); ++m) {
      models_[m] = uploads[m].empty() ? emptied(models_[m], options_.empty)
                                      : mean_or(models_[m], uploads[m], options_.averaging);
    }
    present_.clear();
    for (const auto& [client, cluster] : chosen_by) {
      present_.push_back(client);
      assignment_[client] = cluster;
    }
  }

  [[nodiscard]] std::optional<ClusterView> clusters() const override {
    return cluster_view(models_, assignment_, present_);
  }
  [[nodiscard]] Passes passes_to_serve(int, bool) const override { return {options_.clusters, 0}; }
  [[nodiscard]] std::vector<ServedModel> served() const override { return served_models(models_); }

  void save(ModelWriter& out) const override {
    feroma::save(models_, out);
    feroma::save(assignment_, out);
    out.out().put(present_);
  }
  void load(ModelReader& in) override {
    models_ = load_models(models_.size(), in);
    assignment_ = load_assignment(models_.size(), in);
    present_ = load_present([&](ClientId client) { return assignment_.contains(client); }, in);
  }

 private:
  IfcaOptions options_;
  FitOptions fit_;
  Models models_;
  Assignment assignment_;          ///< of everybody who ever answered
  std::vector<ClientId> present_;  ///< who answered last
};

}  // namespace

void IfcaOptions::check(const IfcaOptions& preset, Problems& problems, const std::string& where) const {
  check_needs_several("empty", empty != preset.empty, "clusters", clusters, problems, where);
}

std::unique_ptr<Algorithm> make_ifca(const IfcaOptions& options) { return std::make_unique<Ifca>(options); }

}  // namespace feroma
