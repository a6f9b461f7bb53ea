#include "feroma/runtime/client_step.h"

#include "feroma/core/error.h"

namespace feroma {

ClientOutcome take_step(const Algorithm& algorithm, Round round, int task, const Message& received,
                        const ClientSeat& seat, ClientMemory& memory, Trainer& trainer) {
  ClientOutcome outcome;
  outcome.bytes_down = received.bytes();
  ClientContext context{seat.id,  round,   seat.shard.window, seat.shard.train, seat.shard.held_out,  memory.state,
                        seat.rng, trainer, outcome.report,    outcome.seconds,  seat.train_of_window, seat.disclosure};
  if (memory.window != seat.shard.window) {
    memory.window = seat.shard.window;
    algorithm.on_window_change(context);
  }
  const Passes before = trainer.passes();
  try {
    ClientAnswer answer{algorithm.client_step(round, task, context, received), 0};
    answer.bytes_up = answer.message.bytes();
    outcome.answer = std::move(answer);
  } catch (const Error& error) {
    // A client whose data or training went wrong leaves the round; anything else ends the run.
    if (error.code() != ErrorCode::invalid_data) {
      throw;
    }
    // Under a budget the reason stays with the client: it may tell of records.
    outcome.answer = ClientDropped{seat.disclosure == nullptr ? error.what() : "its data or training went wrong"};
  }
  outcome.passes = trainer.passes() - before;
  return outcome;
}

Rng client_stream(const Rng& root, ClientId client, Round round) {
  return root.derive("client", to_index(client), static_cast<std::uint64_t>(round));
}

}  // namespace feroma
