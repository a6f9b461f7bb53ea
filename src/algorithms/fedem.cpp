#include "feroma/algorithms/fedem.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "algorithms/mixture.h"
#include "feroma/algorithms/answers.h"
#include "feroma/algorithms/components.h"
#include "feroma/core/error.h"

namespace feroma {
namespace {

/// What FedEM and FedRC differ in.
struct MixtureRules {
  std::string_view name;
  int components = 1;
  MomentumChoice momentum_reset = MomentumChoice::inherit;
  double learning_rate = 0;
  bool label_priors = false;
  bool keep_absent_labels = false;
  int test_steps = 0;
  bool test_priors = false;
};

/// By how much shares that travelled as floats may miss 1.
constexpr double kSharesOff = 1e-3;

/// A client's part of the components' label counts.
struct ClientLabels {
  Floats by_label;            ///< components x classes
  std::vector<double> total;  ///< samples, by component
};

std::unique_ptr<Predictor> mixture_of(std::span<const ParametersPtr> models, std::span<const double> shares) {
  std::vector<WeightedPredictor> members;
  for (std::size_t m = 0; m < models.size(); ++m) {
    members.push_back({shares[m], make_single_model_predictor(models[m])});
  }
  return make_ensemble_predictor(std::move(members));
}

/// How well the mixture does on the client's held-out split.
Tally score_mixture(ClientContext& context, std::span<const ParametersPtr> models, std::span<const double> shares) {
  const StageTimer timer(context.seconds, Stage::evaluate);
  const Passes before = context.trainer.passes();
  const Tally tally = score(*mixture_of(models, shares), context.trainer, context.held_out);
  context.trainer.passes() = before;
  return tally;
}

class MixtureOfModels final : public Algorithm {
 public:
  explicit MixtureOfModels(const MixtureRules& rules) : rules_(rules) {}

  void init(const ServerContext& context) override {
    fit_ = with_learning_rate(with_momentum(context.fit, rules_.momentum_reset), rules_.learning_rate);
    models_ = initial_models(context, rules_.components, rules_.name);
    classes_ = static_cast<std::size_t>(context.model.classes);
    multi_label_ = context.multi_label;
    // Equal priors say nothing, so FedRC's first round is FedEM's.
    priors_.assign(rules_.label_priors ? models_.size() * classes_ : 0, 1.0F / static_cast<float>(classes_));
  }

  /// Every component goes both ways; shares and label counts are smaller than the two models besides.
  [[nodiscard]] ModelsInMessage most_models(std::uint64_t) const override {
    const ModelsInMessage usual;
    const std::uint64_t all = models_.size() + 2;
    return {std::max(usual.task, all), std::max(usual.answer, all)};
  }
  [[nodiscard]] std::uint64_t models_in_answer(Round, int, ClientId) const override { return most_models(0).answer; }

  [[nodiscard]] Message downlink(Round, int, ClientId) const override {
    Message message = message_of(models_);
    if (rules_.label_priors) {
      message.values["label_priors"] = priors_;
    }
    return message;
  }

  [[nodiscard]] Message client_step(Round, int, ClientContext& context, const Message& received) const override {
    const Models models = models_in(received, models_.size());
    const std::vector<double> known = remembered_shares(context.state);
    context.report.before = score_mixture(context, models, known);
    const ComponentTable explained = explain(context, received, models, known);
    const std::vector<double> shares = shares_from(explained, known);
    const Models trained = train(context, models, explained, shares);
    context.report.after = score_mixture(context, trained, shares);
    // Only the shares outlive the round: responsibilities belong to samples, which may be replaced.
    const Floats sent(shares.begin(), shares.end());
    context.state.values["shares"] = sent;
    Message answer = message_of(trained);
    answer.values["shares"] = sent;
    answer.values["num_examples"] = Ints{context.report.num_examples};
    if (rules_.label_priors) {
      answer.values["label_mass"] = label_mass(explained, context.train, classes_);
    }
    return answer;
  }

  void check_answer(Round, int, ClientId client, const Message& message) const override {
    const Answer answer(rules_.name, client, message);
    for (std::size_t m = 0; m < models_.size(); ++m) {
      answer.model(model_key(m), *models_[m]);
    }
    answer.examples();
    double sum = 0;
    for (const float share : answer.floats("shares", models_.size(), 0)) {
      sum += static_cast<double>(share);
    }
    answer.expect(std::abs(sum - 1) < kSharesOff, "shares", "sum to 1", sum);
    if (rules_.label_priors) {
      answer.floats("label_mass", priors_.size(), 0);
    }
    answer.expect_nothing_else();
  }

