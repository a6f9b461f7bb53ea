#include "feroma/algorithms/feroma.h"

#include <algorithm>
#include <utility>

#include "algorithms/feroma_client.h"
#include "algorithms/feroma_serving.h"
#include "algorithms/norm_limit.h"
#include "algorithms/retention.h"
#include "algorithms/server_momentum.h"
#include "feroma/aggregation/fold.h"
#include "feroma/aggregation/mix.h"

namespace feroma {
namespace {

// The reference implementation stretches the largest latent by 2 %.
constexpr double kCubeMargin = 1.02;
// warmup_auto: the gain over two rounds (in points) that keeps the warm-up going.
constexpr double kWarmupGain = 1.0;
// The share of the server's momentum that acts in the warm-up, while models still change their direction.
constexpr double kWarmupMomentum = 0.25;

/// What an exchange of messages is for.
enum class Step { bounds, profile, train };

class Feroma final : public Algorithm {
 public:
  explicit Feroma(const FeromaOptions& options) { plan_.options = options; }

  void init(const ServerContext& context) override {
    plan_.model = context.model;
    plan_.fit = with_momentum(context.fit, plan_.options.momentum_reset);
    plan_.privacy = context.privacy;
    plan_.multi_label = context.multi_label;
    if (plan_.privacy.guarded()) {
      plan_.options = private_form(plan_.options, plan_.privacy);
    }
    rng_ = context.rng;
    parallel_ = context.parallel;
    state_.global = context.initial;
    plan_.shape = feroma::profile_shape(plan_.options, plan_.model);
    const int widest = widest_profile(plan_.options, plan_.model);
    require(plan_.shape.conditional <= widest, ErrorCode::invalid_config,
            "profile.dimensions must be <= {} for this model and projection, got {}", widest, plan_.shape.conditional);
    if (plan_.options.encoder != "warmup" && plan_.options.encoder != "input_moments") {
      state_.equipment.extractor.encoder = context.load_model(plan_.options.encoder);
    }
    if (plan_.privacy.guarded()) {
      private_.emplace(plan_.privacy, plan_.shape, encoder_width(plan_.options, plan_.model), context.multi_label);
    }
    if (plan_.options.warmup_rounds == 0) {
      end_warmup(0);
    }
  }

  [[nodiscard]] int phases(Round round) const override { return warming(round) ? 1 : (has_bounds(round) ? 3 : 2); }

  [[nodiscard]] Message downlink(Round round, int phase, ClientId client) const override {
    switch (step(round, phase)) {
      case Step::bounds: return private_ ? state_.equipment.missing_of(client) : state_.equipment.encoder();
      case Step::profile: return profile_request(client);
      case Step::train: return {{{"model", assigned(client).model()}}};
    }
    unreachable();
  }

  /// Only the server knows when the warm-up ended, and with it what a phase is for.
  [[nodiscard]] int task(Round round, int phase) const override {
    return static_cast<int>(step(round, phase)) + (warming(round) ? kWarmingTask : 0);
  }

  [[nodiscard]] Message client_step(Round, int task, ClientContext& context, const Message& received) const override {
    switch (static_cast<Step>(task % kWarmingTask)) {
      case Step::bounds: return send_bounds(plan_, guarded(), context, received);
      case Step::profile: return send_profile(plan_, guarded(), context, received);
      case Step::train: return train_model(plan_, extras(task >= kWarmingTask), context, received);
    }
    fail(ErrorCode::invalid_data, "[feroma] a task must be 0 to 2, or 4 to 6 in the warm-up, got {}", task);
  }

  void check_answer(Round round, int phase, ClientId client, const Message& message) const override {
    const Answer answer("feroma", client, message);
    switch (step(round, phase)) {
      case Step::bounds:
        private_ ? PrivateProfiles::check_norms(answer)
                 : check_bounds_answer(answer, encoder_width(plan_.options, plan_.model));
        break;
      case Step::profile:
        private_ ? private_->check_profile(answer)
                 : check_profile_answer(answer, plan_.shape, state_.equipment.next.has_value());
        break;
      case Step::train: check_training_answer(answer, *state_.global, extras(warming(round))); break;
    }
    answer.expect_nothing_else();
  }

  [[nodiscard]] std::map<ClientId, std::string> refusals(Round round, int phase,
                                                         const std::map<ClientId, Message>& answers) const override {
    std::map<ClientId, std::string> refused = far_numbers(step(round, phase), answers);
    if (plan_.options.norm_limit > 0 && step(round, phase) == Step::train) {
      const auto sent_to = [this](ClientId client) { return assigned(client).model(); };
      refused.merge(refuse_long_updates(plan_.options.norm_limit, answers, sent_to, parallel_));
    }
    return refused;
  }

