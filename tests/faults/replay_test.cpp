// F12: frames that were recorded and are sent again: in their own session, in another, by another client, in a later
// round, and after the server was started again.
#include "tests/faults/hub_fixture.h"

namespace feroma::faults {
namespace {

constexpr std::size_t kResent = 10000;

/// What somebody on the wire saw of one connection.
struct Recording {
  std::uint32_t client = 0;
  Round round = 0;
  v1::Task task;
  Bytes answer;
  std::vector<v1::ClientFrame> frames;
};

class Replay : public HubTest {
 protected:
  void record(Round rounds) {
    for (Round round = 1; round <= rounds; ++round) {
      std::vector<std::unique_ptr<Probe>> probes;
      for (std::uint32_t id = 0; id < kClients; ++id) {
        probes.push_back(std::make_unique<Probe>(*hub, id));
      }
      begin(round, kClients);
      for (std::uint32_t id = 0; id < kClients; ++id) {
        Recording seen{id, round, probes[id]->task(), update(static_cast<float>(id)), {}};
        probes[id]->beat();
        EXPECT_EQ(probes[id]->answer(seen.task, seen.answer).reason(), v1::ACCEPTED);
        for (const std::string& bytes : probes[id]->sent()) {
          EXPECT_TRUE(seen.frames.emplace_back().ParseFromString(bytes));
        }
        recordings.push_back(std::move(seen));
      }
      exchange.join();
      hub->announce(round, {});
    }
  }

  /// Frames that carry a session, as they were, to a connection of `client` that was greeted a moment ago.
  void resend(std::uint32_t client, const v1::ClientFrame& frame) {
    Probe probe(*hub, client);
    const std::uint64_t before = counted(v1::REPLAYED);
    probe.say_as_it_is(frame);
    EXPECT_EQ(probe.reaction(), v1::REPLAYED);
    EXPECT_EQ(counted(v1::REPLAYED), before + 1) << "it was not counted";
    resent += 1;
  }
  /// What an answer says, in frames of a session that is alive: only its round is over.
  void say_again(std::uint32_t client, const Recording& seen, v1::Reason expected) {
    Probe probe(*hub, client);
    const std::uint64_t before = counted(expected);
    EXPECT_EQ(probe.answer(seen.task, seen.answer).reason(), expected);
    EXPECT_EQ(counted(expected), before + 1) << "it was not counted";
    resent += 1;
  }
  const Recording& recording(std::size_t i) const { return recordings[i % recordings.size()]; }
  /// One of a recording's frames after its greeting.
  static const v1::ClientFrame& frame_of(const Recording& seen, std::size_t i) {
    return seen.frames[1 + i % (seen.frames.size() - 1)];
  }

  std::vector<Recording> recordings;
  std::size_t resent = 0;
};

TEST_F(Replay, NothingIsAcceptedTwice) {
  constexpr Round kRounds = 20;
  record(kRounds);
  const std::uint64_t accepted = counted(v1::ACCEPTED);
  ASSERT_EQ(accepted, kRounds * kClients);
  const std::size_t each = kResent / 5;
  for (std::size_t i = 0; i < each; ++i) {
    const Recording& seen = recording(i);
    // In its own session: a frame that was sent a moment ago comes once more.
    Probe probe(*hub, seen.client);
    probe.beat();
    v1::ClientFrame again;
    ASSERT_TRUE(again.ParseFromString(probe.sent().back()));
    probe.say_as_it_is(again);
    EXPECT_EQ(probe.reaction(), v1::REPLAYED);
    resent += 1;
  }
  EXPECT_EQ(counted(v1::REPLAYED), each);
  for (std::size_t i = 0; i < each; ++i) {
    const Recording& seen = recording(i);
    resend(seen.client, frame_of(seen, i));
    resend((seen.client + 1) % kClients, frame_of(seen, i));
    say_again(seen.client, seen, v1::LATE);
  }
  // The answers of the round that is under way: one connection's are another's duplicates.
  {
    begin(kRounds + 1, 2);
    Probe first(*hub, 0);
    const v1::Task task = first.task();
    EXPECT_EQ(first.answer(task, update(5)).reason(), v1::ACCEPTED);
    const Recording present{0, kRounds + 1, task, update(5), {}};
    for (int i = 0; i < 100; ++i) {
      say_again(0, present, v1::DUPLICATE);
      say_again(0, {0, kRounds + 1, task, update(6), {}}, v1::CONFLICT);
      say_again(1, recordings[1 + static_cast<std::size_t>(i % kRounds) * kClients], v1::LATE);
      ASSERT_FALSE(HasFailure());
    }
    Probe second(*hub, 1);
    EXPECT_EQ(second.answer(second.task(), update(1)).reason(), v1::ACCEPTED);
    exchange.join();
  }
  EXPECT_EQ(counted_of(0), update(5));
  EXPECT_EQ(counted(v1::ACCEPTED), accepted + 2);

  // A server that is started again knows no session, but which rounds are finished.
  hub->announce(kRounds + 1, {});
  hub = start_hub({kRounds + 1, {}});
  const std::size_t before = resent;
  for (std::size_t i = 0; i < each / 2; ++i) {
    resend(recording(i).client, frame_of(recording(i), i));
    say_again(recording(i).client, recording(i), v1::LATE);
  }
  EXPECT_EQ(counted(), resent - before) << "each was counted, and nothing else";
  EXPECT_EQ(counted(v1::ACCEPTED), 0U);
  EXPECT_GE(resent, kResent);
}

// A whole connection sent again, greeting first: as far as it can be told from the client's own, it is refused.
TEST_F(Replay, AWholeConnectionSentAgainIsEndedAtItsSecondFrame) {
  record(3);
  for (const Recording& seen : recordings) {
    Pipe pipe(*hub, {"wire", static_cast<ClientId>(seen.client), ""});
    for (const v1::ClientFrame& frame : seen.frames) {
      static_cast<void>(pipe.send(frame));
    }
    v1::ServerFrame frame;
    ASSERT_TRUE(pipe.receive(frame));
    EXPECT_TRUE(frame.has_welcome());
    ASSERT_TRUE(pipe.receive(frame));
    EXPECT_EQ(frame.goodbye().reason(), v1::REPLAYED);
  }
  EXPECT_EQ(counted(v1::REPLAYED), recordings.size());
  EXPECT_EQ(counted(v1::ACCEPTED), recordings.size());
}

}  // namespace
}  // namespace feroma::faults
