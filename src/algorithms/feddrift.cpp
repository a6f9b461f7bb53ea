#include "feroma/algorithms/feddrift.h"

#include <algorithm>
#include <cmath>

#include "algorithms/drift_pool.h"
#include "algorithms/drift_scores.h"
#include "algorithms/join_views.h"
#include "feroma/aggregation/mix.h"
#include "feroma/algorithms/components.h"

namespace feroma {
namespace {

/// A round asks for data windows, then, where somebody has a new one, for scores of the models, then for training.
enum FedDriftPhase { ask_window, ask_scores, ask_training, fed_drift_phases };

class FedDrift final : public Algorithm {
 public:
  explicit FedDrift(const FedDriftOptions& options) : options_(options) {}

  void init(const ServerContext& context) override {
    fit_ = with_momentum(context.fit, options_.momentum_reset);
    initial_ = context.initial;
    classes_ = context.model.classes;
    pool_ = DriftPool(options_, initial_);
  }

  [[nodiscard]] int phases(Round) const override { return fed_drift_phases; }

  [[nodiscard]] Message downlink(Round, int phase, ClientId client) const override {
    switch (phase) {
      case ask_window: return {};
      case ask_scores: return is_asked(client) ? scoring_task(client) : Message{};
      default: return training_task(client);
    }
  }

  [[nodiscard]] Message client_step(Round, int phase, ClientContext& context, const Message& received) const override {
    switch (phase) {
      case ask_window: return {{{"window", Ints{context.window}}}};
      case ask_scores: return received.values.empty() ? Message{} : score_models(context, received);
      default: return train_models(context, received);
    }
  }

  void uplink(Round, int phase, std::map<ClientId, Message>& answers, StageSeconds& seconds) override {
    switch (phase) {
      case ask_window: read_windows(answers); return;
      case ask_scores: {
        const StageTimer timer(seconds, Stage::map);
        place_clients(answers);
        return;
      }
      default: {
        const StageTimer timer(seconds, Stage::aggregate);
        aggregate(answers);
      }
    }
  }

  [[nodiscard]] std::optional<ClusterView> clusters() const override;

  [[nodiscard]] std::vector<ServedModel> served() const override {
    std::vector<ServedModel> served;
    for (const auto& [id, model] : pool_.models()) {
      served.push_back({std::nullopt, 0, model, {}, 0});
    }
    return served;
  }

  void save(ModelWriter& out) const override {
    pool_.save(out);
    out.out().put(present_);
  }
  void load(ModelReader& in) override {
    pool_.load(in);
    present_ = load_present([&](ClientId client) { return pool_.last_window(client).has_value(); }, in);
    windows_.clear();
    candidates_.clear();
  }

 private:
  /// The models a client trains and its windows for each: the model of the newest window first.
  struct Work {
    std::vector<int> models;
    Ints windows;
    Ints slots;  ///< for each window, its model's place in `models`
  };
  [[nodiscard]] Work work_of(ClientId client) const;

  [[nodiscard]] Message scoring_task(ClientId client) const;
  [[nodiscard]] Message training_task(ClientId client) const;
  [[nodiscard]] Message score_models(ClientContext& context, const Message& received) const;
  [[nodiscard]] Message train_models(ClientContext& context, const Message& received) const;
  [[nodiscard]] Parameters train_one(ClientContext& context, const Parameters& model, const View& view,
                                     std::size_t slot) const;

  void read_windows(const std::map<ClientId, Message>& answers);
  void place_clients(const std::map<ClientId, Message>& answers);
  /// Where a time step begins everybody scores the candidates, and within one only those who need a model.
  [[nodiscard]] bool is_asked(ClientId client) const {
    return !candidates_.empty() && (step_begins_ || windows_.contains(client));
  }
  /// The windows a client is asked to score models on: a new one, and where a step begins those that have a model.
  [[nodiscard]] Ints scored_windows(ClientId client) const;
  [[nodiscard]] std::map<int, WindowMerits> read_merits(ClientId client, const Message& answer) const;
  void aggregate(const std::map<ClientId, Message>& answers);

