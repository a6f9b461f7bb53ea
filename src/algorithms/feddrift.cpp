#include "feroma/algorithms/feddrift.h"

#include <algorithm>
#include <set>

#include "algorithms/drift_client.h"
#include "algorithms/drift_pool.h"
#include "feroma/algorithms/answers.h"
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
    one_window_ = context.windows == 1;
    pool_ = DriftPool(options_, initial_);
  }

  [[nodiscard]] int phases(Round) const override { return fed_drift_phases; }
  [[nodiscard]] bool asks_for_past_windows() const override { return true; }
  [[nodiscard]] std::string remark() const override {
    if (!one_window_) {
      return "";
    }
    return options_.variant == FedDriftVariant::F
               ? "clients' data never change, so nothing drifts or merges: variant F is local training here, a model "
                 "for every client"
               : "clients' data never change, so nothing drifts: it is FedAvg here";
  }
  /// A client may be asked to score the whole pool, and has windows of any of its models.
  [[nodiscard]] ModelsInMessage most_models(std::uint64_t clients) const override {
    const ModelsInMessage usual;
    const std::uint64_t pool = options_.pool > 0 ? static_cast<std::uint64_t>(options_.pool) : clients;
    return {std::max(usual.task, pool), std::max(usual.answer, pool)};
  }
  [[nodiscard]] std::uint64_t models_in_answer(Round round, int phase, ClientId client) const override {
    const std::uint64_t usual = Algorithm::models_in_answer(round, phase, client);
    return phase == ask_training ? std::max<std::uint64_t>(usual, work_of(client).models.size()) : usual;
  }

  [[nodiscard]] Message downlink(Round, int phase, ClientId client) const override {
    switch (phase) {
      case ask_window: return {};
      case ask_scores: return is_asked(client) ? scoring_task(client) : Message{};
      default: return training_task(client);
    }
  }

  [[nodiscard]] Message client_step(Round, int phase, ClientContext& context, const Message& received) const override {
    switch (phase) {
      case ask_window:
        drop_scored(context.state);  // of a round that it did not see the end of
        return {{{"window", Ints{context.window}}}};
      case ask_scores:
        return received.values.empty() ? Message{} : score_models(context, received, options_, fit_, classes_);
      default: return train_models(context, received, options_, fit_);
    }
  }

  void check_answer(Round, int phase, ClientId client, const Message& message) const override {
    const Answer answer("feddrift", client, message);
    switch (phase) {
      case ask_window:
        // Time does not go back.
        answer.integer("window", pool_.last_window(client).value_or(0), std::numeric_limits<int>::max());
        break;
      case ask_scores: check_scores(client, answer); break;
      default: check_models(client, answer);
    }
    answer.expect_nothing_else();
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
    forget_offer();
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

  void check_scores(ClientId client, const Answer& answer) const;
  void check_models(ClientId client, const Answer& answer) const;
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
  void forget_offer() {
    candidates_.clear();
    scored_.clear();
    scorers_.clear();
  }

  FedDriftOptions options_;
  FitOptions fit_;
  ParametersPtr initial_;
  int classes_ = 0;
  bool one_window_ = false;  ///< nobody's data ever change, as far as the run knows
  DriftPool pool_;
  std::vector<ClientId> present_;  ///< who trained last

  // Between the phases of one round.
  std::map<ClientId, int> windows_;    ///< of those that have a new one
  bool step_begins_ = false;           ///< with this round
  std::vector<int> candidates_;        ///< models to be scored; none where nobody needs one
  std::vector<ParametersPtr> scored_;  ///< the candidates as they were sent: merging makes others of some
  std::set<ClientId> scorers_;         ///< who has them
};

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

void FedDrift::check_scores(ClientId client, const Answer& answer) const {
  if (!is_asked(client)) {
    return;
  }
  const std::size_t windows = scored_windows(client).size();
  const Ints& counts = answer.integers("counts", windows, 0, kMostExamples);
  const Floats& merits = answer.floats("merits", windows * candidates_.size());
  for (std::size_t i = 0; i < merits.size(); ++i) {
    const std::int64_t count = counts[i / candidates_.size()];
    answer.expect(static_cast<double>(merits[i]) <= static_cast<double>(count), "merits", "be no more than the samples",
                  merits[i]);
  }
  if (options_.merge_needs > 0) {
    const Floats& guesses = answer.floats("guesses", windows);
    for (std::size_t w = 0; w < windows; ++w) {
      answer.expect(static_cast<double>(guesses[w]) <= static_cast<double>(counts[w]), "guesses",
                    "be no more than the samples", guesses[w]);
    }
  }
}

