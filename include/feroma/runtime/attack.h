#pragma once

#include <array>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "feroma/core/ids.h"
#include "feroma/core/options.h"
#include "feroma/models/message.h"

namespace feroma {

/// How simulated clients lie.
enum class AttackKind {
  none,
  sign_flip,       ///< models: what was received minus `factor` times what training changed
  scale,           ///< models: what was received plus `factor` times what training changed
  nan,             ///< models: not a number
  forged_profile,  ///< the profile of the lowest-numbered honest client, with a model flipped as by sign_flip
};
constexpr auto enum_names(AttackKind) {
  using enum AttackKind;
  return std::array<std::pair<AttackKind, std::string_view>, 5>{
      {{none, "none"}, {sign_flip, "sign_flip"}, {scale, "scale"}, {nan, "nan"}, {forged_profile, "forged_profile"}}};
}

/// The `[attack]` table: simulated clients that lie, to measure what a method bears. By default nobody does.
struct AttackOptions {
  AttackKind kind = AttackKind::none;
  std::string clients;
  double factor = 10;
  int from_round = 1;

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("kind", self.kind, anything(),
          "how clients lie; forged_profile copies an honest profile and flips the model");
    visit("clients", self.clients, anything(), "numbers of the clients that lie, such as \"0 5 11\"");
    visit("factor", self.factor, above(0), "sign_flip, scale, forged_profile: times what training changed");
    visit("from_round", self.from_round, at_least(1), "the first round in which they lie");
  }
  /// Rules that need the size of the run, and options that would be ignored; `training` is how many clients train.
  void check(int training, int rounds, Problems& problems) const;
};

/// Who lies and how. A pure function of the options, so that a run replays to the same bits.
class Attack {
 public:
  explicit Attack(const AttackOptions& options = {});

  [[nodiscard]] bool lies(ClientId client, Round round) const;
  /// The models of a liar's answer to what it `received`. Each is compared with the received model of its name, or else
  /// with the first of its size; one that has no counterpart is only touched by `nan`.
  void tamper(const Message& received, Message& answer) const;
  /// Gives the liars among `answers` an honest client's profile, where answers have one and an honest client is there.
  void forge(Round round, const std::map<ClientId, Message*>& answers) const;

 private:
  AttackOptions options_;
  std::set<ClientId> liars_;
};

}  // namespace feroma
