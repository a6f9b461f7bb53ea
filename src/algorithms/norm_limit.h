#pragma once

#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>

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

/// How far a client went from the model that it was sent. Models themselves are not kept: a server has many.
struct Update {
  ClientId client;
  double length = 0;  ///< of what training changed
  double model = 0;   ///< of the model that was sent
};
[[nodiscard]] Update measure_update(ClientId client, const Parameters& sent, const Parameters& answered);

/**
 * The clients whose update is longer than `limit` times the round's median one, and longer than the model that they
 * were sent, and why they are refused; `method` names the algorithm. Honest clients whose data have just changed go far
 * beyond the median late in a run, when the others' updates are short, but no training replaces a model many times
 * over.
 */
[[nodiscard]] std::map<ClientId, std::string> refuse_absurd_updates(std::string_view method, double limit,
                                                                    std::span<const Update> updates);

/**
 * The clients whose number is more than `limit` times as large as the median one, and why they are refused: `what` is
 * the number's name. Of what is merged by its extremes one client would decide for all.
 */
[[nodiscard]] std::map<ClientId, std::string> refuse_far_numbers(std::string_view what, double limit,
                                                                 const std::map<ClientId, double>& sizes);

}  // namespace feroma
