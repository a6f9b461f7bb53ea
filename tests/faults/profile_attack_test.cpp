// F15: clients that lie about their data, so as to be mixed into models that are not theirs to touch.
#include <limits>
#include <set>

#include "feroma/core/npy.h"
#include "tests/faults/tampering_link.h"
#include "tests/faults/tiny_federation.h"

namespace feroma::faults {
namespace {

constexpr std::uint32_t kAttackedClients = 8;
constexpr std::uint32_t kLiar = 2;
constexpr int kRounds = 5;
constexpr int kLieFrom = 4;
constexpr const char* kAuto = "name = 'feroma'\nwarmup_rounds = 2\nprofile.dimensions = 6";
// Weights that depend on a receiver's own distances alone, so steep that most are zero, and no momentum of the nearest
// client's.
constexpr const char* kByRow =
    "name = 'feroma'\nwarmup_rounds = 2\nserver_momentum = 0.0\nprofile.dimensions = 6\nmapping.global_share = 0.0\n"
    "mapping.metric = 'euclidean'\nmapping.kernel = 'softmax'\nmapping.temperature = 0.005";

/// What each client was sent to train with, by round.
using Starts = std::map<std::pair<Round, std::uint32_t>, std::string>;

class ProfileAttack : public TinyFederation {
 protected:
  ProfileAttack() { rows = 36; }

  /// Plays a federation in which client 2 does something to its profiles from round 4 on.
  RoundRecord attack(const FederationPlan& todo, const TamperingLink::Tamper& tamper) {
    const auto layout = make_layout(todo.experiment.model(todo.input, todo.classes));
    return play(todo, first(kAttackedClients), [&](Hub& hub, std::uint32_t id, int) {
      return std::make_unique<TamperingLink>(
          hub, id, layout, [&, id](const TamperingLink::Subject& subject, const Message& received, Message& answer) {
            if (answer.has("model")) {
              const std::lock_guard lock(mutex);
              starts[{subject.round, id}] =
                  net::digest_of(encode_message({{{"model", received.model("model")}}}, *layout));
            } else if (id == kLiar && subject.round >= kLieFrom) {
              tamper(subject, received, answer);
            } else if (id == 1 && answer.has("profile")) {
              const std::lock_guard lock(mutex);
              other = answer.floats("profile");
            }
          });
    });
  }
  /// The weights with which each client's model of a round was mixed, receivers by sources.
  static NpyArray mixing(const FederationPlan& todo, int round) {
    return read_npy(todo.state / "mixing" / fmt::format("{}-{}.npy", todo.experiment.algorithms.front().label, round));
  }
  static double weight(const NpyArray& matrix, std::uint32_t receiver, std::uint32_t source) {
    return matrix.as<float>()[receiver * kAttackedClients + source];
  }

  /// Honest and attacked, the same federation; the starts of the first are in `before`, those of the second in
  /// `starts`.
  void play_both(const std::string& name, const char* algorithm, const TamperingLink::Tamper& tamper) {
    honest = plan(kAttackedClients, kRounds, algorithm, name + "-honest");
    static_cast<void>(attack(honest, [](const auto&, const Message&, Message&) {}));
    before = std::exchange(starts, {});
    attacked = plan(kAttackedClients, kRounds, algorithm, name);
    static_cast<void>(attack(attacked, tamper));
  }

  /// Others whose mixture has nothing of the liar's model must train with what they would have had.
  void expect_own_neighbourhood_only(const std::string& name, const TamperingLink::Tamper& tamper) {
    play_both(name, kByRow, tamper);
    int unconcerned = 0;
    std::set<std::uint32_t> reached{kLiar};
    for (int round = kLieFrom; round <= kRounds; ++round) {
      const NpyArray with = mixing(attacked, round);
      const NpyArray without = mixing(honest, round);
      std::set<std::uint32_t> now = reached;
      for (std::uint32_t client = 0; client < kAttackedClients; ++client) {
        const bool concerned = std::any_of(reached.begin(), reached.end(), [&](std::uint32_t source) {
          return weight(with, client, source) != 0 || weight(without, client, source) != 0;
        });
        if (client == kLiar || concerned) {
          now.insert(client);
          continue;
        }
        unconcerned += 1;
        const bool same = starts[{round, client}] == before.at({round, client});
        EXPECT_TRUE(same) << name << ": client " << client
                          << " takes nothing of the liar, but has another model in round " << round;
      }
      reached = std::move(now);
    }
    EXPECT_GT(unconcerned, 0) << name << ": everybody takes from everybody, nothing is tested";
  }

