#include <fmt/core.h>

#include <cmath>
#include <optional>

#include "algorithms/cola_agents.h"
#include "feroma/algorithms/answers.h"
#include "feroma/core/error.h"
#include "feroma/engine/sgd.h"

namespace feroma {
namespace {

/// CoLA with training clients for principals: in one round after the last each learns the factors and offsets that suit
/// its labelled samples, and test clients follow. A client that is known has its own vector.
class TaughtCola final : public OnTop {
 public:
  explicit TaughtCola(const ColaOptions& options) : OnTop(options.start, options.momentum_reset), options_(options) {}

  void init(const ServerContext& context) override {
    require(!context.multi_label, ErrorCode::unsupported, "[cola] samples need one class each, got multi-label data");
    channels_.emplace(context.initial->layout());
    model_ = context.model;
    domain_width_ = Stem(model_).channels();
    scheduled_ = context.rounds;
    fit_ = context.fit;
    OnTop::init(context);
  }

  [[nodiscard]] int extra_rounds() const override { return 1; }
  [[nodiscard]] int phases(Round round) const override { return teaches(round) ? 1 : OnTop::phases(round); }
  [[nodiscard]] Message downlink(Round round, int phase, ClientId client) const override {
    return teaches(round) ? Message{{{"model", held_by(client)}}} : OnTop::downlink(round, phase, client);
  }
  [[nodiscard]] Message client_step(Round round, int task, ClientContext& context,
                                    const Message& received) const override {
    return teaches(round) ? learn(context, *received.model("model"))
                          : OnTop::client_step(round, task, context, received);
  }
  void check_answer(Round round, int phase, ClientId client, const Message& message) const override {
    if (!teaches(round)) {
      OnTop::check_answer(round, phase, client, message);
      return;
    }
    const Answer answer("cola", client, message);
    answer.floats("values", channels_->size());
    answer.floats("mean", domain_width_);
    answer.floats("variance", domain_width_, 0);
    answer.expect_nothing_else();
  }
  void uplink(Round round, int phase, std::map<ClientId, Message>& answers, StageSeconds& seconds) override {
    if (!teaches(round)) {
      OnTop::uplink(round, phase, answers, seconds);
      return;
    }
    const StageTimer timer(seconds, Stage::aggregate);
    for (const auto& [client, answer] : answers) {
      vectors_[client] = vector_of(answer);
    }
    share_vectors();
  }

  [[nodiscard]] std::unique_ptr<Predictor> predictor(TestPolicy policy, TestContext& context) const override {
    const ParametersPtr start = assigned(policy, context);
    if (start == nullptr || vectors_.empty()) {
      return OnTop::predictor(policy, context);
    }
    const auto own = vectors_.find(context.id);
    if (policy == TestPolicy::known_association && own != vectors_.end()) {
      return make_single_model_predictor(share(channels_->apply(*start, own->second.values)));
    }
    for (const auto& [client, vector] : vectors_) {
      context.traffic.bytes_down += vector.bytes();
    }
    return make_follower(model_, start, shared_, options_);
  }
  [[nodiscard]] std::optional<Offer> offer(const Message&, const VisitorWish&) const override {
    fail(ErrorCode::unsupported,
         "[cola] training clients' vectors are mixed batch by batch in simulations only; the model that they change is "
         "{}'s",
         name_of(options_.start));
  }

  void save(ModelWriter& out) const override {
    OnTop::save(out);
    Message all;
    Ints clients;
    for (const auto& [client, vector] : vectors_) {
      clients.push_back(static_cast<std::int64_t>(to_index(client)));
      for (const auto& [key, value] : message_of(vector).values) {
        all.values[fmt::format("{} {}", key, to_index(client))] = value;
      }
    }
    all.values["clients"] = clients;
    out.put(all);
  }
  void load(ModelReader& in) override {
    OnTop::load(in);
    const Message all = in.get_message();
    vectors_.clear();
    for (const std::int64_t client : all.ints("clients")) {
      Message one;
      for (const std::string key : {"values", "mean", "variance"}) {
        one.values[key] = all.floats(fmt::format("{} {}", key, client));
      }
      vectors_[static_cast<ClientId>(client)] = vector_of(one);
    }
    share_vectors();
  }

 private:
  [[nodiscard]] bool teaches(Round round) const { return round > scheduled_; }
  void share_vectors() {
    std::vector<DomainVector> all;
    for (const auto& [client, vector] : vectors_) {
      all.push_back(vector);
    }
    shared_ = all.empty() ? nullptr : with_source(*channels_, all);
  }

  static Message message_of(const DomainVector& vector) {
    const DomainStatistics& seen = vector.statistics;
    return {{{"values", vector.values},
             {"mean", Floats(seen.mean.begin(), seen.mean.end())},
             {"variance", Floats(seen.variance.begin(), seen.variance.end())}}};
  }
  static DomainVector vector_of(const Message& message) {
    const Floats& mean = message.floats("mean");
    const Floats& variance = message.floats("variance");
    return {message.floats("values"), {{mean.begin(), mean.end()}, {variance.begin(), variance.end()}}};
  }

  /// Steps down the loss of the client's samples, in the factors and offsets alone.
  [[nodiscard]] Message learn(ClientContext& context, const Parameters& start) const {
    context.report.num_examples = static_cast<std::int64_t>(context.train.size());
    context.report.before = score_for_the_record(context, start);
    std::vector<float> values = channels_->identity();
    {
      const StageTimer timer(context.seconds, Stage::train);
      std::vector<float> velocity(values.size());
      std::vector<float> gradient(start.size());
      FitOptions fit = fit_;
      fit.local_epochs = options_.vector_epochs;
      double seen = 0;
      double loss_sum = 0;
      context.trainer.for_each_minibatch(context.train, fit, context.rng.derive("vector"), [&](const Batch& batch) {
        Parameters model = channels_->apply(start, values);
        Objective objective;
        objective.statistics = Statistics::running;
        const double loss = context.trainer.gradient(model, batch, objective, gradient);
        require_finite(std::isfinite(loss), "cola", options_.vector_learning_rate);
        sgd_step(values, velocity, channels_->slope(start, gradient), options_.vector_learning_rate,
                 options_.offset_momentum);
        seen += batch.size;
        loss_sum += loss * batch.size;
      });
      context.report.train_loss = seen > 0 ? loss_sum / seen : 0;
    }
    const Parameters changed = channels_->apply(start, values);
    require_finite(changed.all_finite(), "cola", options_.vector_learning_rate);
    context.report.after = score_for_the_record(context, changed);
    return message_of({std::move(values), Stem(model_).statistics(start, context.train)});
  }

  ColaOptions options_;
  ModelSpec model_;
  std::optional<ChannelAffine> channels_;
  std::size_t domain_width_ = 0;  ///< numbers in the mean of a client's statistics
  FitOptions fit_;
  Round scheduled_ = 0;
  std::map<ClientId, DomainVector> vectors_;
  std::shared_ptr<const std::vector<DomainVector>> shared_;  ///< those and the source
};

}  // namespace

std::unique_ptr<Algorithm> make_taught_cola(const ColaOptions& options) {
  return std::make_unique<TaughtCola>(options);
}

}  // namespace feroma