  void uplink(Round, int, std::map<ClientId, Message>& answers, StageSeconds& seconds) override {
    const StageTimer timer(seconds, Stage::aggregate);
    if (answers.empty()) {
      return;
    }
    std::map<ClientId, std::vector<double>> shares;
    for (const auto& [client, answer] : answers) {
      shares[client] = shares_in(answer);
    }
    for (std::size_t m = 0; m < models_.size(); ++m) {
      std::vector<Upload> uploads;
      for (const auto& [client, answer] : answers) {
        uploads.push_back(upload_in(answer, model_key(m)));
      }
      models_[m] = mean_or(models_[m], uploads);
    }
    if (rules_.label_priors) {
      update_priors(answers, shares);
    }
    present_.clear();
    for (auto& [client, own] : shares) {
      present_.push_back(client);
      shares_[client] = std::move(own);
    }
  }

  /// A client's labels are what an E-step needs; without one the evaluation weighs the components by their losses.
  [[nodiscard]] std::unique_ptr<Predictor> predictor(TestPolicy policy, TestContext& context) const override {
    if (policy != TestPolicy::few_label || context.few_labels == nullptr || rules_.test_steps == 0) {
      return nullptr;
    }
    ComponentTable log_priors;
    if (rules_.test_priors) {
      log_priors = log_label_priors(priors_, models_.size(), *context.few_labels);
    }
    const ComponentTable losses = context.trainer.losses(models_, *context.few_labels);
    return mixture_of(models_, shares_after(rules_.test_steps, losses, log_priors));
  }
  [[nodiscard]] std::optional<Offer> offer(const Message&, const VisitorWish& wish) const override {
    require(rules_.test_steps == 0 || !wish.few_labels || wish.candidates < 1, ErrorCode::unsupported,
            "[{}] visitors choose by losses: test_steps must be 0, got {}", rules_.name, rules_.test_steps);
    return std::nullopt;
  }

  [[nodiscard]] std::optional<ClusterView> clusters() const override { return ClusterView{models_, shares_, present_}; }
  [[nodiscard]] Passes passes_to_serve(int, bool) const override { return {rules_.components, 0}; }
  [[nodiscard]] std::vector<ServedModel> served() const override { return served_models(models_); }

  void save(ModelWriter& out) const override {
    feroma::save(models_, out);
    ArchiveWriter& archive = out.out();
    archive.put<std::uint64_t>(shares_.size());
    for (const auto& [client, shares] : shares_) {
      archive.put(client);
      archive.put(shares);
    }
    archive.put(present_);
    archive.put(priors_);
    archive.put<std::uint64_t>(labels_.size());
    for (const auto& [client, labels] : labels_) {
      archive.put(client);
      archive.put(labels.by_label);
      archive.put(labels.total);
    }
  }

  void load(ModelReader& in) override {
    models_ = load_models(models_.size(), in);
    ArchiveReader& archive = in.in();
    shares_.clear();
    labels_.clear();
    for (auto left = archive.get<std::uint64_t>(); left > 0; --left) {
      const auto client = archive.get<ClientId>();
      shares_[client] = stored<double>(archive, models_.size());
    }
    present_ = load_present([&](ClientId client) { return shares_.contains(client); }, in);
    priors_ = stored<float>(archive, priors_.size());
    for (auto left = archive.get<std::uint64_t>(); left > 0; --left) {
      const auto client = archive.get<ClientId>();
      ClientLabels& labels = labels_[client];
      labels.by_label = stored<float>(archive, priors_.size());
      labels.total = stored<double>(archive, models_.size());
    }
  }

 private:
  template <class T>
  static std::vector<T> stored(ArchiveReader& archive, std::size_t size) {
    std::vector<T> values = archive.get_vector<T>();
    require(values.size() == size, ErrorCode::invalid_data, "{}: must hold {} values of a mixture, got {}",
            archive.what(), size, values.size());
    return values;
  }

  /// A client that was never here takes part in all components alike.
  [[nodiscard]] std::vector<double> remembered_shares(const Message& state) const {
    if (!state.has("shares")) {
      return std::vector<double>(models_.size(), 1.0 / static_cast<double>(models_.size()));
    }
    const Floats& shares = state.floats("shares");
    require(shares.size() == models_.size(), ErrorCode::invalid_data, "[{}] a client must remember {} shares, got {}",
            rules_.name, models_.size(), shares.size());
    return floored_shares(shares);
  }

  /// The E-step on the received models; those of after training would be another algorithm.
  [[nodiscard]] ComponentTable explain(ClientContext& context, const Message& received, const Models& models,
                                       std::span<const double> shares) const {
    const StageTimer timer(context.seconds, Stage::map);
    ComponentTable log_priors;
    if (rules_.label_priors) {
      const Floats& priors = received.floats("label_priors");
      require(priors.size() == priors_.size(), ErrorCode::invalid_data, "[{}] label_priors must be {} values, got {}",
              rules_.name, priors_.size(), priors.size());
      log_priors = log_label_priors(priors, models.size(), context.train);
    }
    return responsibilities(shares, context.trainer.losses(models, context.train), log_priors);
  }

