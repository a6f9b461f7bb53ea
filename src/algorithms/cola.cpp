#include "feroma/algorithms/cola.h"

#include <algorithm>

#include "algorithms/cola_agents.h"
#include "feroma/algorithms/test_time.h"
#include "feroma/core/error.h"

namespace feroma {
namespace {

/// Says again what was said while the client adapted; that has happened once and in company.
class RecordedPredictor final : public Predictor {
 public:
  explicit RecordedPredictor(std::vector<float> probabilities) : probabilities_(std::move(probabilities)) {}

  std::vector<float> predict(Trainer&, const View& view) override {
    require(view.size() > 0 && probabilities_.size() % view.size() == 0, ErrorCode::internal,
            "[cola] a client is served the samples it adapted to, got {} others", view.size());
    return probabilities_;
  }
  [[nodiscard]] const ModelShares& sources() const override { return none_; }

 private:
  std::vector<float> probabilities_;
  ModelShares none_;
};

/// All principal agents of a community, in step.
class Lockstep {
 public:
  Lockstep(const ModelSpec& model, std::span<const ParametersPtr> starts, std::span<TestContext> clients,
           const ColaOptions& options)
      : options_(options), channels_(starts.front()->layout()), stem_(model), clients_(clients) {
    for (std::size_t i = 0; i < clients.size(); ++i) {
      agents_.emplace_back(starts[i], channels_, options_, clients[i].rng.derive("cola"));
      streams_.push_back(stream_of(clients[i].data, options_.batch_size));
    }
    predictions_.resize(clients.size());
  }

  void run() {
    std::size_t longest = 0;
    for (const auto& stream : streams_) {
      longest = std::max(longest, stream.size());
    }
    for (std::size_t step = 0; step < longest; ++step) {
      for (std::size_t i = 0; i < agents_.size(); ++i) {
        if (step < streams_[i].size()) {
          adapt(i, streams_[i][step]);
        }
      }
      const bool last = step + 1 == longest;
      if (last || (step + 1) % static_cast<std::size_t>(options_.exchange_batches) == 0) {
        exchange();
      }
    }
  }

  [[nodiscard]] std::vector<std::vector<float>>& predictions() { return predictions_; }

  [[nodiscard]] std::shared_ptr<const std::vector<DomainVector>> vectors() const {
    return with_source(channels_, published_);
  }

 private:
  void adapt(std::size_t i, const View& batch) {
    const bool counts = counts_for_statistics(options_, batch, clients_[i].data);
    const std::vector<float> row = agents_[i].step(clients_[i].trainer, stem_, batch, counts);
    predictions_[i].insert(predictions_[i].end(), row.begin(), row.end());
  }

  /// Everybody publishes before anybody receives, so that nobody passes on what it has just been given.
  void exchange() {
    std::vector<std::vector<DomainVector>> offered;
    for (PrincipalAgent& agent : agents_) {
      offered.push_back(agent.publish());
    }
    for (std::size_t from = 0; from < agents_.size(); ++from) {
      for (const DomainVector& vector : offered[from]) {
        published_.push_back(vector);
        clients_[from].traffic.bytes_up += vector.bytes();
        for (std::size_t to = 0; to < agents_.size(); ++to) {
          if (to != from) {
            agents_[to].receive(vector);
            clients_[to].traffic.bytes_down += vector.bytes();
          }
        }
      }
    }
  }

  const ColaOptions& options_;
  ChannelAffine channels_;
  Stem stem_;
  std::span<TestContext> clients_;
  std::vector<PrincipalAgent> agents_;
  std::vector<std::vector<View>> streams_;
  std::vector<std::vector<float>> predictions_;
  std::vector<DomainVector> published_;
};

class Cola final : public OnTop {
 public:
  explicit Cola(const ColaOptions& options) : OnTop(options.start, options.momentum_reset), options_(options) {}

  void init(const ServerContext& context) override {
    require(!context.multi_label, ErrorCode::unsupported,
            "[cola] follows the entropy over classes that exclude one another, got multi-label data");
    // Neither has anything to work on in some models, which is better said now than after training.
    static_cast<void>(ChannelAffine(context.initial->layout()));
    static_cast<void>(Stem(context.model));
    model_ = context.model;
    OnTop::init(context);
  }

