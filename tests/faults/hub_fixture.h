#pragma once

#include <thread>

#include "feroma/net/codec.h"
#include "feroma/runtime/experiment.h"
#include "tests/clocks.h"
#include "tests/faults/probe.h"
#include "tests/toy_engine.h"

namespace feroma::faults {

/// A hub of FedAvg over a model of a few numbers, with one exchange at a time in a thread of its own. Its clock stands
/// still: whoever waits in vain waits for ever.
class HubTest : public ::testing::Test {
 protected:
  HubTest() {
    options.clock = &clock;
    options.round_seconds = 600;
    options.min_answers = 1;
    Problems problems;
    SettingsReader reader(parse_settings("[[algorithm]]\nname = 'fedavg'", "test"), problems);
    algorithm = plan_algorithm(reader, "algorithm.0", problems).make();
    ServerContext context;
    context.model = test::toy_model({1, 1, 2}, 2);
    context.initial = initial = share(initialise(context.model, Rng(1)));
    context.rounds = 1000;
    prepare(*algorithm, context);
    hub = start_hub();
  }
  ~HubTest() override { stop.request(); }

  std::unique_ptr<Hub> start_hub(Hub::Past past = {}) const {
    return std::make_unique<Hub>(Hub::Job{"job", "", initial->shared_layout(), true, kClients}, options,
                                 std::move(past), stop, &drain);
  }
  /// Begins a round with the first clients.
  void begin(Round round, std::uint32_t clients) {
    exchange = std::jthread([this, round, clients] {
      std::vector<ClientId> asked;
      for (std::uint32_t id = 0; id < clients; ++id) {
        asked.push_back(static_cast<ClientId>(id));
      }
      try {
        outcomes = hub->exchange(*algorithm, round, 0, asked);
      } catch (const Error& error) {
        failure = error.what();
      }
    });
  }
  Message message(float value) const {
    Parameters model = initial->clone();
    model.values()[0] = value;
    return {{{"model", share(std::move(model))}, {"num_examples", Ints{7}}}};
  }
  Bytes update(float value) const { return encode_message(message(value), initial->layout()); }
  /// What counted of a client, as bytes; empty where it dropped out.
  Bytes counted_of(std::uint32_t client) const {
    const auto* answer = std::get_if<ClientAnswer>(&outcomes.at(static_cast<ClientId>(client)).answer);
    return answer == nullptr ? Bytes() : encode_message(answer->message, initial->layout());
  }
  std::uint64_t counted(v1::Reason reason) const { return hub->traffic().verdicts[reason]; }
  /// Everything that the hub judged or refused.
  std::uint64_t counted() const {
    std::uint64_t total = 0;
    for (const auto& [reason, count] : hub->traffic().verdicts) {
      total += count;
    }
    return total;
  }

  static constexpr std::uint32_t kClients = 4;
  test::FakeClock clock;
  ServerOptions options;
  std::unique_ptr<Algorithm> algorithm;
  ParametersPtr initial;
  Stop stop;
  Stop drain;
  std::unique_ptr<Hub> hub;
  std::map<ClientId, ClientOutcome> outcomes;
  std::string failure;
  std::jthread exchange;
};

}  // namespace feroma::faults
