#include "algorithms/drift_client.h"

#include <optional>

#include "algorithms/drift_scores.h"
#include "algorithms/join_views.h"
#include "feroma/algorithms/components.h"
#include "feroma/core/error.h"

namespace feroma {
namespace {

/// Under which name a client keeps a model that it has scored, until it is told what to train.
constexpr std::string_view kScored = "scored.";
std::string scored_key(std::int64_t candidate) { return fmt::format("{}{}", kScored, candidate); }

/// Absent where the data of a window that is over are gone: a client of a federation may have been started again.
std::optional<View> window_data(const ClientContext& context, std::int64_t window) {
  if (window == context.window) {
    return context.train;
  }
  try {
    return context.train_of_window(static_cast<int>(window));
  } catch (const Error& error) {
    if (error.code() != ErrorCode::invalid_data) {
      throw;
    }
    return std::nullopt;
  }
}

/// The models a client is to train: those that were sent, and those that it has kept since it scored them.
std::vector<ParametersPtr> models_to_train(const Message& received, const Message& state) {
  std::vector<ParametersPtr> models;
  if (!received.has("kept")) {
    for (std::size_t slot = 0; received.has(model_key(slot)); ++slot) {
      models.push_back(received.model(model_key(slot)));
    }
    return models;
  }
  for (const std::int64_t candidate : received.ints("kept")) {
    const std::string sent = model_key(models.size());
    models.push_back(candidate < 0 ? received.model(sent) : state.model(scored_key(candidate)));
  }
  return models;
}

/// One pass over as many samples as `steps` minibatches hold, or over all where there are fewer.
double fit_steps(ClientContext& context, Parameters& params, const View& view, FitOptions fit, int steps,
                 const Rng& rng) {
  fit.local_epochs = 1;
  const auto most = static_cast<std::size_t>(steps) * static_cast<std::size_t>(fit.batch_size);
  return context.trainer.fit(params, some_of(view, most, rng.derive("steps")), fit, rng);
}

Parameters train_one(ClientContext& context, const Parameters& model, const View& view, const FedDriftOptions& options,
                     const FitOptions& fit, std::size_t slot) {
  const bool current = slot == 0;
  if (current) {
    context.report.before = score_for_the_record(context, model);
  }
  Parameters params = model.clone();
  {
    const StageTimer timer(context.seconds, Stage::train);
    const Rng rng = context.rng.derive("train", slot);
    const double loss = options.local_steps > 0 ? fit_steps(context, params, view, fit, options.local_steps, rng)
                                                : context.trainer.fit(params, view, fit, rng);
    context.report.train_loss = current ? loss : context.report.train_loss;
  }
  if (current) {
    context.report.after = score_for_the_record(context, params);
  }
  return params;
}

}  // namespace

void drop_scored(Message& state) {
  std::erase_if(state.values, [](const auto& value) { return value.first.starts_with(kScored); });
}

Message score_models(ClientContext& context, const Message& received, const FedDriftOptions& options,
                     const FitOptions& fit, int classes) {
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
    std::optional<View> view = window_data(context, window);
    if (!view) {  // no samples, on which every model gets nothing
      counts.push_back(0);
      merits.resize(merits.size() + models.size());
      guesses.resize(guesses.size() + (options.merge_needs > 0 ? 1 : 0));
      continue;
    }
    if (options.score_batches > 0) {
      const auto most = static_cast<std::size_t>(options.score_batches) * static_cast<std::size_t>(fit.batch_size);
      view = some_of(*view, most, context.rng.derive("scored", static_cast<std::uint64_t>(window)));
    }
    counts.push_back(static_cast<std::int64_t>(view->size()));
    for (const Tally& tally : context.trainer.evaluate(models, *view)) {
      merits.push_back(static_cast<float>(merit_of(tally, options.measure)));
    }
    if (options.merge_needs > 0) {
      guesses.push_back(static_cast<float>(merit_of(guess_on(*view, classes), options.measure)));
    }
  }
  for (std::size_t slot = 0; slot < models.size(); ++slot) {
    context.state.values[scored_key(static_cast<std::int64_t>(slot))] = models[slot];
  }
  answer.values = {{"merits", std::move(merits)}, {"counts", std::move(counts)}};
  if (options.merge_needs > 0) {
    answer.values["guesses"] = std::move(guesses);
  }
  return answer;
}

Message train_models(ClientContext& context, const Message& received, const FedDriftOptions& options,
                     const FitOptions& fit) {
  const Ints& windows = received.ints("windows");
  const Ints& slots = received.ints("slots");
  require(windows.size() == slots.size() && !windows.empty(), ErrorCode::invalid_data,
          "[feddrift] every window must have a model, got {} windows and {} models", windows.size(), slots.size());
  const std::vector<ParametersPtr> models = models_to_train(received, context.state);
  drop_scored(context.state);
  Message answer;
  Ints counts;
  for (std::size_t slot = 0; slot < models.size(); ++slot) {
    std::vector<View> views;
    bool has_window = false;
    for (std::size_t w = 0; w < windows.size(); ++w) {
      if (slots[w] == static_cast<std::int64_t>(slot)) {
        const StageTimer timer(context.seconds, Stage::data);
        has_window = true;
        if (std::optional<View> view = window_data(context, windows[w])) {
          views.push_back(std::move(*view));
        }
      }
    }
    require(has_window, ErrorCode::invalid_data, "[feddrift] model {} must have a window, got none", slot);
    require(slot > 0 || !views.empty(), ErrorCode::invalid_data, "[feddrift] the data of the newest window are gone");
    if (views.empty()) {  // nothing to train it on any more: it comes back as it was, and counts for nothing
      answer.values[model_key(slot)] = models[slot];
      counts.push_back(0);
      continue;
    }
    const View view = join_views(views);
    answer.values[model_key(slot)] = share(train_one(context, *models[slot], view, options, fit, slot));
    counts.push_back(static_cast<std::int64_t>(view.size()));
  }
  // What the client holds now; that it trains on more than this is what the method costs.
  context.report.num_examples = static_cast<std::int64_t>(context.train.size());
  answer.values["num_examples"] = std::move(counts);
  return answer;
}

}  // namespace feroma
