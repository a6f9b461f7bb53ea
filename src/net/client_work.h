#pragma once

#include <memory>

#include "feroma/client/trainer.h"
#include "feroma/privacy/disclosure.h"
#include "feroma/runtime/experiment.h"
#include "net/session.h"

namespace feroma::net {

/// A client's own copy of what a federation works with, made from the server's config.
struct ClientWork {
  Experiment experiment;
  ModelSpec model;
  Rng rng{0};
  ParametersPtr initial;
  std::unique_ptr<Algorithm> algorithm;
  std::unique_ptr<Engine> engine;
  std::unique_ptr<Trainer> trainer;

  /// Bytes of what the server may send at once.
  [[nodiscard]] std::uint64_t largest_task() const;
};

/// What a client's samples are like.
struct SampleKind {
  SampleShape shape;
  int classes = 0;  ///< 0: it does not know
  bool multi_label = false;
};

/// How the federation calls a table's columns, in order; none where it does not say.
[[nodiscard]] std::vector<std::string> columns_in(const v1::Welcome& welcome);
/// The ledger of a client with this state folder: one that it names itself counts what it tells to all its federations.
[[nodiscard]] LedgerPlace ledger_place(const PrivacyOptions& privacy, const std::filesystem::path& state,
                                       const std::filesystem::path& witness);
/// What the server knows to have been released; of a visitor, of the data that it calls so.
[[nodiscard]] ReleaseCounts known_to(const v1::Welcome& welcome, const std::string& data);
/// Says with an answer how often the federation was told, where it was.
void say_released(const Disclosure& disclosure, const std::string& data, v1::Answer& head);

/// Reads the server's config and makes what the work needs. `privacy` is the least that the client asks for; what
/// cannot be agreed to is an error.
[[nodiscard]] ClientWork make_client_work(const v1::Welcome& welcome, const SampleKind& samples,
                                          const PrivacyOptions& privacy);

}  // namespace feroma::net
