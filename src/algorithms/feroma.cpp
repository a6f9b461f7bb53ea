#include "feroma/algorithms/feroma.h"

#include <algorithm>
#include <climits>
#include <cmath>
#include <utility>

#include "algorithms/feroma_answers.h"
#include "algorithms/feroma_state.h"
#include "algorithms/norm_limit.h"
#include "algorithms/parents.h"
#include "algorithms/retention.h"
#include "algorithms/server_momentum.h"
#include "algorithms/strangers.h"
#include "feroma/aggregation/fold.h"
#include "feroma/aggregation/mix.h"
#include "feroma/algorithms/extractor.h"

namespace feroma {
namespace {

// The reference implementation stretches the largest latent by 2 % and fits its PCA to 200 points.
constexpr double kCubeMargin = 1.02;
constexpr int kPcaPoints = 200;
// warmup_auto: the gain over two rounds (in points) that keeps the warm-up going.
constexpr double kWarmupGain = 1.0;
// The share of the server's momentum that acts in the warm-up, while models still change their direction.
constexpr double kWarmupMomentum = 0.25;

/// What an exchange of messages is for.
enum class Step { bounds, profile, train };

class Feroma final : public Algorithm {
 public:
  explicit Feroma(const FeromaOptions& options) : options_(options) {}

  void init(const ServerContext& context) override {
    spec_ = context.model;
    fit_ = with_momentum(context.fit, options_.momentum_reset);
    rng_ = context.rng;
    parallel_ = context.parallel;
    state_.global = context.initial;
    shape_ = profile_shape(options_, spec_);
    const int widest =
        std::min(encoder_width(options_, spec_), options_.projection == Projection::orthonormal ? INT_MAX : kPcaPoints);
    require(shape_.conditional <= widest, ErrorCode::invalid_config,
            "profile.dimensions must be <= {} for this model and projection, got {}", widest, shape_.conditional);
    if (options_.encoder != "warmup" && options_.encoder != "input_moments") {
      state_.extractor.encoder = context.load_model(options_.encoder);
    }
    if (options_.warmup_rounds == 0) {
      end_warmup(0);
    }
  }

  [[nodiscard]] int phases(Round round) const override { return warming(round) ? 1 : (has_bounds(round) ? 3 : 2); }

  [[nodiscard]] Message downlink(Round round, int phase, ClientId client) const override {
    switch (step(round, phase)) {
      case Step::bounds: return state_.extractor.encoder ? Message{{{"encoder", state_.extractor.encoder}}} : Message{};
      case Step::profile: return state_.equipped.contains(client) ? Message{} : to_message(state_.extractor);
      case Step::train: return {{{"model", assigned(client).model()}}};
    }
    unreachable();
  }

  [[nodiscard]] Message client_step(Round round, int phase, ClientContext& context,
                                    const Message& received) const override {
    switch (step(round, phase)) {
      case Step::bounds: return send_bounds(context, received);
      case Step::profile: return send_profile(context, received);
      case Step::train: return train(round, context, received);
    }
    unreachable();
  }

  void check_answer(Round round, int phase, ClientId client, const Message& message) const override {
    const Answer answer("feroma", client, message);
    switch (step(round, phase)) {
      case Step::bounds: check_bounds_answer(answer, encoder_width(options_, spec_)); return;
      case Step::profile: check_profile_answer(answer, shape_); return;
      case Step::train: check_training_answer(answer, *state_.global, extras(round)); return;
    }
  }

  [[nodiscard]] std::map<ClientId, std::string> refusals(Round round, int phase,
                                                         const std::map<ClientId, Message>& answers) const override {
    if (options_.norm_limit == 0 || step(round, phase) != Step::train) {
      return {};
    }
    const auto sent_to = [this](ClientId client) { return assigned(client).model(); };
    return refuse_long_updates(options_.norm_limit, answers, sent_to, parallel_);
  }