  /// The M-step: each component on all samples, weighted by how much of each it explains.
  [[nodiscard]] Models train(ClientContext& context, const Models& models, const ComponentTable& explained,
                             std::span<const double> shares) const {
    const StageTimer timer(context.seconds, Stage::train);
    std::vector<Parameters> params;
    std::vector<Floats> weights;
    std::vector<Floats> velocities;
    for (std::size_t m = 0; m < models.size(); ++m) {
      params.push_back(models[m]->clone());
      weights.emplace_back(explained[m].begin(), explained[m].end());
      velocities.push_back(
          recall_momentum(context.state, kept_momentum(rules_.momentum_reset, model_key(m)), models[m]->size()));
    }
    std::vector<Learner> learners;
    for (std::size_t m = 0; m < models.size(); ++m) {
      if (static_cast<float>(shares[m]) > 0) {  // all its weights are zero otherwise
        learners.push_back({params[m], {.sample_weights = weights[m], .edit_gradient = {}}});
        learners.back().hooks.velocity = velocities[m];
      }
    }
    context.report.num_examples = static_cast<std::int64_t>(context.train.size());
    context.report.train_loss = 0;
    for (const double loss : context.trainer.fit_together(learners, context.train, fit_, context.rng.derive("train"))) {
      context.report.train_loss += loss;
    }
    Models trained;
    for (std::size_t m = 0; m < models.size(); ++m) {
      trained.push_back(share(std::move(params[m])));
      if (const std::string kept = kept_momentum(rules_.momentum_reset, model_key(m)); !kept.empty()) {
        context.state.values[kept] = std::move(velocities[m]);
      }
    }
    return trained;
  }

  [[nodiscard]] static std::vector<double> shares_in(const Message& answer) {
    const Floats& sent = answer.floats("shares");
    std::vector<double> shares(sent.begin(), sent.end());
    const double sum = std::accumulate(shares.begin(), shares.end(), 0.0);
    for (double& share : shares) {
      share /= sum;  // rounding to floats costs the last digits
    }
    return shares;
  }

  void update_priors(const std::map<ClientId, Message>& answers,
                     const std::map<ClientId, std::vector<double>>& shares) {
    if (!rules_.keep_absent_labels) {
      labels_.clear();
    }
    for (const auto& [client, answer] : answers) {
      std::vector<double> total = shares.at(client);
      for (double& samples : total) {
        samples *= static_cast<double>(answer.integer("num_examples"));
      }
      labels_[client] = {answer.floats("label_mass"), std::move(total)};
    }
    for (std::size_t m = 0; m < models_.size(); ++m) {
      double samples = 0;
      std::vector<double> by_label(classes_);
      for (const auto& [client, labels] : labels_) {
        samples += labels.total[m];
        for (std::size_t u = 0; u < classes_; ++u) {
          by_label[u] += static_cast<double>(labels.by_label[m * classes_ + u]);
        }
      }
      const std::vector<double> priors = multi_label_ ? label_rates(by_label, samples) : label_priors(by_label);
      std::copy(priors.begin(), priors.end(), priors_.begin() + static_cast<std::ptrdiff_t>(m * classes_));
    }
  }

  MixtureRules rules_;
  FitOptions fit_;
  std::size_t classes_ = 0;
  bool multi_label_ = false;
  Models models_;
  std::map<ClientId, std::vector<double>> shares_;  ///< of everybody who ever answered
  std::vector<ClientId> present_;                   ///< who answered last
  Floats priors_;                                   ///< components x classes; empty for FedEM
  std::map<ClientId, ClientLabels> labels_;         ///< what the priors were made from
};

}  // namespace

void FedEmOptions::check(const FedEmOptions& preset, Problems& problems, const std::string& where) const {
  check_needs_several("test_steps", test_steps != preset.test_steps, "components", components, problems, where);
}

void FedRcOptions::check(const FedRcOptions& preset, Problems& problems, const std::string& where) const {
  check_needs_several("absent_labels", absent_labels != preset.absent_labels, "components", components, problems,
                      where);
  check_needs_several("test_steps", test_steps != preset.test_steps, "components", components, problems, where);
  if (test_priors != preset.test_priors && test_steps == 0) {
    problems.add("{}.test_priors would be ignored: it needs test_steps > 0", where);
  }
}

std::unique_ptr<Algorithm> make_fedem(const FedEmOptions& options) {
  MixtureRules rules{"fedem", options.components, options.momentum_reset, options.learning_rate};
  rules.test_steps = options.test_steps;
  return std::make_unique<MixtureOfModels>(rules);
}

std::unique_ptr<Algorithm> make_fedrc(const FedRcOptions& options) {
  return std::make_unique<MixtureOfModels>(MixtureRules{
      "fedrc", options.components, options.momentum_reset, options.learning_rate, /*label_priors=*/true,
      options.absent_labels == AbsentLabels::keep, options.test_steps, options.test_priors == TestPriors::learned});
}

}  // namespace feroma
