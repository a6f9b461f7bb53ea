// A method that two clients with six samples have played two rounds of, and what a client of it works with.
#pragma once

#include <memory>
#include <string>

#include "feroma/core/settings.h"
#include "feroma/runtime/assigned.h"
#include "feroma/runtime/server_context.h"
#include "fuzz/few_samples.h"
#include "fuzz/tiny_model.h"

namespace feroma::fuzz {

struct Played {
  Experiment experiment;
  ModelSpec model;
  ParametersPtr initial;
  std::unique_ptr<Engine> engine;
  std::unique_ptr<Trainer> trainer;
  FewSamples samples;
  std::unique_ptr<Algorithm> algorithm;

  /// As it is before the first round.
  [[nodiscard]] std::unique_ptr<Algorithm> fresh() const {
    std::unique_ptr<Algorithm> made = experiment.algorithms.front().make();
    ServerContext context = make_server_context(experiment, model, initial, Rng(1));
    context.rounds = experiment.scenario.rounds;
    context.load_model = [first = initial](const std::string&) { return first; };
    prepare(*made, context);
    return made;
  }
};

inline void play_two_rounds(Played& played) {
  std::map<ClientId, Message> memories;
  StageSeconds seconds;
  for (Round round = 1; round <= 2; ++round) {
    for (int phase = 0; phase < played.algorithm->phases(round); ++phase) {
      std::map<ClientId, Message> answers;
      for (const ClientId client : {ClientId{0}, ClientId{1}}) {
        const ClientShard shard = played.samples.shard(round);
        ClientReport report;
        ClientContext context{client, round,           0,      shard.train, shard.held_out, memories[client],
                              Rng(1), *played.trainer, report, seconds};
        context.train_of_window = [&](int window) { return played.samples.train_of_window(window); };
        answers[client] = played.algorithm->client_step(round, played.algorithm->task(round, phase), context,
                                                        played.algorithm->downlink(round, phase, client));
      }
      played.algorithm->uplink(round, phase, answers, seconds);
    }
  }
}

/// The `[[algorithm]]` of a method; profiles have as many coordinates as four values allow.
inline std::string table_of(const std::string& method) {
  const bool has_profiles = method == "feroma" || method == "fedavg-ft";
  return "name = '" + method + "'\n" + (has_profiles ? "profile.dimensions = 2\nwarmup_rounds = 1\n" : "");
}

inline Played play(const std::string& method) {
  Played played;
  played.experiment =
      read_experiment(parse_settings("[scenario]\nseed = 1\nrounds = 3\nclients = 2\n"
                                     "[training]\nlocal_epochs = 1\nbatch_size = 2\n[[algorithm]]\n" +
                                         table_of(method),
                                     "fuzz"));
  played.model = tiny_spec();
  played.initial = tiny_model();
  played.engine = visitor_engine(played.experiment, played.model);
  played.trainer = std::make_unique<Trainer>(*played.engine);
  played.algorithm = played.fresh();
  play_two_rounds(played);
  return played;
}

}  // namespace feroma::fuzz
