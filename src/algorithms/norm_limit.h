#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "feroma/core/ids.h"
#include "feroma/core/parallel.h"
#include "feroma/models/message.h"

namespace feroma {

/// The length of what training changed, and of a model; counters of steps are left out.
[[nodiscard]] double update_norm(const Parameters& sent, const Parameters& uploaded);
[[nodiscard]] double model_norm(const Parameters& model);

/**
 * The clients whose update is longer than `limit` (above 1) times the round's median one, and why they are refused.
 * They are left out rather than shortened: a flipped update that is cut to the limit still points the wrong way, and
 * weighs as much as `limit` honest ones.
 */
[[nodiscard]] std::map<ClientId, std::string> refuse_long_updates(double limit,
                                                                  const std::map<ClientId, Message>& answers,
                                                                  const std::function<ParametersPtr(ClientId)>& sent_to,
                                                                  const Parallel& parallel = in_turn);

/**
 * The clients whose number is more than `limit` times as large as the median of those above 0, and why they are
 * refused: `what` is the number's name. Of what is merged by its extremes one client would decide for all.
 */
[[nodiscard]] std::map<ClientId, std::string> refuse_far_numbers(std::string_view what, double limit,
                                                                 const std::map<ClientId, double>& sizes);

}  // namespace feroma
