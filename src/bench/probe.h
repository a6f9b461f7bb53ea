#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "bench/cell.h"
#include "feroma/algorithms/extractor.h"

namespace feroma::detail {

/// Data that one client has for some rounds; a cached profile belongs to one of these.
struct DataVersion {
  ClientId client{};
  int window = 0;
  int distribution = 0;       ///< true id; the same for ids that mean the same
  std::vector<Round> rounds;  ///< those from the first profile on
};

/**
 * A run up to its first profiles. From then on encoder and projector do not change, so that every profile of the rounds
 * to come follows from the data alone and can be made here without training; they are those that clients would send.
 */
class Probe {
 public:
  /// Plays the warm-up of preset `preset` and one round more.
  Probe(std::string_view preset, const std::vector<std::string>& overrides, int threads);
  Probe(const Probe&) = delete;  // the loop borrows the cell
  Probe& operator=(const Probe&) = delete;

  [[nodiscard]] Cell& cell() { return cell_; }
  [[nodiscard]] const FeromaOptions& options() const { return options_; }
  [[nodiscard]] const FitOptions& fit() const { return experiment_.training.fit; }
  [[nodiscard]] const Extractor& extractor() const { return extractor_; }
  [[nodiscard]] ProfileShape shape() const { return profile_shape(options_, cell_.model()); }
  [[nodiscard]] Round first_round() const { return options_.warmup_rounds + 1; }
  /// By client, then by time.
  [[nodiscard]] const std::vector<DataVersion>& versions() const { return versions_; }

  /// The samples that a client's profile of a round summarises, as the encoder sees them.
  [[nodiscard]] EncodedSamples profiled_samples(const DataVersion& version, Round round, Trainer& trainer) const;
  /// All that the client has, as `encoder` sees it; null: as they are.
  [[nodiscard]] EncodedSamples all_samples(const DataVersion& version, const ParametersPtr& encoder,
                                           Trainer& trainer) const;
  /// What a client of the run would send in that round for these samples.
  [[nodiscard]] Profile profile_of(const DataVersion& version, Round round, const EncodedSamples& samples) const;

  /// What the client did send in the first profile round.
  [[nodiscard]] Profile sent_profile(ClientId client) const;
  /// Plays what is left of the run and returns the whole run's seconds.
  [[nodiscard]] StageSeconds finish();

 private:
  [[nodiscard]] Rng client_rng(ClientId client, Round round) const;

  FeromaOptions options_;
  Experiment experiment_;
  Cell cell_;
  RoundLoop loop_;
  Extractor extractor_;
  std::vector<DataVersion> versions_;
};

}  // namespace feroma::detail