  void uplink(Round round, int phase, std::map<ClientId, Message>& answers, StageSeconds& seconds) override {
    switch (step(round, phase)) {
      case Step::bounds: make_projector(answers); return;
      case Step::profile: map_profiles(round, answers, seconds); return;
      case Step::train: collect_models(round, answers, seconds); return;
    }
  }

  [[nodiscard]] std::unique_ptr<Predictor> predictor(TestPolicy policy, TestContext& context) const override;
  [[nodiscard]] const RoundTrace* trace() const override { return trace_.receivers.empty() ? nullptr : &trace_; }
  [[nodiscard]] std::vector<ServedModel> served() const override;
  [[nodiscard]] std::optional<std::int64_t> profile_floats() const override {
    return static_cast<std::int64_t>(shape_.size());
  }
  void save(ModelWriter& out) const override { feroma::save(state_, shape_, out); }
  void load(ModelReader& in) override { state_ = load_feroma_state(shape_, encoder_width(options_, spec_), in); }

 private:
  // ---- Rounds ----
  [[nodiscard]] bool warming(Round round) const { return !state_.warmup_end || round <= *state_.warmup_end; }
  [[nodiscard]] bool has_bounds(Round round) const {
    return options_.projection == Projection::pca_box && state_.warmup_end && round == *state_.warmup_end + 1;
  }
  [[nodiscard]] Step step(Round round, int phase) const {
    if (warming(round)) {
      return Step::train;
    }
    return static_cast<Step>(phase + (has_bounds(round) ? 0 : 1));
  }
  /// What clients send besides their models.
  [[nodiscard]] FeromaExtras extras(Round round) const {
    return {warming(round) && options_.projection == Projection::pca_cube,
            (warming(round) && options_.warmup_auto) || options_.retained_models > 0, options_.server_momentum > 0};
  }
  void end_warmup(Round round);
  [[nodiscard]] bool warmed_up(Round round, const std::map<ClientId, Message>& answers);

  [[nodiscard]] Start assigned(ClientId client) const {
    const auto found = assigned_.find(client);
    return found == assigned_.end()
               ? Start{state_.global, state_.global_before, kWarmupMomentum * options_.server_momentum}
               : found->second;
  }

  // ---- Client side ----
  [[nodiscard]] Message send_bounds(ClientContext& context, const Message& received) const;
  [[nodiscard]] Message send_profile(ClientContext& context, const Message& received) const;
  [[nodiscard]] Message train(Round round, ClientContext& context, const Message& received) const;

  // ---- Server side ----
  void make_projector(const std::map<ClientId, Message>& answers);
  void map_profiles(Round round, const std::map<ClientId, Message>& answers, StageSeconds& seconds);
  void collect_models(Round round, const std::map<ClientId, Message>& answers, StageSeconds& seconds);

  // ---- Test time ----
  [[nodiscard]] Profile test_profile(TestContext& context) const;
  [[nodiscard]] std::vector<double> few_label_weights(TestContext& context) const;
  [[nodiscard]] std::unique_ptr<Predictor> mixture(std::span<const double> weights) const;

  FeromaOptions options_;
  ModelSpec spec_;
  FitOptions fit_;
  Rng rng_{0};
  Parallel parallel_ = in_turn;
  ProfileShape shape_;

