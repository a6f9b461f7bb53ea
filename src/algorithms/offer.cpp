#include "feroma/algorithms/offer.h"

#include <fmt/core.h>

#include <cmath>
#include <limits>

#include "feroma/core/error.h"

namespace feroma {
namespace {

/// Weights of 24 bits each, a few thousand of them.
constexpr double kSumTolerance = 1e-3;

std::string offered_key(std::size_t i) { return fmt::format("model.{}", i); }

EntropyAdaptation adaptation_from(const Message& message) {
  const Ints& how = message.ints("adaptation");
  require(how.size() == 2 && (how[0] == 0 || how[0] == 1) && how[1] >= 1 && how[1] <= std::numeric_limits<int>::max(),
          ErrorCode::invalid_data, "[offer] an adaptation must be a mode of 0 or 1 and a batch size, got {} numbers",
          how.size());
  EntropyAdaptation adaptation{message.floats("rates"), static_cast<AdaptMode>(how[0]), static_cast<int>(how[1])};
  check_rates(adaptation.rates, message.model(offered_key(0))->layout());
  return adaptation;
}

}  // namespace

Message to_message(const Offer& offer) {
  Message message;
  message.values["choice"] = Ints{static_cast<std::int64_t>(offer.choice)};
  message.values["count"] = Ints{static_cast<std::int64_t>(offer.models.size())};
  message.values["weights"] = Floats(offer.weights.begin(), offer.weights.end());
  for (std::size_t i = 0; i < offer.models.size(); ++i) {
    message.values[offered_key(i)] = offer.models[i];
  }
  if (offer.adaptation) {
    message.values["rates"] = offer.adaptation->rates;
    message.values["adaptation"] =
        Ints{static_cast<std::int64_t>(offer.adaptation->mode), offer.adaptation->batch_size};
  }
  return message;
}

Offer offer_from(const Message& message) {
  Offer offer;
  const std::int64_t choice = message.integer("choice");
  require(choice >= 0 && choice <= static_cast<std::int64_t>(Choice::by_confidence), ErrorCode::invalid_data,
          "[offer] a choice must be 0 to 2, got {}", choice);
  offer.choice = static_cast<Choice>(choice);
  const auto count = static_cast<std::size_t>(message.integer("count"));
  const Floats& weights = message.floats("weights");
  const bool adapts = message.has("rates");
  require(count > 0 && message.values.size() == count + (adapts ? 5 : 3), ErrorCode::invalid_data,
          "[offer] must have {} models and nothing else, got {} values", count, message.values.size());
  require(weights.size() == (offer.choice == Choice::as_offered ? count : 0), ErrorCode::invalid_data,
          "[offer] must have a weight for each of {} models where there is nothing to choose, got {}", count,
          weights.size());
  double sum = 0;
  for (const float weight : weights) {
    require(weight >= 0 && weight <= 1, ErrorCode::invalid_data, "[offer] a weight must be 0 to 1, got {}", weight);
    offer.weights.push_back(static_cast<double>(weight));
    sum += offer.weights.back();
  }
  require(weights.empty() || std::abs(sum - 1) < kSumTolerance, ErrorCode::invalid_data,
          "[offer] weights must sum to 1, got {}", sum);
  for (std::size_t i = 0; i < count; ++i) {
    offer.models.push_back(message.model(offered_key(i)));
    for (const float value : offer.models.back()->values()) {
      require(std::isfinite(value), ErrorCode::invalid_data, "[offer] model {} has a value that is not finite", i);
    }
  }
  if (adapts) {
    offer.adaptation = adaptation_from(message);
  }
  return offer;
}

std::unique_ptr<Predictor> make_predictor(const Offer& offer) {
  require(offer.choice == Choice::as_offered, ErrorCode::internal, "[offer] the choice must have been made");
  const auto sources = [&](std::size_t i) { return offer.sources.empty() ? ModelShares() : offer.sources[i]; };
  if (offer.models.size() == 1 && offer.adaptation) {
    return make_entropy_predictor(offer.models.front(), *offer.adaptation, sources(0));
  }
  if (offer.models.size() == 1) {
    return make_single_model_predictor(offer.models.front(), sources(0));
  }
  std::vector<WeightedPredictor> members;
  for (std::size_t i = 0; i < offer.models.size(); ++i) {
    members.push_back({offer.weights[i], make_single_model_predictor(offer.models[i], sources(i))});
  }
  return make_ensemble_predictor(std::move(members));
}

}  // namespace feroma
