#include "feroma/algorithms/atp.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "feroma/algorithms/answers.h"
#include "feroma/core/error.h"

namespace feroma {
namespace {

class Atp final : public OnTop {
 public:
  explicit Atp(const AtpOptions& options) : OnTop(options.start, options.momentum_reset), options_(options) {}

  void init(const ServerContext& context) override {
    require(!context.multi_label, ErrorCode::unsupported,
            "[atp] follows the entropy over classes that exclude one another, got multi-label data");
    OnTop::init(context);
    scheduled_ = context.rounds;
    const std::vector<Segment>& segments = context.initial->layout().segments;
    const bool running_statistics =
        std::any_of(segments.begin(), segments.end(), [](const Segment& s) { return s.kind == SegmentKind::buffer; });
    require(!running_statistics || !context.model.script, ErrorCode::unsupported,
            "[atp] cannot see a batch's statistics in a TorchScript model that has running ones, got {}",
            context.model.name);
    layout_ = context.initial->shared_layout();
    rates_.assign(segments.size(), 0.0F);
  }

  [[nodiscard]] int extra_rounds() const override { return options_.rate_rounds; }
  [[nodiscard]] int phases(Round round) const override { return learns_rates(round) ? 1 : OnTop::phases(round); }

  [[nodiscard]] Message downlink(Round round, int phase, ClientId client) const override {
    if (!learns_rates(round)) {
      return OnTop::downlink(round, phase, client);
    }
    Message message{{{"rates", rates_}}};
    if (!have_model_.contains(client)) {  // it no longer changes, so once is enough
      message.values["model"] = held_by(client);
    }
    return message;
  }

  [[nodiscard]] Message client_step(Round round, int task, ClientContext& context,
                                    const Message& received) const override {
    return learns_rates(round) ? learn(context, received) : OnTop::client_step(round, task, context, received);
  }

  void check_answer(Round round, int phase, ClientId client, const Message& message) const override {
    if (!learns_rates(round)) {
      OnTop::check_answer(round, phase, client, message);
      return;
    }
    const Answer answer("atp", client, message);
    if (answer.has("rates")) {  // who has nothing to learn from has nothing to say
      answer.floats("rates", rates_.size());
    }
    answer.expect_nothing_else();
  }

  void uplink(Round round, int phase, std::map<ClientId, Message>& answers, StageSeconds& seconds) override {
    if (!learns_rates(round)) {
      OnTop::uplink(round, phase, answers, seconds);
      return;
    }
    const StageTimer timer(seconds, Stage::aggregate);
    learning_ = true;
    average_rates(answers);
  }

  void forget(ClientId client) override {
    have_model_.erase(client);
    OnTop::forget(client);
  }

  [[nodiscard]] std::unique_ptr<Predictor> predictor(TestPolicy policy, TestContext& context) const override {
    std::unique_ptr<Predictor> given = OnTop::predictor(policy, context);
    return stays() || given == nullptr || given->model() == nullptr
               ? std::move(given)
               : make_entropy_predictor(given->model(), adaptation(rates_), given->sources());
  }
  /// The other system's models, and the rates by which the visitor adapts them.
  [[nodiscard]] std::optional<Offer> offer(const Message& told, const VisitorWish& wish) const override {
    std::optional<Offer> offer = OnTop::offer(told, wish);
    if (offer && !stays()) {
      offer->adaptation = adaptation(rates_);
    }
    return offer;
  }
  /// A batch goes through the model for its entropy's slope, and through what came of it; statistics cost a pass more.
  [[nodiscard]] Passes passes_to_serve(int clients, bool stranger) const override {
    Passes passes = OnTop::passes_to_serve(clients, stranger);
    passes += {2, 1};
    return passes;
  }
  /// The rounds that learn rates mix nothing.
  [[nodiscard]] const RoundTrace* trace() const override { return learning_ ? nullptr : OnTop::trace(); }

  /// A global model comes with the rates, without which it is FedAvg's.
  [[nodiscard]] std::vector<ServedModel> served() const override {
    std::vector<ServedModel> models = OnTop::served();
    for (ServedModel& served : models) {
      if (!served.client) {
        served.profile = rates_;
      }
    }
    return models;
  }

