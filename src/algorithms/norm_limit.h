#pragma once

#include <functional>
#include <map>
#include <string>

#include "feroma/core/ids.h"
#include "feroma/core/parallel.h"
#include "feroma/models/message.h"

namespace feroma {

/// The length of what training changed.
[[nodiscard]] double update_norm(const Parameters& sent, const Parameters& uploaded);

/**
 * The clients whose update is longer than `limit` (above 1) times the round's median one, and why they are refused.
 * They are left out rather than shortened: a flipped update that is cut to the limit still points the wrong way, and
 * weighs as much as `limit` honest ones.
 */
[[nodiscard]] std::map<ClientId, std::string> refuse_long_updates(double limit,
                                                                  const std::map<ClientId, Message>& answers,
                                                                  const std::function<ParametersPtr(ClientId)>& sent_to,
                                                                  const Parallel& parallel = in_turn);

}  // namespace feroma