  void uplink(Round round, int phase, std::map<ClientId, Message>& answers, StageSeconds& seconds) override {
    switch (step(round, phase)) {
      case Step::bounds: take_bounds(answers); return;
      case Step::profile:
        map_profiles(round, answers, seconds);
        state_.equipment.early.clear();
        return;
      case Step::train:
        if (state_.equipment.next) {
          change_encoder();
        }
        collect_models(round, answers, seconds);
        return;
    }
  }

  void forget(ClientId client) override { state_.equipment.forget(client); }

  [[nodiscard]] std::unique_ptr<Predictor> predictor(TestPolicy policy, TestContext& context) const override {
    return serve_test_client(plan_, state_, guarded(), policy, context);
  }
  [[nodiscard]] Message visitor_question() const override { return feroma::visitor_question(state_, guarded()); }
  [[nodiscard]] Message visitor_profile(const Message& question, TestContext& context) const override {
    return feroma::visitor_profile(plan_, guarded(), question, context);
  }
  [[nodiscard]] std::optional<Offer> offer(const Message& told, const VisitorWish& wish) const override {
    return make_offer(plan_, state_, guarded(), told, wish);
  }
  [[nodiscard]] std::optional<Offer> settle(const Offer& offer, TestContext& context) const override {
    return settle_offer(plan_, offer, context);
  }
  /// A profile and a prediction; of strangers all models are asked how sure they are.
  [[nodiscard]] Passes passes_to_serve(int clients, bool stranger) const override {
    const bool asks = stranger && plan_.options.strangers == Strangers::confidence && !plan_.multi_label;
    return {2 + (asks ? clients : 0), 0};
  }
  [[nodiscard]] const RoundTrace* trace() const override { return trace_.receivers.empty() ? nullptr : &trace_; }
  [[nodiscard]] std::vector<ServedModel> served() const override;
  [[nodiscard]] std::optional<ProfileShape> profile_shape() const override { return plan_.shape; }
  [[nodiscard]] bool keeps_budget() const override { return true; }
  [[nodiscard]] bool ends() const override {
    return state_.budget_spent && plan_.privacy.when_spent == WhenSpent::stop;
  }
  void save(ModelWriter& out) const override {
    feroma::save(state_, plan_.shape, out);
    if (private_) {
      private_->save(out.out());
    }
    if (plan_.options.encoder_refresh > 0) {
      out.put(state_.equipment.next ? state_.equipment.next->encoder : nullptr);
    }
  }
  void load(ModelReader& in) override {
    state_ = load_feroma_state(plan_.shape, encoder_width(plan_.options, plan_.model), in);
    if (private_) {
      private_->load(in.in());
    }
    if (plan_.options.encoder_refresh > 0) {
      if (ParametersPtr encoder = in.get_model()) {
        state_.equipment.next = {std::move(encoder), state_.equipment.extractor.projector};
      }
    }
  }

 private:
  // ---- Rounds ----
  [[nodiscard]] bool warming(Round round) const { return !state_.warmup_end || round <= *state_.warmup_end; }
  [[nodiscard]] bool has_bounds(Round round) const {
    const bool asked = plan_.options.projection == Projection::pca_box || (private_ && private_->asks_for_norms());
    return asked && state_.warmup_end && (round == *state_.warmup_end + 1 || state_.equipment.next);
  }
  [[nodiscard]] Step step(Round round, int phase) const {
    if (warming(round)) {
      return Step::train;
    }
    return static_cast<Step>(phase + (has_bounds(round) ? 0 : 1));
  }
  /// What clients send besides their models.
  [[nodiscard]] FeromaExtras extras(bool warming) const {
    return private_ ? FeromaExtras{.count = false} : wanted_extras(plan_.options, warming);
  }
  void end_warmup(Round round);
  /// Whether profiles of this round are the last ones by the present encoder.
  [[nodiscard]] bool refreshes(Round round) const {
    const int every = plan_.options.encoder_refresh;
    return every > 0 && round > *state_.warmup_end + 1 && (round - *state_.warmup_end - 1) % every == 0;
  }
  [[nodiscard]] bool warmed_up(Round round, const std::map<ClientId, Message>& answers);
  /// Of what is merged by its extremes, one client could decide for all.
  [[nodiscard]] std::map<ClientId, std::string> far_numbers(Step at, const std::map<ClientId, Message>& answers) const;

