#include "feroma/runtime/client_pool.h"

#include <algorithm>
#include <vector>

#include "feroma/core/error.h"

namespace feroma {
namespace {

Round first_round(const Schedule& schedule, int window) {
  const std::vector<int>& stages = schedule.stage_of_round;
  const auto found = std::find(stages.begin() + 1, stages.end(), window);
  require(found != stages.end(), ErrorCode::internal, "[client] no round has window {}", window);
  return static_cast<Round>(found - stages.begin());
}

}  // namespace

SimulatedPool::SimulatedPool(const Federation& federation, Workers& workers, const Rng& rng,
                             const std::atomic<bool>& stop, std::optional<std::uint64_t> task_order_seed,
                             const AttackOptions& attack, Disclosures* disclosures)
    : federation_(federation),
      workers_(workers),
      rng_(rng),
      stop_(stop),
      task_order_seed_(task_order_seed),
      attack_(attack),
      disclosures_(disclosures) {}

std::map<ClientId, ClientOutcome> SimulatedPool::exchange(const Algorithm& algorithm, Round round, int phase,
                                                          std::span<const ClientId> participants) {
  std::map<ClientId, ClientOutcome> outcomes;
  // Map entries are made before the workers start, so that each worker only touches its own client's.
  std::vector<Task> tasks;
  for (const ClientId client : participants) {
    tasks.push_back({client, &memories_[client], &outcomes[client],
                     disclosures_ == nullptr ? nullptr : &disclosures_->training(client)});
  }
  if (task_order_seed_) {
    Rng(*task_order_seed_).derive("task_order", static_cast<std::uint64_t>(round)).shuffle(std::span(tasks));
  }
  workers_.run(
      tasks.size(), [&](std::size_t i, Trainer& trainer) { one_client(algorithm, round, phase, tasks[i], trainer); },
      stop_);
  forge_profiles(round, outcomes);
  return outcomes;
}

void SimulatedPool::forge_profiles(Round round, std::map<ClientId, ClientOutcome>& outcomes) const {
  std::map<ClientId, Message*> answers;
  for (auto& [client, outcome] : outcomes) {
    if (auto* answer = std::get_if<ClientAnswer>(&outcome.answer)) {
      answers[client] = &answer->message;
    }
  }
  attack_.forge(round, answers);
}

void SimulatedPool::one_client(const Algorithm& algorithm, Round round, int phase, const Task& task,
                               Trainer& trainer) const {
  const ClientId client = task.client;
  Memory& memory = *task.memory;
  ClientOutcome& outcome = *task.outcome;
  ClientShard shard;
  {
    const StageTimer timer(outcome.seconds, Stage::data);
    // Rounds past the schedule run on the last round's data.
    shard = federation_.shard(client, std::min(round, federation_.options().rounds));
  }
  const Message received = algorithm.downlink(round, phase, client);
  outcome.bytes_down = received.bytes();
  ClientContext context{client,
                        round,
                        shard.window,
                        shard.train,
                        shard.held_out,
                        memory.state,
                        rng_.derive("client", to_index(client), static_cast<std::uint64_t>(round)),
                        trainer,
                        outcome.report,
                        outcome.seconds,
                        [this, client, reached = shard.window](int window) {
                          require(window <= reached, ErrorCode::internal,
                                  "[client] a window must have been reached ({}), got {}", reached, window);
                          return federation_.shard(client, first_round(federation_.schedule(), window)).train;
                        },
                        task.disclosure};
  if (memory.window != shard.window) {
    memory.window = shard.window;
    algorithm.on_window_change(context);
  }
  const Passes before = trainer.passes();
  try {
    ClientAnswer answer{algorithm.client_step(round, phase, context, received), 0};
    if (attack_.lies(client, round)) {
      attack_.tamper(received, answer.message);
    }
    answer.bytes_up = answer.message.bytes();
    outcome.answer = std::move(answer);
  } catch (const Error& error) {
    // A client whose data or training went wrong leaves the round; anything else ends the run.
    if (error.code() != ErrorCode::invalid_data) {
      throw;
    }
    // Under a budget the reason stays with the client: it may tell of records.
    outcome.answer = ClientDropped{disclosures_ == nullptr ? error.what() : "its data or training went wrong"};
  }
  outcome.passes = {trainer.passes().forward - before.forward, trainer.passes().backward - before.backward};
}

Memories SimulatedPool::memories(std::span<const ClientId> clients) const {
  Memories memories;
  for (const ClientId client : clients) {
    const auto found = memories_.find(client);
    if (found != memories_.end()) {
      memories[client] = &found->second.state;
    }
  }
  return memories;
}

void SimulatedPool::save(ModelWriter& out) const {
  out.out().put<std::uint64_t>(memories_.size());
  for (const auto& [client, memory] : memories_) {
    out.out().put(client);
    out.out().put<std::int32_t>(memory.window);
    out.put(memory.state);
  }
}

void SimulatedPool::load(ModelReader& in) {
  memories_.clear();
  const auto count = in.in().get<std::uint64_t>();
  for (std::uint64_t i = 0; i < count; ++i) {
    const auto client = in.in().get<ClientId>();
    Memory& memory = memories_[client];
    memory.window = in.in().get<std::int32_t>();
    memory.state = in.get_message();
  }
}

}  // namespace feroma