  /// By how much the lie moved the weight that clients of the other kind give to their own kind, at most.
  double moved_weight() const {
    double most = 0;
    for (int round = kLieFrom; round <= kRounds; ++round) {
      const NpyArray with = mixing(attacked, round);
      const NpyArray without = mixing(honest, round);
      for (std::uint32_t client = 1; client < kAttackedClients; client += 2) {
        double moved = 0;
        for (std::uint32_t source = 1; source < kAttackedClients; source += 2) {
          moved += weight(with, client, source) - weight(without, client, source);
        }
        most = std::max(most, std::abs(moved));
      }
    }
    return most;
  }

  std::mutex mutex;
  FederationPlan honest;
  FederationPlan attacked;
  Starts before;
  Starts starts;
  Floats other;  ///< the profile of client 1
};

void stretch(Message& answer) {
  Floats profile = answer.floats("profile");
  for (float& value : profile) {
    value *= 1e6F;
  }
  answer.values["profile"] = profile;
}

TEST_F(ProfileAttack, AProfileFarOutsideReachesNobodyElse) {
  expect_own_neighbourhood_only("far", [](const auto&, const Message&, Message& answer) { stretch(answer); });
}

TEST_F(ProfileAttack, ACopiedProfileReachesThoseItWasCopiedFromOnly) {
  expect_own_neighbourhood_only("copied", [this](const auto&, const Message&, Message& answer) {
    const std::lock_guard lock(mutex);
    answer.values["profile"] = other;
  });
}

// Preset auto measures its kernel's width and the noise of profiles over all clients, and momentum follows the nearest
// client: there a lie moves everybody's models, and what is held is how far their weights move.
TEST_F(ProfileAttack, OthersWeightsHardlyMove) {
  play_both("auto-far", kAuto, [](const auto&, const Message&, Message& answer) { stretch(answer); });
  EXPECT_LT(moved_weight(), 0.1) << "a profile far outside";
  starts.clear();
  play_both("auto-copied", kAuto, [this](const auto&, const Message&, Message& answer) {
    const std::lock_guard lock(mutex);
    answer.values["profile"] = other;
  });
  EXPECT_LT(moved_weight(), 0.5) << "a copied profile";
}

TEST_F(ProfileAttack, WhatIsNoProfileIsRefusedByName) {
  const std::vector<std::pair<std::string, std::function<void(Message&)>>> lies{
      {"nan",
       [](Message& answer) {
         answer.values["profile"] = Floats(answer.floats("profile").size(), std::numeric_limits<float>::quiet_NaN());
       }},
      {"short",
       [](Message& answer) {
         answer.values["profile"] = Floats{1, 2, 3};
       }},
      {"negative count", [](Message& answer) { answer.values["num_samples"] = Ints{-5}; }},
      {"of another kind", [](Message& answer) { answer.values["profile"] = Ints{1}; }},
  };
  for (const auto& [name, lie] : lies) {
    const RoundRecord last = attack(plan(kAttackedClients, kRounds, kAuto, name),
                                    [&](const auto&, const Message&, Message& answer) { lie(answer); });
    ASSERT_EQ(last.dropped.size(), 1U) << name;
    EXPECT_EQ(last.dropped.front().client, kLiar);
    EXPECT_NE(last.dropped.front().reason.find("client 2's"), std::string::npos) << last.dropped.front().reason;
  }
}

TEST_F(ProfileAttack, AnotherEpochOrOtherSumsAreRefusedUnderABudget) {
  const std::vector<std::pair<std::string, std::function<void(Message&)>>> lies{
      {"a later epoch", [](Message& answer) { answer.values["epoch"] = Ints{answer.integer("epoch") + 5}; }},
      {"an epoch before the first", [](Message& answer) { answer.values["epoch"] = Ints{-1}; }},
      {"sums beyond any noise",
       [](Message& answer) { answer.values["sums"] = Ints(answer.ints("sums").size(), std::int64_t{1} << 60); }},
      {"fewer sums", [](Message& answer) { answer.values["sums"] = Ints{1}; }},
  };
  for (const auto& [name, lie] : lies) {
    FederationPlan todo = plan(
        kAttackedClients, kRounds,
        "name = 'feroma'\nwarmup_rounds = 2\nprofile.dimensions = 6\n[privacy]\nmode = 'gaussian'\nepsilon_total = 50\n"
        "delta_total = 1e-5\nmax_releases = 4",
        name);
    const RoundRecord last = attack(todo, [&](const auto&, const Message&, Message& answer) { lie(answer); });
    ASSERT_EQ(last.dropped.size(), 1U) << name;
    EXPECT_EQ(last.dropped.front().client, kLiar);
    EXPECT_NE(last.dropped.front().reason.find("client 2's"), std::string::npos) << last.dropped.front().reason;
  }
}

}  // namespace
}  // namespace feroma::faults
