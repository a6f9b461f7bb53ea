#include "feroma/algorithms/shiftex.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "algorithms/expert_pool.h"
#include "algorithms/join_views.h"
#include "feroma/aggregation/mix.h"
#include "feroma/algorithms/answers.h"
#include "feroma/algorithms/components.h"

namespace feroma {
namespace {

/// What samples look like to the encoder: what its last layer reads.
constexpr Latent kEmbedding = Latent::penultimate;

std::vector<float> embed(Trainer& trainer, const Parameters& encoder, const View& view) {
  std::vector<float> embeddings;
  trainer.latents(encoder, view, kEmbedding, [&](std::span<const float> rows, int, const Batch&) {
    embeddings.insert(embeddings.end(), rows.begin(), rows.end());
  });
  return embeddings;
}

std::vector<float> class_counts(const View& view, int classes) {
  std::vector<float> counts(static_cast<std::size_t>(classes));
  for (std::size_t i = 0; i < view.size(); ++i) {
    const std::span<const std::uint8_t> targets = view.targets(i);
    if (targets.empty()) {
      counts[static_cast<std::size_t>(view.label(i))] += 1;
    }
    for (std::size_t c = 0; c < targets.size(); ++c) {
      counts[c] += static_cast<float>(targets[c]);
    }
  }
  return counts;
}

std::vector<double> doubles(std::span<const float> values) { return {values.begin(), values.end()}; }

class ShiftEx final : public Algorithm {
 public:
  explicit ShiftEx(const ShiftExOptions& options) : options_(options) {}

  void init(const ServerContext& context) override {
    fit_ = with_momentum(context.fit, options_.momentum_reset);
    parallel_ = context.parallel;
    classes_ = context.model.classes;
    width_ = latent_size(context.model, kEmbedding);
    pool_ = ExpertPool(options_, context.initial, width_, context.rng.derive("experts"));
  }

  /// Once there is an encoder, every round begins with the question whether data have changed.
  [[nodiscard]] int phases(Round round) const override { return round <= options_.encoder_round ? 1 : 2; }

  [[nodiscard]] Message downlink(Round round, int phase, ClientId client) const override {
    if (trains(round, phase)) {
      const ParametersPtr& model = pool_.experts()[pool_.expert_of(client)].model;
      return has_it_as_encoder(client, *model) ? Message{} : Message{{{"model", model}}};
    }
    Message task;  // what the client has not been told yet
    if (!pool_.met(client)) {
      task.values["encoder"] = encoder_;
    }
    if (pool_.bandwidth() && !std::binary_search(told_.begin(), told_.end(), client)) {
      task.values["bandwidth"] = Floats{static_cast<float>(*pool_.bandwidth())};
    }
    return task;
  }

  [[nodiscard]] Message client_step(Round round, int phase, ClientContext& context,
                                    const Message& received) const override {
    if (!trains(round, phase)) {
      return look_for_shift(context, received);
    }
    const ParametersPtr& model = received.has("model") ? received.model("model") : context.state.model("encoder");
    Parameters trained = train_locally(context, *model, fit_);
    return {{{"model", share(std::move(trained))}, {"num_examples", Ints{context.report.num_examples}}}};
  }

  void check_answer(Round round, int phase, ClientId client, const Message& answer) const override;
  void uplink(Round round, int phase, std::map<ClientId, Message>& answers, StageSeconds& seconds) override {
    if (!trains(round, phase)) {
      const StageTimer timer(seconds, Stage::map);
      read_shifts(answers);
      return;
    }
    const StageTimer timer(seconds, Stage::aggregate);
    aggregate(answers);
    if (round == options_.encoder_round) {
      encoder_ = pool_.experts().front().model;
    }
  }

  /// Without encoder and bandwidth a client can tell nothing; it is introduced again.
  void forget(ClientId client) override {
    pool_.forget(client);
    std::erase(told_, client);
  }

  [[nodiscard]] std::optional<ClusterView> clusters() const override {
    ClusterView view;
    for (const ExpertPool::Expert& expert : pool_.experts()) {
      view.models.push_back(expert.model);
    }
    for (const ClientId client : trained_) {
      std::vector<double>& shares = view.shares[client];
      shares.resize(view.models.size());
      shares[pool_.expert_of(client)] = 1;
    }
    view.present = present_;
    return view;
  }

