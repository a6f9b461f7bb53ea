#include "feroma/runtime/client_pool.h"

#include <algorithm>
#include <vector>

#include "feroma/core/error.h"

namespace feroma {
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
  StageSeconds seconds;
  ClientShard shard;
  {
    const StageTimer timer(seconds, Stage::data);
    // Rounds past the schedule run on the last round's data.
    shard = federation_.shard(client, std::min(round, federation_.options().rounds));
  }
  const auto train_of_window = [this, client, reached = shard.window](int window) {
    require(window <= reached, ErrorCode::internal, "[client] a window must have been reached ({}), got {}", reached,
            window);
    return federation_.shard(client, federation_.schedule().first_round(window)).train;
  };
  const ClientSeat seat{client, client_stream(rng_, client, round), shard, train_of_window, task.disclosure};
  const Message received = algorithm.downlink(round, phase, client);
  *task.outcome = take_step(algorithm, round, algorithm.task(round, phase), received, seat, *task.memory, trainer);
  task.outcome->seconds += seconds;
  auto* answer = std::get_if<ClientAnswer>(&task.outcome->answer);
  if (answer != nullptr && attack_.lies(client, round)) {
    attack_.tamper(received, answer->message);
    answer->bytes_up = answer->message.bytes();
  }
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
    ClientMemory& memory = memories_[client];
    memory.window = in.in().get<std::int32_t>();
    memory.state = in.get_message();
  }
}

}  // namespace feroma