  [[nodiscard]] Start assigned(ClientId client) const {
    const auto found = assigned_.find(client);
    return found == assigned_.end()
               ? Start{state_.global, state_.global_before, kWarmupMomentum * plan_.options.server_momentum}
               : found->second;
  }

  // ---- Server side ----
  [[nodiscard]] const PrivateProfiles* guarded() const { return private_ ? &*private_ : nullptr; }
  [[nodiscard]] Message profile_request(ClientId client) const;
  /// A client without budget keeps the profile that it had.
  void receive_private(Round round, ClientId client, const Message& answer);
  /// A client of which nothing is known gets the mean of all models.
  void leave_unprofiled(ClientId client);
  void take_bounds(const std::map<ClientId, Message>& answers);
  /// From now on all profiles are by the next encoder.
  void change_encoder();
  /// The mean of the last round's models, as the encoder of a round that changes it.
  void prepare_refresh(Round round);
  void map_profiles(Round round, const std::map<ClientId, Message>& answers, StageSeconds& seconds);
  void collect_models(Round round, const std::map<ClientId, Message>& answers, StageSeconds& seconds);

  FeromaPlan plan_;
  Rng rng_{0};
  Parallel parallel_ = in_turn;

  FeromaState state_;
  std::optional<PrivateProfiles> private_;  ///< under a budget
  // Only inside a round, between mapping and training.
  std::vector<Receiver> receivers_;
  std::vector<ClientId> unprofiled_;  ///< clients of which nothing is known
  std::map<ClientId, Start> assigned_;
  RoundTrace trace_;
};

void Feroma::end_warmup(Round round) {
  state_.warmup_end = round;
  if (plan_.options.encoder == "warmup") {
    state_.equipment.extractor.encoder = state_.global;
  }
  const int width = encoder_width(plan_.options, plan_.model);
  switch (plan_.options.projection) {
    case Projection::orthonormal:
      state_.equipment.extractor.projector =
          orthonormal_projector(width, plan_.shape.conditional, rng_.derive("projector"));
      return;
    case Projection::pca_cube:
      state_.equipment.extractor.projector = pca_projector(
          uniform_points(cube(width, kCubeMargin * state_.latent_max), kPcaPoints, rng_.derive("projector")),
          plan_.shape.conditional);
      return;
    case Projection::pca_box: return;  // waits for the clients' bounds
  }
}

std::map<ClientId, std::string> Feroma::far_numbers(Step at, const std::map<ClientId, Message>& answers) const {
  constexpr double kFarthest = 100;
  const char* what = at == Step::bounds ? "bounds" : at == Step::profile ? "profile" : "latent_max";
  if (private_ || (at == Step::profile && (plan_.options.scaling != Scaling::min_max ||
                                           (!state_.scaler.blocks.empty() && !state_.equipment.next)))) {
    return {};  // bounded by themselves, or not merged by extremes
  }
  std::map<ClientId, double> sizes;
  for (const auto& [client, answer] : answers) {
    for (const char* key : {"lower", "upper", "profile", "next_profile", "latent_max"}) {
      if (answer.has(key)) {
        for (const float value : answer.floats(key)) {
          sizes[client] = std::max(sizes[client], std::abs(static_cast<double>(value)));
        }
      }
    }
  }
  return refuse_far_numbers(what, kFarthest, sizes);
}

bool Feroma::warmed_up(Round round, const std::map<ClientId, Message>& answers) {
  if (!plan_.options.warmup_auto) {
    return round >= plan_.options.warmup_rounds;
  }
  double correct = 0;
  double count = 0;
  for (const auto& [client, answer] : answers) {
    correct += static_cast<double>(answer.ints("held_out")[0]);
    count += static_cast<double>(answer.ints("held_out")[1]);
  }
  state_.warmup_accuracy.push_back(count > 0 ? 100 * correct / count : 0);
  const std::size_t rounds = state_.warmup_accuracy.size();
  const bool flat =
      rounds >= 3 && state_.warmup_accuracy[rounds - 1] - state_.warmup_accuracy[rounds - 3] < kWarmupGain;
  return round >= plan_.options.warmup_rounds || (round >= kShortestWarmup && flat);
}

double accuracy_of(const Ints& hits) {
  return hits[1] == 0 ? 0.0 : 100.0 * static_cast<double>(hits[0]) / static_cast<double>(hits[1]);
}

Message Feroma::profile_request(ClientId client) const {
  Message request = state_.equipment.missing_of(client);
  if (private_) {
    request.values.merge(private_->bounds_message().values);
  }
  return request;
}

void Feroma::receive_private(Round round, ClientId client, const Message& answer) {
  const Rng rng = rng_.derive("profile", static_cast<std::uint64_t>(round));
  state_.budget_spent = state_.budget_spent || answer.has("spent");
  if (std::optional<Profile> profile = private_->read(client, answer, rng)) {
    receivers_.push_back({client, std::move(*profile)});
  } else {
    leave_unprofiled(client);
  }
}

void Feroma::leave_unprofiled(ClientId client) {
  if (!state_.parents.empty()) {
    unprofiled_.push_back(client);
  }
}

void Feroma::take_bounds(const std::map<ClientId, Message>& answers) {
  if (private_) {
    private_->take_norms(answers);
    for (const auto& [client, answer] : answers) {
      state_.equipment.holders.insert(client);
    }
    return;
  }
  std::vector<Bounds> bounds;
  for (const auto& [client, answer] : answers) {
    bounds.push_back({answer.floats("lower"), answer.floats("upper")});
    state_.equipment.early.insert(client);
  }
  // With nobody left to ask, any box gives a usable map.
  const Bounds box = bounds.empty() ? cube(encoder_width(plan_.options, plan_.model), 1.0) : merge(bounds);
  state_.equipment.newest().projector =
      pca_projector(uniform_points(box, kPcaPoints, rng_.derive("projector")), plan_.shape.conditional);
}

void Feroma::prepare_refresh(Round round) {
  if (!refreshes(round) || state_.parents.empty()) {
    return;
  }
  std::vector<ParametersPtr> models;
  std::vector<std::int64_t> counts;
  for (const Parent& parent : state_.parents) {
    models.push_back(parent.model);
    counts.push_back(parent.num_examples);
  }
  const std::vector<float> shares = shares_of(believed_counts(plan_.options, std::move(counts)));
  state_.equipment.next = {share(std::move(fold_models(plan_.options.fold_rule(), models, shares, parallel_).front())),
                           state_.equipment.extractor.projector};
}

void Feroma::change_encoder() {
  state_.equipment.change();
  std::vector<std::vector<float>> vectors;
  for (Receiver& receiver : receivers_) {
    state_.equipment.holders.insert(receiver.client);
    receiver.profile = *std::exchange(receiver.next, std::nullopt);
    vectors.push_back(encode(receiver.profile, plan_.shape));
  }
  if (plan_.options.scaling == Scaling::min_max && !vectors.empty()) {
    state_.scaler = fit_block_scaler(vectors, plan_.shape);
  }
}

void Feroma::map_profiles(Round round, const std::map<ClientId, Message>& answers, StageSeconds& seconds) {
  receivers_.clear();
  unprofiled_.clear();
  assigned_.clear();
  Matrix mixing;
  {
    const StageTimer timer(seconds, Stage::map);
    Matrix by_profile;
    std::vector<std::vector<float>> vectors;
    if (private_) {
      private_->learn(answers);
    }
    for (const auto& [client, answer] : answers) {
      state_.equipment.holders.insert(client);
      if (private_) {
        receive_private(round, client, answer);
        continue;
      }
      if (answer.has("unprofiled")) {
        leave_unprofiled(client);
        continue;
      }
      vectors.push_back(answer.floats("profile"));
      const std::int64_t samples = answer.integer("num_samples");
      receivers_.push_back({client, decode(vectors.back(), plan_.shape, samples)});
      if (state_.equipment.next) {
        receivers_.back().next = decode(answer.floats("next_profile"), plan_.shape, samples);
      }
    }
    if (plan_.options.scaling == Scaling::min_max && state_.scaler.blocks.empty() && !vectors.empty()) {
      state_.scaler = fit_block_scaler(vectors, plan_.shape);
    }
    if (!state_.parents.empty() && !receivers_.empty()) {
      by_profile = mixing_matrix(plan_.options, plan_.shape, state_.scaler, receivers_, state_.parents,
                                 rng_.derive("join", static_cast<std::uint64_t>(round)), parallel_);
      mixing = with_global_share(plan_.options, by_profile, receivers_, state_.parents);
    }
    trace_ = trace_of(plan_.options.strategies, receivers_, state_.parents, plan_.shape, by_profile, mixing);
    trace_.moved = profile_moves(plan_.shape, receivers_, state_.parents);
  }
  const StageTimer timer(seconds, Stage::aggregate);
  std::vector<ParametersPtr> models;
  for (const Parent& parent : state_.parents) {
    models.push_back(parent.model);
  }
  if (!unprofiled_.empty()) {
    const std::vector<double> alike = uniform_weights(models.size());
    const std::vector<float> row(alike.begin(), alike.end());
    const ParametersPtr mean = share(std::move(fold_models(plan_.options.fold_rule(), models, row).front()));
    for (const ClientId client : unprofiled_) {
      assigned_[client] = {mean, nullptr, 0};
    }
  }
  if (mixing.empty()) {
    return;  // the first profiles have no parents: everybody gets the global model
  }
  const std::vector<float> weights(mixing.values.begin(), mixing.values.end());
  std::vector<Start> starts = starts_of(plan_.options, plan_.shape, state_.scaler, receivers_, state_.parents, mixing,
                                        fold_models(plan_.options.fold_rule(), models, weights, parallel_));
  for (std::size_t r = 0; r < starts.size(); ++r) {
    assigned_[receivers_[r].client] = std::move(starts[r]);
  }
}

void Feroma::collect_models(Round round, const std::map<ClientId, Message>& answers, StageSeconds& seconds) {
  if (answers.empty()) {
    return;  // everybody dropped out: models and parents stay as they are
  }
  // Under a budget nobody says whether training pays; it is taken to.
  const bool gains = plan_.options.server_momentum > 0 && (private_ || training_pays(answers));
  // Where nobody has a profile, and nobody had any, what is learned goes into the one model that all get.
  if (warming(round) || (receivers_.empty() && state_.parents.empty())) {
    const StageTimer timer(seconds, Stage::aggregate);
    std::vector<ParametersPtr> models;
    std::vector<std::int64_t> counts;
    state_.latent_max = 0;
    for (const auto& [client, answer] : answers) {
      models.push_back(answer.model("model"));
      counts.push_back(private_ ? 1 : answer.integer("num_examples"));
      if (answer.has("latent_max")) {
        state_.latent_max = std::max(state_.latent_max, static_cast<double>(answer.floats("latent_max")[0]));
      }
    }
    state_.global_before = gains ? state_.global : nullptr;
    const std::vector<float> shares = shares_of(believed_counts(plan_.options, std::move(counts)));
    state_.global = share(std::move(fold_models(plan_.options.fold_rule(), models, shares, parallel_).front()));
    if (warming(round) && warmed_up(round, answers)) {
      end_warmup(round);
    }
    return;
  }
  const std::vector<Parent> earlier = std::exchange(state_.parents, {});
  for (const Receiver& receiver : receivers_) {
    const auto found = answers.find(receiver.client);
    if (found != answers.end()) {
      const Message& answer = found->second;
      // From models for other data to one for these is a leap: to take three quarters of it again would ruin the model.
      const Start start = assigned(receiver.client);
      state_.parents.push_back({receiver.client, answer.model("model"), receiver.profile,
                                private_ ? receiver.profile.num_samples : answer.integer("num_examples"), round,
                                answer.has("held_out") ? accuracy_of(answer.ints("held_out")) : 0,
                                gains && start.among_its_like ? start.mixture : nullptr});
    }
  }
  // Where nobody with a profile answered, what was known stays.
  std::vector<Parent> kept = state_.parents.empty()
                                 ? earlier
                                 : retained_parents(plan_.options, plan_.shape, state_.scaler, earlier, state_.parents);
  for (Parent& parent : kept) {
    parent.mixture = nullptr;  // momentum is of the last round alone
  }
  state_.parents.insert(state_.parents.end(), kept.begin(), kept.end());
  assigned_.clear();
  prepare_refresh(round + 1);
}

std::vector<ServedModel> Feroma::served() const {
  if (state_.parents.empty()) {
    return {{std::nullopt, 0, state_.global, {}, 0}};
  }
  std::vector<ServedModel> models;
  for (const Parent& parent : state_.parents) {
    models.push_back(
        {parent.client, parent.round, parent.model, encode(parent.profile, plan_.shape), parent.num_examples});
  }
  return models;
}

}  // namespace

std::unique_ptr<Algorithm> make_feroma(const FeromaOptions& options) { return std::make_unique<Feroma>(options); }

FeromaOptions fedavg_ft_options() {
  FeromaOptions options = feroma_preset("auto");
  options.kernel = Kernel::uniform;
  options.server_momentum = 0;
  options.global_share = 0;
  options.strangers = Strangers::profile;
  return options;
}

}  // namespace feroma
