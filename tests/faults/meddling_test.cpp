// F7 within one process: connections that lose, repeat, swap and delay frames in both directions, or fall silent.
#include "tests/faults/tiny_federation.h"

namespace feroma::faults {
namespace {

/// One in so many frames, by what happens to it; 0: never.
struct Weather {
  std::uint64_t loses = 0;
  std::uint64_t repeats = 0;
  std::uint64_t swaps = 0;
  std::uint64_t delays = 0;
  std::uint64_t falls_silent = 0;  ///< for good, in one direction, and nobody is told: half-open
  std::uint64_t breaks = 0;
};

/// A connection in bad weather. What becomes of a frame depends on the seed alone.
class MeddlingLink final : public ServerLink {
 public:
  MeddlingLink(Hub& hub, const Weather& weather, Rng rng)
      : pipe_(hub), up_{weather, rng.derive("up")}, down_{weather, rng.derive("down")} {}

  bool send(const v1::ClientFrame& frame) override {
    for (const v1::ClientFrame& passed : up_.pass(frame)) {
      if (!pipe_.send(passed)) {
        return false;
      }
    }
    return !ended(up_);
  }
  bool receive(v1::ServerFrame& frame) override {
    while (arrived_.empty()) {
      if (!pipe_.receive(frame)) {
        return false;
      }
      for (v1::ServerFrame& passed : down_.pass(frame)) {
        arrived_.push_back(std::move(passed));
      }
      if (ended(down_)) {
        return false;
      }
    }
    frame = std::move(arrived_.front());
    arrived_.pop_front();
    return true;
  }
  void cancel() override { pipe_.cancel(); }

 private:
  template <class Frame>
  struct Direction {
    Weather weather;
    Rng rng;
    std::optional<Frame> kept = {};  ///< waits until another has passed
    bool silent = false;
    bool broken = false;

    bool happens(std::uint64_t one_in) { return one_in > 0 && rng.below(one_in) == 0; }
    std::vector<Frame> pass(const Frame& frame) {
      broken = broken || happens(weather.breaks);
      silent = silent || happens(weather.falls_silent);
      if (silent || broken || happens(weather.loses)) {
        return {};
      }
      if (happens(weather.delays)) {
        tiny_clock().rest_for(0.5, {});
      }
      if (!kept && happens(weather.swaps)) {
        kept = frame;
        return {};
      }
      std::vector<Frame> frames{frame};
      if (happens(weather.repeats)) {
        frames.push_back(frame);
      }
      if (kept) {
        frames.push_back(*std::exchange(kept, std::nullopt));
      }
      return frames;
    }
  };
  template <class Frame>
  bool ended(const Direction<Frame>& direction) {
    if (direction.broken) {
      pipe_.cancel();
    }
    return direction.broken;
  }

  Pipe pipe_;
  Direction<v1::ClientFrame> up_;
  Direction<v1::ServerFrame> down_;
  std::deque<v1::ServerFrame> arrived_;
};

class Meddling : public TinyFederation {
 protected:
  static constexpr int kClients = 4;
  static constexpr int kRounds = 4;

  FederationPlan tiny(const std::string& state) {
    return plan(kClients, kRounds, "name = 'feroma'\nwarmup_rounds = 1\nprofile.dimensions = 6", state);
  }

  /// A weather of its own for every seed: each kind of fault is there or not.
  static Weather weather_of(Rng rng) {
    const auto maybe = [&](std::uint64_t least) { return rng.bernoulli(0.4) ? least + rng.below(3 * least) : 0; };
    Weather weather{maybe(20), maybe(20), maybe(20), maybe(8), maybe(60), maybe(30)};
    if (weather.loses + weather.repeats + weather.swaps + weather.falls_silent + weather.breaks == 0) {
      weather.loses = 20;  // five in a hundred
    }
    return weather;
  }

  void play_schedules(int first_seed, int count) {
    const FederationPlan calm = tiny("calm");
    static_cast<void>(play(calm, first(kClients)));
    const auto expected = models_of(calm);
    std::atomic<int> connections = 0;
    for (int seed = first_seed; seed < first_seed + count; ++seed) {
      const Rng rng = Rng(7).derive("schedule", static_cast<std::uint64_t>(seed));
      const Weather weather = weather_of(rng.derive("weather"));
      const FederationPlan todo = tiny(fmt::format("schedule-{}", seed));
      Round before = 0;
      FederationPlan watched = todo;
      watched.round_finished = [&](const RoundRecord& record, int) {
        EXPECT_EQ(record.round, before + 1) << "rounds strictly increase";
        EXPECT_EQ(record.clients.size(), static_cast<std::size_t>(kClients)) << "each client counts once";
        before = record.round;
      };
      const auto start = tiny_clock().now();
      static_cast<void>(play(watched, first(kClients), [&](Hub& hub, std::uint32_t id, int attempt) {
        connections += 1;
        return std::make_unique<MeddlingLink>(
            hub, weather, rng.derive("client", id).derive("attempt", static_cast<std::uint64_t>(attempt)));
      }));
      EXPECT_LT(tiny_clock().now() - start, Clock::seconds(3000)) << "schedule " << seed;
      EXPECT_TRUE(all_finite(todo));
      EXPECT_TRUE(models_of(todo) == expected) << "schedule " << seed << " changed the bits";
      std::filesystem::remove_all(todo.state);
    }
    EXPECT_GT(connections, 2 * kClients * count) << "the weather was too fine";
  }
};

TEST_F(Meddling, BadConnectionsHealAndDoNotChangeTheBits) { play_schedules(0, 20); }

class MeddlingSlow : public Meddling {};

TEST_F(MeddlingSlow, BadConnectionsHealAndDoNotChangeTheBits) { play_schedules(1000, 475); }

}  // namespace
}  // namespace feroma::faults
