#include "feroma/runtime/exchange.h"

#include "feroma/core/error.h"
#include "feroma/core/fault_point.h"
#include "feroma/core/log.h"
#include "runtime/answer_lengths.h"

namespace feroma {
namespace {

/// Turns an answer that the algorithm does not accept into that of a client that dropped out.
void refuse_unbelievable(const Algorithm& algorithm, Round round, int phase, ClientId client, ClientOutcome& outcome) {
  const auto* answer = std::get_if<ClientAnswer>(&outcome.answer);
  if (answer == nullptr) {
    return;
  }
  try {
    algorithm.check_answer(round, phase, client, answer->message);
  } catch (const Error& error) {
    // As for clients that fail by themselves: what is wrong with the data leaves the round, our own mistakes end it.
    if (error.code() != ErrorCode::invalid_data) {
      throw;
    }
    outcome.answer = ClientDropped{error.what()};
  }
}

/// Answers that cannot be believed beside the others'.
std::map<ClientId, std::string> refusals_of(const Algorithm& algorithm, Round round, int phase,
                                            const std::map<ClientId, Message>& answers, const std::string& label,
                                            double update_limit) {
  std::map<ClientId, std::string> refused = algorithm.refusals(round, phase, answers);
  if (update_limit <= 0) {
    return refused;
  }
  AnswerLengths lengths;
  for (const auto& [client, answer] : answers) {
    lengths.add(client, algorithm.downlink(round, phase, client), answer);
  }
  refused.merge(lengths.refusals(label, update_limit));
  return refused;
}

}  // namespace

Exchanged exchange_phases(Algorithm& algorithm, ClientPool& pool, Round round, std::vector<ClientId> participants,
                          const std::string& label, double update_limit) {
  Exchanged total;
  std::string reason;
  const auto drop = [&](ClientId client, const std::string& why) {
    reason = why;
    log::write(log::Severity::warning,
               fmt::format("{}: round {}: client {} dropped out: {}", label, round, pool.called(client), why),
               {{"client", to_index(client)}, {"round", round}, {"why", why}, {"algorithm", label}});
    total.dropped.push_back({to_index(client), why});
    total.reports.erase(client);
  };
  const int phases = algorithm.phases(round);
  for (int phase = 0; phase < phases; ++phase) {
    auto outcomes = pool.exchange(algorithm, round, phase, participants);
    fault_point("round.phase_answered");
    std::map<ClientId, Message> answers;
    participants.clear();
    for (auto& [client, outcome] : outcomes) {
      total.bytes_down += outcome.bytes_down;
      total.bytes[client].down += outcome.bytes_down;
      total.stages += outcome.seconds;
      refuse_unbelievable(algorithm, round, phase, client, outcome);
      if (auto* answer = std::get_if<ClientAnswer>(&outcome.answer)) {
        total.bytes_up += answer->bytes_up;
        total.bytes[client].up += answer->bytes_up;
        answers[client] = std::move(answer->message);
        participants.push_back(client);
        total.reports[client] = outcome.report;
        total.passes += outcome.passes;
      } else {
        drop(client, std::get<ClientDropped>(outcome.answer).reason);
      }
    }
    for (const auto& [client, why] : refusals_of(algorithm, round, phase, answers, label, update_limit)) {
      pool.refused_beside_others();
      drop(client, why);
      answers.erase(client);
      std::erase(participants, client);
    }
    require(!answers.empty(), ErrorCode::invalid_data, "{}: round {}: every client dropped out; the last one: {}",
            label, round, reason);
    for (const auto& [client, answer] : answers) {
      total.counted[client] = phase + 1;
    }
    algorithm.uplink(round, phase, answers, total.stages);
    fault_point("round.phase_done");
  }
  return total;
}

}  // namespace feroma