  FedDriftOptions options_;
  FitOptions fit_;
  ParametersPtr initial_;
  int classes_ = 0;
  DriftPool pool_;
  std::vector<ClientId> present_;  ///< who trained last

  // Between the phases of one round.
  std::map<ClientId, int> windows_;  ///< of those that have a new one
  bool step_begins_ = false;         ///< with this round
  std::vector<int> candidates_;      ///< models to be scored; none where nobody needs one
};

View window_data(const ClientContext& context, std::int64_t window) {
  return window == context.window ? context.train : context.train_of_window(static_cast<int>(window));
}

Message FedDrift::scoring_task(ClientId client) const {
  Message task;
  for (std::size_t slot = 0; slot < candidates_.size(); ++slot) {
    task.values[model_key(slot)] = pool_.models().at(candidates_[slot]);
  }
  task.values["windows"] = scored_windows(client);
  return task;
}

Ints FedDrift::scored_windows(ClientId client) const {
  Ints windows;
  for (const auto& [window, model] : pool_.windows_of(client)) {
    if (step_begins_) {
      windows.push_back(window);
    }
  }
  const auto fresh = windows_.find(client);
  if (fresh != windows_.end()) {
    windows.push_back(fresh->second);
  }
  return windows;
}

Message FedDrift::score_models(ClientContext& context, const Message& received) const {
  const StageTimer timer(context.seconds, Stage::map);
  std::vector<ParametersPtr> models;
  for (std::size_t slot = 0; received.has(model_key(slot)); ++slot) {
    models.push_back(received.model(model_key(slot)));
  }
  Message answer;
  Floats merits;
  Floats guesses;
  Ints counts;
  for (const std::int64_t window : received.ints("windows")) {
    View view = window_data(context, window);
    if (options_.score_batches > 0) {
      const auto most = static_cast<std::size_t>(options_.score_batches) * static_cast<std::size_t>(fit_.batch_size);
      view = some_of(view, most, context.rng.derive("scored", static_cast<std::uint64_t>(window)));
    }
    counts.push_back(static_cast<std::int64_t>(view.size()));
    for (const Tally& tally : context.trainer.evaluate(models, view)) {
      merits.push_back(static_cast<float>(merit_of(tally, options_.measure)));
    }
    if (options_.merge_needs > 0) {
      guesses.push_back(static_cast<float>(merit_of(guess_on(view, classes_), options_.measure)));
    }
  }
  answer.values = {{"merits", std::move(merits)}, {"counts", std::move(counts)}};
  if (options_.merge_needs > 0) {
    answer.values["guesses"] = std::move(guesses);
  }
  return answer;
}

std::map<int, WindowMerits> FedDrift::read_merits(ClientId client, const Message& answer) const {
  const Ints windows = scored_windows(client);
  const Floats& merits = answer.floats("merits");
  const Ints& counts = answer.ints("counts");
  require(counts.size() == windows.size() && merits.size() == windows.size() * candidates_.size(),
          ErrorCode::invalid_data, "[feddrift] client {} must score {} models on {} windows, got {} and {} values",
          to_index(client), candidates_.size(), windows.size(), merits.size(), counts.size());
  const Floats guesses = options_.merge_needs > 0 ? answer.floats("guesses") : Floats(windows.size());
  require(guesses.size() == windows.size(), ErrorCode::invalid_data,
          "[feddrift] client {} must guess on {} windows, got {}", to_index(client), windows.size(), guesses.size());
  std::map<int, WindowMerits> read;
  for (std::size_t w = 0; w < windows.size(); ++w) {
    WindowMerits& window = read[static_cast<int>(windows[w])];
    window.count = counts[w];
    require(counts[w] >= 0, ErrorCode::invalid_data, "[feddrift] counts of client {} must be >= 0, got {}",
            to_index(client), counts[w]);
    window.guess = static_cast<double>(guesses[w]);
    require(std::isfinite(window.guess) && window.guess <= static_cast<double>(counts[w]), ErrorCode::invalid_data,
            "[feddrift] guesses of client {} must be finite and at most its {} samples, got {}", to_index(client),
            counts[w], window.guess);
    for (std::size_t m = 0; m < candidates_.size(); ++m) {
      const auto merit = static_cast<double>(merits[w * candidates_.size() + m]);
      require(std::isfinite(merit) && merit <= static_cast<double>(counts[w]), ErrorCode::invalid_data,
              "[feddrift] merits of client {} must be finite and at most its {} samples, got {}", to_index(client),
              counts[w], merit);
      window.sums.push_back(merit);
    }
  }
  return read;
}

void FedDrift::read_windows(const std::map<ClientId, Message>& answers) {
  windows_.clear();
  for (const auto& [client, answer] : answers) {
    const std::int64_t window = answer.integer("window");
    const int reached = pool_.last_window(client).value_or(0);
    require(window >= reached && window <= std::numeric_limits<int>::max(), ErrorCode::invalid_data,
            "[feddrift] window of client {} must not go back from {}, got {}", to_index(client), reached, window);
    if (!pool_.knows(client, static_cast<int>(window))) {
      windows_[client] = static_cast<int>(window);
    }
  }
  step_begins_ = pool_.begins_step(windows_);
  candidates_.clear();
  if (!windows_.empty() && pool_.started()) {
    candidates_ = step_begins_ ? pool_.candidates() : pool_.candidates_now();
  }
}

void FedDrift::place_clients(const std::map<ClientId, Message>& answers) {
  // Who did not answer gets no model now; it is asked again when it is back.
  std::erase_if(windows_, [&](const auto& window) { return !answers.contains(window.first); });
  if (windows_.empty()) {
    return;
  }
  if (!pool_.started()) {
    pool_.start(windows_);
    return;
  }
  Merits merits;
  for (const auto& [client, answer] : answers) {
    if (is_asked(client)) {
      merits[client] = read_merits(client, answer);
    }
  }
  if (step_begins_ && pool_.begins_step(windows_)) {
    pool_.advance(candidates_, windows_, merits);
  } else {
    pool_.join(candidates_, windows_, merits);
  }
}

FedDrift::Work FedDrift::work_of(ClientId client) const {
  const std::map<int, int>& windows = pool_.windows_of(client);
  Work work;
  for (auto window = windows.rbegin(); window != windows.rend(); ++window) {
    const auto known = std::find(work.models.begin(), work.models.end(), window->second);
    work.windows.push_back(window->first);
    work.slots.push_back(known - work.models.begin());
    if (known == work.models.end()) {
      work.models.push_back(window->second);
    }
  }
  return work;
}

Message FedDrift::training_task(ClientId client) const {
  const Work work = work_of(client);
  Message task;
  for (std::size_t slot = 0; slot < work.models.size(); ++slot) {
    task.values[model_key(slot)] = pool_.models().at(work.models[slot]);
  }
  task.values["windows"] = work.windows;
  task.values["slots"] = work.slots;
  return task;
}

Message FedDrift::train_models(ClientContext& context, const Message& received) const {
  const Ints& windows = received.ints("windows");
  const Ints& slots = received.ints("slots");
  require(windows.size() == slots.size() && !windows.empty(), ErrorCode::invalid_data,
          "[feddrift] every window must have a model, got {} windows and {} models", windows.size(), slots.size());
  Message answer;
  Ints counts;
  for (std::size_t slot = 0; received.has(model_key(slot)); ++slot) {
    std::vector<View> views;
    for (std::size_t w = 0; w < windows.size(); ++w) {
      if (slots[w] == static_cast<std::int64_t>(slot)) {
        const StageTimer timer(context.seconds, Stage::data);
        views.push_back(window_data(context, windows[w]));
      }
    }
    require(!views.empty(), ErrorCode::invalid_data, "[feddrift] model {} must have a window, got none", slot);
    const View view = join_views(views);
    const ParametersPtr& model = received.model(model_key(slot));
    answer.values[model_key(slot)] = share(train_one(context, *model, view, slot));
    counts.push_back(static_cast<std::int64_t>(view.size()));
  }
  // What the client holds now; that it trains on more than this is what the method costs.
  context.report.num_examples = static_cast<std::int64_t>(context.train.size());
  answer.values["num_examples"] = std::move(counts);
  return answer;
}

Parameters FedDrift::train_one(ClientContext& context, const Parameters& model, const View& view,
                               std::size_t slot) const {
  const bool current = slot == 0;
  if (current) {
    context.report.before = score_for_the_record(context, model);
  }
  Parameters params = model.clone();
  {
    const StageTimer timer(context.seconds, Stage::train);
    const double loss = context.trainer.fit(params, view, fit_, context.rng.derive("train", slot));
    context.report.train_loss = current ? loss : context.report.train_loss;
  }
  if (current) {
    context.report.after = score_for_the_record(context, params);
  }
  return params;
}

void FedDrift::aggregate(const std::map<ClientId, Message>& answers) {
  struct Answers {
    std::vector<ParametersPtr> models;
    std::vector<std::int64_t> counts;
  };
  std::map<int, Answers> of_model;
  std::vector<ClientId> present;
  for (const auto& [client, answer] : answers) {
    const std::vector<int> trained = work_of(client).models;
    const Ints& counts = answer.ints("num_examples");
    require(counts.size() == trained.size(), ErrorCode::invalid_data,
            "[feddrift] client {} must have counts for {} models, got {}", to_index(client), trained.size(),
            counts.size());
    present.push_back(client);
    for (std::size_t slot = 0; slot < trained.size(); ++slot) {
      const ParametersPtr& model = answer.model(model_key(slot));
      require(counts[slot] >= 1, ErrorCode::invalid_data, "[feddrift] num_examples of client {} must be >= 1, got {}",
              to_index(client), counts[slot]);
      require(model && model->size() == initial_->size() && model->all_finite(), ErrorCode::invalid_data,
              "[feddrift] models of client {} must have {} finite values", to_index(client), initial_->size());
      of_model[trained[slot]].models.push_back(model);
      of_model[trained[slot]].counts.push_back(counts[slot]);
    }
  }
  if (!present.empty()) {
    present_ = std::move(present);
  }
  for (const auto& [id, contributions] : of_model) {
    pool_.set_model(id, share(weighted_mean(contributions.models, contributions.counts)));
  }
}

std::optional<ClusterView> FedDrift::clusters() const {
  ClusterView view;
  view.present = present_;
  std::map<int, std::size_t> index_of;
  for (const auto& [id, model] : pool_.models()) {
    index_of[id] = view.models.size();
    view.models.push_back(model);
  }
  for (const auto& [client, model] : pool_.current_models()) {
    std::vector<double>& shares = view.shares[client];
    shares.resize(view.models.size());
    shares[index_of.at(model)] = 1;
  }
  return view;
}

}  // namespace

void FedDriftOptions::check(const FedDriftOptions& defaults, Problems& problems, const std::string& where) const {
  const auto merges = [&](std::string_view key, bool changed) {
    if (changed && variant == FedDriftVariant::eager) {
      problems.add("{}.{} would be ignored: it needs variant F or C", where, key);
    }
  };
  merges("merge_delta", merge_delta != defaults.merge_delta);
  merges("merge_needs", merge_needs != defaults.merge_needs);
  merges("linkage", linkage != defaults.linkage);
  merges("isolation", isolation != defaults.isolation);
}

std::unique_ptr<Algorithm> make_feddrift(const FedDriftOptions& options) { return std::make_unique<FedDrift>(options); }

}  // namespace feroma