  void save(ModelWriter& out) const override {
    OnTop::save(out);
    out.put(Message{{{"rates", rates_}, {"have_model", Ints(have_model_ids())}}});
  }
  void load(ModelReader& in) override {
    OnTop::load(in);
    const Message message = in.get_message();
    rates_ = checked_rates(message);
    have_model_.clear();
    for (const std::int64_t id : message.ints("have_model")) {
      have_model_.insert(static_cast<ClientId>(id));
    }
  }

 private:
  [[nodiscard]] bool stays() const {
    return std::all_of(rates_.begin(), rates_.end(), [](float rate) { return rate == 0; });
  }
  [[nodiscard]] bool learns_rates(Round round) const { return round > scheduled_; }
  [[nodiscard]] EntropyAdaptation adaptation(Floats rates) const {
    return {std::move(rates), options_.mode, options_.batch_size};
  }

  [[nodiscard]] Message learn(ClientContext& context, const Message& received) const {
    if (received.has("model")) {
      context.state.values["model"] = received.model("model");
    }
    const ParametersPtr start = context.state.model("model");
    Floats rates = checked_rates(received);
    context.report.before = score_for_the_record(context, *start);
    context.report.after = context.report.before;
    context.report.num_examples = static_cast<std::int64_t>(context.held_out.size());
    if (context.held_out.size() == 0) {
      return {};  // nothing to learn from, and so no say in the mean
    }
    {
      const StageTimer timer(context.seconds, Stage::train);
      double loss = 0;
      FitOptions once;
      once.local_epochs = 1;
      once.batch_size = options_.batch_size;
      context.trainer.for_each_minibatch(context.held_out, once, context.rng.derive("rates"), [&](const Batch& batch) {
        loss += learn_rates_(rates, context.trainer, *start, batch, options_.rate_learning_rate) * batch.size;
      });
      context.report.train_loss = loss / static_cast<double>(context.held_out.size());
    }
    const StageTimer timer(context.seconds, Stage::evaluate);
    const Passes before = context.trainer.passes();
    context.report.after = score(*make_entropy_predictor(start, adaptation(rates)), context.trainer, context.held_out);
    context.trainer.passes() = before;
    Message answer{{{"rates", std::move(rates)}}};
    static_cast<void>(checked_rates(answer));  // a client whose rates ran away leaves the round by itself
    return answer;
  }

  void average_rates(const std::map<ClientId, Message>& answers) {
    std::vector<double> sum(rates_.size());
    double clients = 0;
    for (const auto& [client, answer] : answers) {
      have_model_.insert(client);
      if (!answer.has("rates")) {
        continue;
      }
      const Floats& rates = answer.floats("rates");
      for (std::size_t s = 0; s < sum.size(); ++s) {
        sum[s] += static_cast<double>(rates[s]);
      }
      clients += 1;
    }
    for (std::size_t s = 0; s < sum.size() && clients > 0; ++s) {
      rates_[s] = static_cast<float>(sum[s] / clients);
    }
  }

  [[nodiscard]] const Floats& checked_rates(const Message& message) const {
    const Floats& rates = message.floats("rates");
    check_rates(rates, *layout_);
    return rates;
  }

  [[nodiscard]] Ints have_model_ids() const {
    Ints ids;
    for (const ClientId client : have_model_) {
      ids.push_back(static_cast<std::int64_t>(to_index(client)));
    }
    return ids;
  }

  AtpOptions options_;
  Round scheduled_ = 0;
  std::shared_ptr<const ParamLayout> layout_;
  Floats rates_;
  bool learning_ = false;          ///< whether the last round was one for rates
  std::set<ClientId> have_model_;  ///< who answered once the model was final
};

}  // namespace

void AtpOptions::check(const AtpOptions& preset, Problems& problems, const std::string& where) const {
  if (rate_rounds > 0) {
    return;
  }
  const auto ignored = [&](bool changed, std::string_view key) {
    if (changed) {
      problems.add("{}.{} would be ignored with rate_rounds = 0", where, key);
    }
  };
  ignored(rate_learning_rate != preset.rate_learning_rate, "rate_learning_rate");
  ignored(batch_size != preset.batch_size, "batch_size");
  ignored(mode != preset.mode, "mode");
}

std::unique_ptr<Algorithm> make_atp(const AtpOptions& options) { return std::make_unique<Atp>(options); }

}  // namespace feroma