std::map<int, WindowMerits> FedDrift::read_merits(ClientId client, const Message& answer) const {
  const Ints windows = scored_windows(client);
  const Floats& merits = answer.floats("merits");
  const Floats guesses = options_.merge_needs > 0 ? answer.floats("guesses") : Floats(windows.size());
  std::map<int, WindowMerits> read;
  for (std::size_t w = 0; w < windows.size(); ++w) {
    WindowMerits& window = read[static_cast<int>(windows[w])];
    window.count = answer.ints("counts")[w];
    window.guess = static_cast<double>(guesses[w]);
    for (std::size_t m = 0; m < candidates_.size(); ++m) {
      window.sums.push_back(static_cast<double>(merits[w * candidates_.size() + m]));
    }
  }
  return read;
}

void FedDrift::read_windows(const std::map<ClientId, Message>& answers) {
  windows_.clear();
  for (const auto& [client, answer] : answers) {
    const auto window = static_cast<int>(answer.integer("window"));
    if (!pool_.knows(client, window)) {
      windows_[client] = window;
    }
  }
  step_begins_ = pool_.begins_step(windows_);
  forget_offer();
  if (!windows_.empty() && pool_.started()) {
    candidates_ = step_begins_ ? pool_.candidates() : pool_.candidates_now();
  }
}

void FedDrift::place_clients(const std::map<ClientId, Message>& answers) {
  for (const int id : candidates_) {
    scored_.push_back(pool_.models().at(id));
  }
  for (const auto& [client, answer] : answers) {
    if (is_asked(client)) {
      scorers_.insert(client);
    }
  }
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
  const std::set<int> in_use = pool_.in_use();
  Work work;
  for (auto window = windows.rbegin(); window != windows.rend(); ++window) {
    if (options_.idle_models == IdleModels::rest && !in_use.contains(window->second)) {
      continue;
    }
    const auto known = std::find(work.models.begin(), work.models.end(), window->second);
    work.windows.push_back(window->first);
    work.slots.push_back(known - work.models.begin());
    if (known == work.models.end()) {
      work.models.push_back(window->second);
    }
  }
  return work;
}

/// Nobody is sent a model twice in a round: what the client has just scored, or a copy of it, is named by its number
/// there, and -1 stands for one that is sent.
Message FedDrift::training_task(ClientId client) const {
  const Work work = work_of(client);
  Message task;
  Ints kept;
  for (std::size_t slot = 0; slot < work.models.size(); ++slot) {
    const ParametersPtr& model = pool_.models().at(work.models[slot]);
    const auto found = std::find(scored_.begin(), scored_.end(), model);
    const bool has_it = scorers_.contains(client) && found != scored_.end();
    kept.push_back(has_it ? found - scored_.begin() : -1);
    if (!has_it) {
      task.values[model_key(slot)] = model;
    }
  }
  if (scorers_.contains(client)) {
    task.values["kept"] = std::move(kept);
  }
  task.values["windows"] = work.windows;
  task.values["slots"] = work.slots;
  return task;
}

void FedDrift::check_models(ClientId client, const Answer& answer) const {
  const std::size_t trained = work_of(client).models.size();
  // Data of before may be gone, as after a restart; those that it has now are not.
  const Ints& counts = answer.integers("num_examples", trained, 0, kMostExamples);
  answer.expect(counts.empty() || counts.front() >= 1, "num_examples", "be >= 1", counts.empty() ? 0 : counts.front());
  for (std::size_t slot = 0; slot < trained; ++slot) {
    answer.model(model_key(slot), *initial_);
  }
}

void FedDrift::aggregate(const std::map<ClientId, Message>& answers) {
  std::map<int, std::vector<Upload>> of_model;
  std::vector<ClientId> present;
  for (const auto& [client, answer] : answers) {
    const std::vector<int> trained = work_of(client).models;
    present.push_back(client);
    for (std::size_t slot = 0; slot < trained.size(); ++slot) {
      of_model[trained[slot]].push_back({answer.model(model_key(slot)), answer.ints("num_examples")[slot]});
    }
  }
  if (!present.empty()) {
    present_ = std::move(present);
  }
  for (const auto& [id, uploads] : of_model) {
    pool_.set_model(id, mean_or(pool_.models().at(id), uploads));
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