  /// A client on its own, such as a training client in validation, gets the model as it is.
  [[nodiscard]] Community community(TestPolicy policy) const override {
    return [this, policy](std::span<TestContext> clients) {
      std::vector<ParametersPtr> starts;
      for (TestContext& client : clients) {
        starts.push_back(assigned(policy, client));
      }
      const bool complete = std::none_of(starts.begin(), starts.end(), [](const auto& start) { return !start; });
      return complete ? adapt_together(model_, starts, clients, options_)
                      : std::vector<std::unique_ptr<Predictor>>(clients.size());
    };
  }

  [[nodiscard]] std::optional<Offer> offer(const Message&, const VisitorWish&) const override {
    fail(ErrorCode::unsupported,
         "[cola] test clients adapt side by side and tell one another what they learned; a client that comes alone has "
         "nobody to adapt with, and the model that they start from is {}'s",
         name_of(options_.start));
  }
  /// A batch goes through the model, once more for the slope of its entropy, and again where it is predicted later.
  [[nodiscard]] Passes passes_to_serve(int clients, bool stranger) const override {
    Passes passes = OnTop::passes_to_serve(clients, stranger);
    const bool later = options_.role == ColaRole::follower || options_.predict_when == ColaPrediction::after;
    passes += {later ? 2 : 1, 1};
    return passes;
  }

 private:
  ColaOptions options_;
  ModelSpec model_;
};

}  // namespace

std::vector<std::unique_ptr<Predictor>> adapt_together(const ModelSpec& model, std::span<const ParametersPtr> starts,
                                                       std::span<TestContext> clients, const ColaOptions& options) {
  require(starts.size() == clients.size(), ErrorCode::internal, "[cola] {} clients need a model each, got {}",
          clients.size(), starts.size());
  std::vector<std::unique_ptr<Predictor>> predictors;
  if (clients.empty()) {
    return predictors;
  }
  Lockstep community(model, starts, clients, options);
  community.run();
  const auto vectors = community.vectors();
  for (std::size_t i = 0; i < clients.size(); ++i) {
    predictors.push_back(options.role == ColaRole::follower
                             ? make_follower(model, starts[i], vectors, options)
                             : std::make_unique<RecordedPredictor>(std::move(community.predictions()[i])));
  }
  return predictors;
}

void ColaOptions::check(const ColaOptions& preset, Problems& problems, const std::string& where) const {
  const bool taught = vectors_of == ColaVectors::training;
  const auto ignored = [&](std::string_view key, bool changed, bool used) {
    if (changed && !used) {
      problems.add("{}.{} would be ignored with vectors_of = \"{}\"", where, key, name_of(vectors_of));
    }
  };
  ignored("vector_epochs", vector_epochs != preset.vector_epochs, taught);
  ignored("vector_learning_rate", vector_learning_rate != preset.vector_learning_rate, taught);
  ignored("role", role != preset.role, !taught);
  ignored("predict_when", predict_when != preset.predict_when, !taught);
  ignored("exchange_batches", exchange_batches != preset.exchange_batches, !taught);
  ignored("shift_threshold", shift_threshold != preset.shift_threshold, !taught);
  ignored("offset_learning_rate", offset_learning_rate != preset.offset_learning_rate, !taught);
  ignored("weight_learning_rate", weight_learning_rate != preset.weight_learning_rate, !taught);
  ignored("weight_decay", weight_decay != preset.weight_decay, !taught);
  ignored("entropy_margin", entropy_margin != preset.entropy_margin, !taught);
  ignored("redundancy_margin", redundancy_margin != preset.redundancy_margin, !taught);
  ignored("max_vectors", max_vectors != preset.max_vectors, !taught);
  if (taught && start != StartFrom::fedavg) {
    problems.add("{}.start must be \"fedavg\" with vectors_of = \"training\", got \"{}\"", where, name_of(start));
  }
  if (role == ColaRole::follower && predict_when != preset.predict_when) {
    problems.add("{}.predict_when would be ignored with role = \"follower\"", where);
  }
  if (role == ColaRole::principal && !taught) {
    if (statistics != preset.statistics) {
      problems.add("{}.statistics would be ignored with role = \"principal\"", where);
    }
    if (temperature != preset.temperature) {
      problems.add("{}.temperature would be ignored with role = \"principal\"", where);
    }
  }
  if (smallest_batch > batch_size && smallest_batch != preset.smallest_batch) {
    problems.add("{}.smallest_batch must be <= batch_size = {}, got {}", where, batch_size, smallest_batch);
  }
}

std::unique_ptr<Algorithm> make_cola(const ColaOptions& options) {
  if (options.vectors_of == ColaVectors::training) {
    return make_taught_cola(options);
  }
  return std::make_unique<Cola>(options);
}

}  // namespace feroma
