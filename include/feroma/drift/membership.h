#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "feroma/core/ids.h"
#include "feroma/core/options.h"
#include "feroma/core/rng.h"

namespace feroma {

/// The `[membership]` table of a config file: who is part of the federation when. By default everybody always is.
struct MembershipOptions {
  int initial = 0;            ///< clients in the first round; 0: all
  int test_only = 0;          ///< the last so many clients never train, they are only served
  double arrival_rate = 0;    ///< chance per round that a client which was never there arrives
  double departure_rate = 0;  ///< chance per round that a client leaves
  double return_rate = 0;     ///< chance per round that a client which left comes back
  std::string events;         ///< "3:+12+13 5:-0": what happens for certain at the start of a round

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("initial", self.initial, at_least(0), "clients in the first round, the first ones; 0 is all");
    visit("test_only", self.test_only, at_least(0), "clients that never train and are only served, the last ones");
    visit("arrival_rate", self.arrival_rate, between(0, 1), "chance per round that a new client arrives");
    visit("departure_rate", self.departure_rate, between(0, 1), "chance per round that a client leaves");
    visit("return_rate", self.return_rate, between(0, 1), "chance per round that a client which left comes back");
    visit("events", self.events, anything(), "arrivals and departures by round and client, such as \"3:+12+13 5:-0\"");
  }
  /// Rules that need the scenario's size; reports every problem.
  void check(int clients, int rounds, Problems& problems) const;
  /// Whether everybody who trains is there in every round.
  [[nodiscard]] bool constant() const;
};

/// Who is there in which round; a pure function of options, sizes and seed, so that a run replays to the same bits.
class Membership {
 public:
  Membership(const MembershipOptions& options, int clients, int rounds, const Rng& rng);

  /// The clients that are there, in order; never empty. Rounds past the last one are like it.
  [[nodiscard]] std::vector<ClientId> present(Round round) const;
  /// The first round in which the client is there; 0 where it never is.
  [[nodiscard]] Round first_round(ClientId client) const;
  /// Arrivals and departures after the first round.
  [[nodiscard]] int changes() const;

 private:
  std::size_t training_clients_;
  std::vector<std::vector<bool>> present_;  ///< [round - 1][client]; empty where everybody always is
};

/// The share of those `present` who take part in a round, in their order; at least one where anybody is there. A pure
/// function of its arguments, so that the simulator and a server draw the same clients.
[[nodiscard]] std::vector<ClientId> draw_participants(std::span<const ClientId> present, double participation,
                                                      const Rng& rng, Round round);

}  // namespace feroma
