#pragma once

#include <optional>
#include <set>

#include "feroma/algorithms/extractor.h"

namespace feroma {

/// What clients summarise their data with, and who has it.
struct Equipment {
  Extractor extractor;
  /// In a round that changes the encoder: what takes the other's place. The present one still tells which models of the
  /// last round are near.
  std::optional<Extractor> next;
  std::set<ClientId> holders;  ///< clients that hold the extractor
  std::set<ClientId> early;    ///< clients that hold this round's encoder, but not its projector yet

  [[nodiscard]] Extractor& newest() { return next ? *next : extractor; }
  /// The encoder alone, for a question that comes before there is a projector.
  [[nodiscard]] Message encoder() const;
  /// What the client does not have.
  [[nodiscard]] Message missing_of(ClientId client) const;
  /// The next extractor takes the other's place; nobody has it until it is said.
  void change();
  /// A client lost everything that it was sent.
  void forget(ClientId client);
};

}  // namespace feroma