  /// Beside the matching rule evaluation derives the expectation from the clusters.
  [[nodiscard]] std::unique_ptr<Predictor> predictor(TestPolicy policy, TestContext& context) const override {
    const bool matches = policy == TestPolicy::nearest_signature || (policy == TestPolicy::native && matches_tests());
    if (!matches || !encoder_) {
      return nullptr;
    }
    const Message question = question_of_encoder();
    const Message told = describe(question, context);
    context.traffic.bytes_down += question.bytes();
    context.traffic.bytes_up += told.bytes();
    const ParametersPtr expert = expert_for(told);
    return expert ? make_single_model_predictor(expert) : nullptr;
  }
  [[nodiscard]] Message visitor_question() const override {
    return matches_tests() && encoder_ ? question_of_encoder() : Message{};
  }
  [[nodiscard]] Message visitor_profile(const Message& question, TestContext& context) const override {
    return question.has("encoder") ? describe(question, context) : Message{};
  }
  [[nodiscard]] std::int64_t description_floats() const override {
    return matches_tests() ? std::int64_t{options_.samples} * width_ : 0;
  }
  [[nodiscard]] std::optional<Offer> offer(const Message& told, const VisitorWish& wish) const override {
    const bool by_labels = wish.few_labels && wish.candidates > 0;
    const ParametersPtr expert = matches_tests() && encoder_ && !by_labels ? expert_for(told) : nullptr;
    return expert ? std::optional(Offer{Choice::as_offered, {expert}, {1.0}}) : std::nullopt;
  }
  /// Embeddings and one expert's prediction.
  [[nodiscard]] Passes passes_to_serve(int clients, bool stranger) const override {
    return matches_tests() ? Passes{2, 0} : Algorithm::passes_to_serve(clients, stranger);
  }

  [[nodiscard]] std::vector<ServedModel> served() const override {
    std::vector<ServedModel> served;
    for (const ExpertPool::Expert& expert : pool_.experts()) {
      served.push_back({std::nullopt, 0, expert.model, {}, 0});
    }
    return served;
  }

  void save(ModelWriter& out) const override {
    pool_.save(out);
    out.put(encoder_);
    out.out().put(told_);
    out.out().put(std::vector<ClientId>(trained_.begin(), trained_.end()));
    out.out().put(present_);
  }
  void load(ModelReader& in) override {
    pool_.load(in);
    encoder_ = in.get_model();
    told_ = in.in().get_vector<ClientId>();
    const auto trained = in.in().get_vector<ClientId>();
    trained_ = {trained.begin(), trained.end()};
    present_ = load_present([&](ClientId client) { return trained_.contains(client); }, in);
  }

 private:
  [[nodiscard]] std::size_t most_samples() const { return static_cast<std::size_t>(options_.samples); }
  [[nodiscard]] bool trains(Round round, int phase) const { return phase == phases(round) - 1; }
  /// In the round that hands out the encoder the first expert is still the same model: nobody is sent it twice.
  [[nodiscard]] bool has_it_as_encoder(ClientId client, const Parameters& model) const {
    const auto values = model.values();
    return encoder_ && pool_.met(client) && std::equal(values.begin(), values.end(), encoder_->values().begin());
  }
  [[nodiscard]] bool matches_tests() const { return options_.served_by == ExpertRule::signature; }
  [[nodiscard]] Message question_of_encoder() const { return {{{"encoder", encoder_}}}; }
  /// A test client's embeddings.
  [[nodiscard]] Message describe(const Message& question, TestContext& context) const {
    const View view = some_of(context.data, most_samples(), context.rng.derive("embeddings"));
    return {{{"embeddings", embed(context.trainer, *question.model("encoder"), view)}}};
  }
  /// The expert whose memory is nearest to what was told; null before there is one.
  [[nodiscard]] ParametersPtr expert_for(const Message& told) const {
    const Answer answer("shiftex", ClientId{0}, told);
    const auto width = static_cast<std::size_t>(width_);
    const Floats& embeddings = answer.rows("embeddings", width, 0, most_samples());
    answer.expect_nothing_else();
    const std::optional<std::size_t> nearest = pool_.nearest({embeddings, width});
    return nearest ? pool_.experts()[*nearest].model : nullptr;
  }
  [[nodiscard]] Message look_for_shift(ClientContext& context, const Message& received) const;
  void read_shifts(const std::map<ClientId, Message>& answers);
  [[nodiscard]] LatentMemory read_memory(const Message& answer) const;
  void aggregate(const std::map<ClientId, Message>& answers);

