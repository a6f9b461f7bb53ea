#include "feroma/evaluation/visit.h"

#include <algorithm>
#include <numeric>

#include "feroma/core/error.h"
#include "feroma/evaluation/serve.h"
#include "feroma/mapping/kernel.h"

namespace feroma {
namespace {

Offer offer_of_clusters(const ClusterView& view, const VisitorWish& wish) {
  std::vector<double> shares = expected_shares(view);
  if (shares.empty()) {
    shares.assign(view.models.size(), 1.0 / static_cast<double>(view.models.size()));
  }
  // A cluster may be one client, and there is no mixture of them that could be sent instead.
  require(wish.candidates > 0 || view.models.size() == 1, ErrorCode::unsupported,
          "this method has {} cluster models for a client that takes no part in training and no mixture of them; "
          "candidates = 0 keeps them on the server",
          view.models.size());
  if (!wish.few_labels) {
    return {Choice::as_offered, view.models, std::move(shares)};
  }
  std::vector<std::size_t> order(view.models.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) { return shares[a] > shares[b]; });
  order.resize(std::min(order.size(), static_cast<std::size_t>(wish.candidates)));
  Offer offer{Choice::by_labels, {}, {}};
  for (const std::size_t i : order) {
    offer.models.push_back(view.models[i]);
  }
  return offer;
}

}  // namespace

Offer offer_to_visitor(const Algorithm& algorithm, const Message& told, const VisitorWish& wish) {
  if (std::optional<Offer> own = algorithm.offer(told, wish)) {
    return std::move(*own);
  }
  const std::optional<ClusterView> view = algorithm.clusters();
  if (view && !view->models.empty()) {
    return offer_of_clusters(*view, wish);
  }
  const std::vector<ServedModel> served = algorithm.served();
  require(served.size() == 1 && !served.front().client, ErrorCode::unsupported,
          "this method has no model for clients that take no part in training");
  return {Choice::as_offered, {served.front().model}, {1.0}};
}

namespace {

/// The models, chosen where they had to be.
Offer chosen(const Algorithm& algorithm, const Offer& offer, TestContext& context) {
  if (std::optional<Offer> own = algorithm.settle(offer, context)) {
    return std::move(*own);
  }
  if (offer.choice == Choice::as_offered) {
    return offer;
  }
  require(offer.choice == Choice::by_labels && context.few_labels != nullptr && context.few_labels->size() > 0,
          ErrorCode::invalid_data, "[visit] a choice needs labelled samples");
  std::vector<double> losses;
  for (const Tally& tally : context.trainer.evaluate(offer.models, *context.few_labels)) {
    losses.push_back(tally.loss());
  }
  return {Choice::as_offered, offer.models, softmax_weights(losses, kLossTemperature), offer.sources};
}

}  // namespace

Offer settle_as_visitor(const Algorithm& algorithm, const Offer& offer, TestContext& context) {
  Offer settled = chosen(algorithm, offer, context);
  settled.adaptation = offer.adaptation;
  return settled;
}

}  // namespace feroma
