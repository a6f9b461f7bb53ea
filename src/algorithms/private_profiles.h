#pragma once

#include <functional>
#include <map>
#include <optional>
#include <vector>

#include "feroma/algorithms/answers.h"
#include "feroma/algorithms/extractor.h"
#include "feroma/privacy/disclosure.h"

namespace feroma {

/// The options under which profiles can be private: exact bounds, sub-samples and placeholders for missing classes tell
/// of single records. What cannot be so is an `unsupported` error.
[[nodiscard]] FeromaOptions private_form(FeromaOptions options, const PrivacyOptions& privacy);

/**
 * Profiles that leave a client as noisy sums, and what the server makes of them: profiles in the units of the projected
 * latents, each coordinate with the variance of its noise. Bounds belong to an epoch; sums are read with those of
 * theirs, so profiles of all epochs compare.
 */
class PrivateProfiles {
 public:
  /// `width` latents become `shape.conditional` coordinates.
  PrivateProfiles(const PrivacyOptions& options, const ProfileShape& shape, int width, bool multi_label);

  /// Whether clients tell the bounds before the first profiles.
  [[nodiscard]] bool asks_for_norms() const { return options_.bounds == BoundsRule::histogram; }
  /// The bounds in use, for clients.
  [[nodiscard]] Message bounds_message() const;

  // ---- Client side ----
  using Projected = std::function<EncodedSamples()>;  ///< rows are projected latents
  [[nodiscard]] static Message tell_norms(Disclosure* disclosure, int version, const Rows& projected);
  /// The client's sums: those it sent of this data version before, or new ones. `memory` is the client's own.
  [[nodiscard]] Message tell_profile(Disclosure* disclosure, Message& memory, int version,
                                     const Projected& projected) const;
  /// The sums of a client that knows no labels, within the bounds of a `bounds_message`.
  [[nodiscard]] Message tell_unlabelled(Disclosure* disclosure, const Message& bounds, const Rows& projected) const;

  // ---- Server side ----
  static void check_norms(const Answer& answer);
  void check_profile(const Answer& answer) const;
  /// What a client without labels told; its budget may be spent. Anything else is an invalid_data error.
  [[nodiscard]] std::optional<Profile> read_unlabelled(const Message& told) const;
  void take_norms(const std::map<ClientId, Message>& answers);
  /// Fixes by the first profiles what later ones are read with, and moves the bounds once.
  void learn(const std::map<ClientId, Message>& answers);
  /// The profile of what the client tells; the last one where its budget is spent, nothing where there never was one.
  /// With jitter, sums that were read before give another profile each time, moved by as much as its noise, which then
  /// counts twice.
  [[nodiscard]] std::optional<Profile> read(ClientId client, const Message& answer, const Rng& rng);

  void save(ArchiveWriter& out) const;
  void load(ArchiveReader& in);

 private:
  struct Told {
    Ints sums;
    std::size_t epoch = 0;
  };
  [[nodiscard]] Profile profile_of(const SumShape& sums, std::size_t epoch,
                                   std::span<const std::int64_t> released) const;

  PrivacyOptions options_;
  ProfileShape shape_;
  SumShape labelled_;
  SumShape unlabelled_;
  std::vector<ClipBounds> bounds_;  ///< of every epoch
  std::vector<double> reference_;   ///< a spread per coordinate; empty before the first profiles
  std::map<ClientId, Told> last_;   ///< what every client told last
};

}  // namespace feroma