  FeromaState state_;
  // Only inside a round, between mapping and training.
  std::vector<Receiver> receivers_;
  std::map<ClientId, Start> assigned_;
  RoundTrace trace_;
};

void Feroma::end_warmup(Round round) {
  state_.warmup_end = round;
  if (options_.encoder == "warmup") {
    state_.extractor.encoder = state_.global;
  }
  const int width = encoder_width(options_, spec_);
  switch (options_.projection) {
    case Projection::orthonormal:
      state_.extractor.projector = orthonormal_projector(width, shape_.conditional, rng_.derive("projector"));
      return;
    case Projection::pca_cube:
      state_.extractor.projector = pca_projector(
          uniform_points(cube(width, kCubeMargin * state_.latent_max), kPcaPoints, rng_.derive("projector")),
          shape_.conditional);
      return;
    case Projection::pca_box: return;  // waits for the clients' bounds
  }
}

bool Feroma::warmed_up(Round round, const std::map<ClientId, Message>& answers) {
  if (!options_.warmup_auto) {
    return round >= options_.warmup_rounds;
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
  return round >= options_.warmup_rounds || (round >= kShortestWarmup && flat);
}

Message Feroma::send_bounds(ClientContext& context, const Message& received) const {
  const StageTimer timer(context.seconds, Stage::profile);
  const ParametersPtr encoder = received.has("encoder") ? received.model("encoder") : nullptr;
  const View view = profile_view(options_, context.train, context.held_out, context.rng.derive("profile"));
  const Bounds bounds = bounds_of(encode_samples(options_, encoder, context.trainer, view, false).rows);
  return {{{"lower", bounds.lower}, {"upper", bounds.upper}}};
}

Message Feroma::send_profile(ClientContext& context, const Message& received) const {
  const StageTimer timer(context.seconds, Stage::profile);
  Message& state = context.state;
  for (const auto& [key, value] : received.values) {
    state.values[key] = value;  // the extractor arrives once and is kept
  }
  const bool current = options_.cache && state.has("profile") && state.integer("profile_window") == context.window;
  if (!current) {
    const Extractor extractor = extractor_from(state, encoder_width(options_, spec_));
    const View view = profile_view(options_, context.train, context.held_out, context.rng.derive("profile"));
    const EncodedSamples samples = encode_samples(options_, extractor.encoder, context.trainer, view, true);
    const Profile profile = extract_profile(options_, extractor, samples, spec_.classes, options_.subsampling,
                                            context.rng.derive("subsampling"));
    state.values["profile"] = encode(profile, shape_);
    state.values["profile_samples"] = Ints{profile.num_samples};
    state.values["profile_window"] = Ints{context.window};
  }
  return {{{"profile", state.floats("profile")}, {"num_samples", state.ints("profile_samples")}}};
}

/// Hits among the held-out samples; an AUROC counts as the share of hits that it is.
Ints held_out_hits(const Tally& tally) {
  return {std::llround(tally.accuracy() / 100.0 * static_cast<double>(tally.count)), tally.count};
}

double accuracy_of(const Ints& hits) {
  return hits[1] == 0 ? 0.0 : 100.0 * static_cast<double>(hits[0]) / static_cast<double>(hits[1]);
}

Message Feroma::train(Round round, ClientContext& context, const Message& received) const {
  Parameters trained = train_locally(context, *received.model("model"), fit_);
  Message answer;
  const FeromaExtras wanted = extras(round);
  if (wanted.latent_max) {
    const StageTimer timer(context.seconds, Stage::profile);
    float largest = 0;
    context.trainer.latents(trained, context.held_out, options_.latent,
                            [&](std::span<const float> rows, int, const Batch&) {
                              largest = std::max(largest, *std::max_element(rows.begin(), rows.end()));
                            });
    answer.values["latent_max"] = Floats{largest};
  }
  if (wanted.held_out) {
    answer.values["held_out"] = held_out_hits(context.report.after);
  }
  if (wanted.gain) {
    const ClientReport& report = context.report;
    answer.values["gain"] = Ints{held_out_hits(report.after)[0] - held_out_hits(report.before)[0]};
    context.trainer.passes().forward += report.before.count;
  }
  if (wanted.held_out || wanted.gain) {
    context.trainer.passes().forward += context.report.after.count;
  }
  answer.values["model"] = share(std::move(trained));
  answer.values["num_examples"] = Ints{context.report.num_examples};
  return answer;
}

void Feroma::make_projector(const std::map<ClientId, Message>& answers) {
  std::vector<Bounds> bounds;
  for (const auto& [client, answer] : answers) {
    bounds.push_back({answer.floats("lower"), answer.floats("upper")});
  }
  // With nobody left to ask, any box gives a usable map.
  const Bounds box = bounds.empty() ? cube(encoder_width(options_, spec_), 1.0) : merge(bounds);
  state_.extractor.projector =
      pca_projector(uniform_points(box, kPcaPoints, rng_.derive("projector")), shape_.conditional);
}

void Feroma::map_profiles(Round round, const std::map<ClientId, Message>& answers, StageSeconds& seconds) {
  receivers_.clear();
  assigned_.clear();
  Matrix mixing;
  {
    const StageTimer timer(seconds, Stage::map);
    Matrix by_profile;
    std::vector<std::vector<float>> vectors;
    for (const auto& [client, answer] : answers) {
      state_.equipped.insert(client);
      vectors.push_back(answer.floats("profile"));
      receivers_.push_back({client, decode(vectors.back(), shape_, answer.integer("num_samples"))});
    }
    if (options_.scaling == Scaling::min_max && state_.scaler.blocks.empty() && !vectors.empty()) {
      state_.scaler = fit_block_scaler(vectors, shape_);
    }
    if (!state_.parents.empty() && !receivers_.empty()) {
      by_profile = mixing_matrix(options_, shape_, state_.scaler, receivers_, state_.parents,
                                 rng_.derive("join", static_cast<std::uint64_t>(round)), parallel_);
      mixing = with_global_share(options_, by_profile, receivers_, state_.parents);
    }
    trace_ = trace_of(receivers_, state_.parents, shape_, by_profile, mixing);
  }
  if (mixing.empty()) {
    return;  // the first profiles have no parents: everybody gets the global model
  }
  const StageTimer timer(seconds, Stage::aggregate);
  std::vector<ParametersPtr> models;
  for (const Parent& parent : state_.parents) {
    models.push_back(parent.model);
  }
  const std::vector<float> weights(mixing.values.begin(), mixing.values.end());
  std::vector<Start> starts = starts_of(options_, shape_, state_.scaler, receivers_, state_.parents, mixing,
                                        fold_models(options_.fold_rule(), models, weights, parallel_));
  for (std::size_t r = 0; r < starts.size(); ++r) {
    assigned_[receivers_[r].client] = std::move(starts[r]);
  }
}

void Feroma::collect_models(Round round, const std::map<ClientId, Message>& answers, StageSeconds& seconds) {
  if (answers.empty()) {
    return;  // everybody dropped out: models and parents stay as they are
  }
  const bool gains = options_.server_momentum > 0 && training_pays(answers);
  if (warming(round)) {
    const StageTimer timer(seconds, Stage::aggregate);
    std::vector<ParametersPtr> models;
    std::vector<std::int64_t> counts;
    state_.latent_max = 0;
    for (const auto& [client, answer] : answers) {
      models.push_back(answer.model("model"));
      counts.push_back(answer.integer("num_examples"));
      if (answer.has("latent_max")) {
        state_.latent_max = std::max(state_.latent_max, static_cast<double>(answer.floats("latent_max")[0]));
      }
    }
    state_.global_before = gains ? state_.global : nullptr;
    const std::vector<float> shares = shares_of(believed_counts(options_, std::move(counts)));
    state_.global = share(std::move(fold_models(options_.fold_rule(), models, shares, parallel_).front()));
    if (warmed_up(round, answers)) {
      end_warmup(round);
    }
    return;
  }
  const std::vector<Parent> earlier = std::exchange(state_.parents, {});
  for (const Receiver& receiver : receivers_) {
    const auto found = answers.find(receiver.client);
    if (found != answers.end()) {
      state_.parents.push_back({receiver.client, found->second.model("model"), receiver.profile,
                                found->second.integer("num_examples"), round,
                                options_.retained_models > 0 ? accuracy_of(found->second.ints("held_out")) : 0,
                                gains ? assigned(receiver.client).mixture : nullptr});
    }
  }
  std::vector<Parent> kept = retained_parents(options_, shape_, state_.scaler, earlier, state_.parents);
  for (Parent& parent : kept) {
    parent.mixture = nullptr;  // momentum is of the last round alone
  }
  state_.parents.insert(state_.parents.end(), kept.begin(), kept.end());
  assigned_.clear();
}

Profile Feroma::test_profile(TestContext& context) const {
  const StageTimer timer(context.seconds, Stage::profile);
  const EncodedSamples samples =
      encode_samples(options_, state_.extractor.encoder, context.trainer, context.data, /*labelled=*/false);
  return extract_profile(options_, state_.extractor, samples, spec_.classes, Subsampling::off, context.rng);
}

std::vector<double> Feroma::few_label_weights(TestContext& context) const {
  const View& labelled = *context.few_labels;
  if (options_.few_label == FewLabelRule::loss) {
    std::vector<double> losses;
    for (const Parent& parent : state_.parents) {
      losses.push_back(context.trainer.evaluate(*parent.model, labelled).loss());
    }
    return softmax_weights(losses, options_.loss_temperature);
  }
  // The label-free part comes from all data, the class part from the few labelled samples.
  Profile query = test_profile(context);
  const EncodedSamples samples = encode_samples(options_, state_.extractor.encoder, context.trainer, labelled, true);
  Profile classes = extract_profile(options_, state_.extractor, samples, spec_.classes, Subsampling::off, context.rng);
  query.per_class = std::move(classes.per_class);
  query.prior = std::move(classes.prior);
  return assignment_weights(options_, AssignRule::nearest, shape_, state_.scaler, query, state_.parents,
                            /*label_free=*/false);
}

std::unique_ptr<Predictor> Feroma::mixture(std::span<const double> weights) const {
  std::vector<ParametersPtr> models;
  ModelShares sources;
  for (std::size_t i = 0; i < state_.parents.size(); ++i) {
    models.push_back(state_.parents[i].model);
    if (weights[i] > 0) {
      sources[{state_.parents[i].client, state_.parents[i].round}] = weights[i];
    }
  }
  const std::vector<float> row(weights.begin(), weights.end());
  return make_single_model_predictor(share(std::move(fold_models(options_.fold_rule(), models, row).front())),
                                     std::move(sources));
}

std::unique_ptr<Predictor> Feroma::predictor(TestPolicy policy, TestContext& context) const {
  if (state_.parents.empty()) {  // still warming up: there is only the global model
    const bool serves = policy == TestPolicy::native || policy == TestPolicy::known_association;
    return serves ? make_single_model_predictor(state_.global) : nullptr;
  }
  switch (policy) {
    case TestPolicy::native: {
      const Profile query = test_profile(context);
      const bool tells = context.data.size() > 0 && !context.data.samples->multi_label();
      if (options_.strangers == Strangers::confidence && tells &&
          is_stranger(options_, shape_, state_.scaler, query, state_.parents)) {
        return mixture(confidence_weights(context.trainer, context.data, state_.parents));
      }
      return mixture(assignment_weights(options_, options_.assign_rule, shape_, state_.scaler, query, state_.parents,
                                        /*label_free=*/true));
    }
    case TestPolicy::nearest_signature:
      return mixture(assignment_weights(options_, AssignRule::nearest, shape_, state_.scaler, test_profile(context),
                                        state_.parents, /*label_free=*/true));
    case TestPolicy::few_label: return context.few_labels == nullptr ? nullptr : mixture(few_label_weights(context));
    case TestPolicy::known_association: {
      const auto own = std::find_if(state_.parents.begin(), state_.parents.end(),
                                    [&](const Parent& parent) { return parent.client == context.id; });
      return own == state_.parents.end() ? nullptr
                                         : make_single_model_predictor(own->model, {{{own->client, own->round}, 1.0}});
    }
    case TestPolicy::cluster_expectation:
    case TestPolicy::personal_uniform: return nullptr;
  }
  unreachable();
}

std::vector<ServedModel> Feroma::served() const {
  if (state_.parents.empty()) {
    return {{std::nullopt, 0, state_.global, {}, 0}};
  }
  std::vector<ServedModel> models;
  for (const Parent& parent : state_.parents) {
    models.push_back({parent.client, parent.round, parent.model, encode(parent.profile, shape_), parent.num_examples});
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