  ShiftExOptions options_;
  FitOptions fit_;
  Parallel parallel_ = in_turn;
  int classes_ = 0;
  int width_ = 1;
  ExpertPool pool_;
  ParametersPtr encoder_;          ///< frozen: embeddings of different encoders cannot be compared
  std::vector<ClientId> told_;     ///< who knows the bandwidth, sorted
  std::set<ClientId> trained_;     ///< everybody who ever trained
  std::vector<ClientId> present_;  ///< who trained last
};

/// The first embeddings always go to the server; later ones where the window is new and unlike the one before.
Message ShiftEx::look_for_shift(ClientContext& context, const Message& received) const {
  const StageTimer timer(context.seconds, Stage::profile);
  Message& state = context.state;
  for (const std::string key : {"encoder", "bandwidth"}) {
    if (received.has(key)) {
      state.values[key] = received.values.at(key);
    }
  }
  const bool introduced = received.has("encoder");
  if (!introduced && state.integer("window") == context.window) {
    return {};
  }
  const View view = some_of(context.train, most_samples(), context.rng.derive("embeddings"));
  Floats embeddings = embed(context.trainer, *state.model("encoder"), view);
  Floats counts = class_counts(context.train, classes_);
  const auto samples = static_cast<std::int64_t>(context.train.size());
  Message answer;
  if (introduced) {
    answer.values = {{"embeddings", embeddings}, {"classes", counts}, {"num_examples", Ints{samples}}};
  } else {
    const auto width = static_cast<std::size_t>(width_);
    const RowsView now{embeddings, width};
    const RowsView before{state.floats("embeddings"), width};
    const auto bandwidth = static_cast<double>(state.floats("bandwidth").at(0));
    const double threshold = permuted_mmd(now, before, bandwidth, options_.permutations, 1 - options_.significance,
                                          context.rng.derive("permutations"));
    const bool inputs = squared_mmd(now, before, bandwidth) > threshold;
    const bool labels = jensen_shannon(doubles(counts), doubles(state.floats("classes"))) > options_.label_threshold;
    if (inputs || labels) {
      answer.values = {{"embeddings", embeddings},
                       {"classes", counts},
                       {"num_examples", Ints{samples}},
                       {"threshold", Floats{static_cast<float>(threshold)}}};
    }
  }
  state.values["window"] = Ints{context.window};
  state.values["embeddings"] = std::move(embeddings);
  state.values["classes"] = std::move(counts);
  return answer;
}

void ShiftEx::check_answer(Round round, int phase, ClientId client, const Message& message) const {
  const Answer answer("shiftex", client, message);
  if (trains(round, phase)) {
    answer.model("model", *pool_.experts().front().model);
    answer.examples(/*least=*/1);
    answer.expect_nothing_else();
    return;
  }
  if (pool_.met(client)) {
    if (message.values.empty()) {  // nothing has changed
      return;
    }
    answer.floats("threshold", 1, 0);
  }
  const auto width = static_cast<std::size_t>(width_);
  const Floats& rows = answer.rows("embeddings", width, 1, static_cast<std::size_t>(options_.samples));
  answer.floats("classes", static_cast<std::size_t>(classes_), 0);
  answer.examples(static_cast<std::int64_t>(rows.size() / width));
  answer.expect_nothing_else();
}

LatentMemory ShiftEx::read_memory(const Message& answer) const {
  const Floats& embeddings = answer.floats("embeddings");
  return {embeddings, answer.integer("num_examples"), doubles(answer.floats("classes"))};
}

void ShiftEx::read_shifts(const std::map<ClientId, Message>& answers) {
  std::map<ClientId, LatentMemory> fresh;
  std::map<ClientId, ShiftReport> shifted;
  const bool knows_bandwidth = pool_.bandwidth().has_value();
  for (const auto& [client, answer] : answers) {
    if (knows_bandwidth && !std::binary_search(told_.begin(), told_.end(), client)) {
      told_.insert(std::upper_bound(told_.begin(), told_.end(), client), client);
    }
    if (!pool_.met(client)) {
      fresh[client] = read_memory(answer);
    } else if (!answer.values.empty()) {
      shifted[client] = {read_memory(answer), static_cast<double>(answer.floats("threshold").front())};
    }
  }
  pool_.introduce(fresh, parallel_);
  pool_.reassign(shifted, parallel_);
}

void ShiftEx::aggregate(const std::map<ClientId, Message>& answers) {
  std::vector<std::vector<ParametersPtr>> models(pool_.experts().size());
  std::vector<std::vector<std::int64_t>> counts(pool_.experts().size());
  std::vector<ClientId> present;
  for (const auto& [client, answer] : answers) {
    const std::size_t expert = pool_.expert_of(client);
    models[expert].push_back(answer.model("model"));
    counts[expert].push_back(answer.integer("num_examples"));
    present.push_back(client);
    trained_.insert(client);
  }
  if (!present.empty()) {
    present_ = std::move(present);
  }
  for (std::size_t e = 0; e < models.size(); ++e) {
    if (!models[e].empty()) {  // an expert that nobody uses now stays as it is, for those who return
      pool_.expert(e).model = share(weighted_mean(models[e], counts[e]));
    }
  }
}

}  // namespace

std::unique_ptr<Algorithm> make_shiftex(const ShiftExOptions& options) { return std::make_unique<ShiftEx>(options); }

}  // namespace feroma
