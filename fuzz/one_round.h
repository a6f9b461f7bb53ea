// A server's round of federated averaging with one client, whatever that client says.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>

#include "feroma/algorithms/registry.h"
#include "feroma/core/settings.h"
#include "feroma/runtime/server_context.h"
#include "fuzz/guard.h"
#include "fuzz/tiny_model.h"
#include "net/hub.h"

namespace feroma::fuzz {

inline std::unique_ptr<Algorithm> fedavg() {
  Problems problems;
  SettingsReader reader(parse_settings("[[algorithm]]\nname = 'fedavg'", "fuzz"), problems);
  std::unique_ptr<Algorithm> algorithm = plan_algorithm(reader, "algorithm.0", problems).make();
  ServerContext context;
  context.model = tiny_spec();
  context.initial = tiny_model();
  context.rounds = 3;
  prepare(*algorithm, context);
  return algorithm;
}

inline ServerOptions one_answer_suffices() {
  ServerOptions options;
  options.min_answers = 1;
  return options;
}

inline bool is_finite(const ClientOutcome& outcome) {
  const auto* answer = std::get_if<ClientAnswer>(&outcome.answer);
  return answer == nullptr || std::ranges::all_of(answer->message.model("model")->values(),
                                                  [](float value) { return std::isfinite(value); });
}

/// Ends when the client has answered or the server stops.
inline void run_one_round(net::Hub& hub) {
  static const std::unique_ptr<Algorithm> algorithm = fedavg();
  try {
    const std::array asked{ClientId{0}};
    for (const auto& [client, outcome] : hub.exchange(*algorithm, 1, 0, asked)) {
      expect(is_finite(outcome), "what counts is finite");
    }
  } catch (const Error&) {
    // nobody answered
  }
}

}  // namespace feroma::fuzz
