// F8: frames whose bits are flipped, that are cut, or that announce more than there is.
#include "net/wire.h"
#include "tests/faults/allocation_watch.h"
#include "tests/faults/hub_fixture.h"

namespace feroma::faults {
namespace {

/// Frames of 16 models, what travels besides them, and protobuf's own doubling.
constexpr std::size_t kMostMemory = std::size_t{1} << 20;
constexpr int kFrames = 200;

class Corruption : public HubTest {
 protected:
  /// A run of honest clients; the frames that client 0 sent, all kinds among them, as a server would get them.
  std::vector<v1::ClientFrame> record() {
    std::vector<v1::ClientFrame> frames;
    for (Round round = 1; frames.size() < kFrames; ++round) {
      std::vector<std::unique_ptr<Probe>> probes;
      for (std::uint32_t id = 0; id < 2; ++id) {
        probes.push_back(std::make_unique<Probe>(*hub, id));
      }
      begin(round, 2);
      for (std::uint32_t id = 0; id < 2; ++id) {
        probes[id]->beat();
        EXPECT_EQ(probes[id]->answer(probes[id]->task(), update(static_cast<float>(id))).reason(), v1::ACCEPTED);
      }
      exchange.join();
      for (const std::string& bytes : probes[0]->sent()) {
        EXPECT_TRUE(frames.emplace_back().ParseFromString(bytes));
      }
      last_round = round;
    }
    frames.resize(kFrames);
    return frames;
  }

  /// Sends client 2's honest frames with one of them replaced by damaged bytes; false where they cannot be parsed, for
  /// which the connection must end by name.
  bool deliver(const v1::ClientFrame& recorded, const std::function<std::string(std::string)>& damage,
               const v1::Task& task) {
    // A frame of the same kind that would be in place now: only the damage is wrong with it.
    const Bytes honest = update(2);
    Pipe pipe(*hub, {"liar", ClientId{2}, ""});
    std::uint64_t counter = 0;
    std::string session;
    v1::ServerFrame reply;
    const auto say = [&](v1::ClientFrame frame, bool damaged) {
      frame.set_session(session);
      frame.set_counter(++counter);
      if (damaged) {
        v1::ClientFrame changed;
        if (!net::read_wire(damage(frame.SerializeAsString()), changed)) {
          const std::uint64_t before = counted(v1::MALFORMED);
          pipe.send_unreadable();
          EXPECT_EQ(counted(v1::MALFORMED), before + 1) << "it was not counted";
          v1::ServerFrame last;
          while (!last.has_goodbye() && pipe.receive(last)) {
          }
          EXPECT_EQ(last.goodbye().reason(), v1::MALFORMED) << "the client was not told why";
          return false;
        }
        frame = std::move(changed);
      }
      static_cast<void>(pipe.send(frame));
      return true;
    };
    v1::ClientFrame hello;
    hello.mutable_hello()->set_protocol(net::kProtocol);
    if (recorded.has_hello()) {
      return say(recorded, true);
    }
    EXPECT_TRUE(say(hello, false) && pipe.receive(reply));
    session = reply.session();
    if (recorded.has_beat()) {
      return say(recorded, true);
    }
    bool parsed = say(Probe::head_of(task, honest), recorded.has_answer());
    for (const v1::ClientFrame& piece : Probe::pieces_of(honest)) {
      parsed = parsed && say(piece, recorded.has_piece());
    }
    return parsed;
  }

  /// One round in which client 2's connection carries damaged frames; the others' answers must be as if it had not.
  void play(const std::vector<v1::ClientFrame>& frames,
            const std::vector<std::function<std::string(std::string)>>& damages) {
    int unreadable = 0;
    int delivered = 0;
    for (const v1::ClientFrame& frame : frames) {
      last_round += 1;
      Probe first(*hub, 0);
      Probe second(*hub, 1);
      {
        Probe liar(*hub, 2);
        begin(last_round, 3);
        const v1::Task task = liar.task();
        for (const auto& damage : damages) {
          delivered += deliver(frame, damage, task) ? 1 : 0;
          unreadable += 1;
        }
        // Whatever came of it, the client itself can still answer, or did.
        Probe again(*hub, 2);
        const v1::Reason reason = again.answer(task, update(2)).reason();
        EXPECT_TRUE(reason == v1::ACCEPTED || reason == v1::DUPLICATE || reason == v1::CONFLICT)
            << v1::Reason_Name(reason);
      }
      EXPECT_EQ(first.answer(first.task(), update(0)).reason(), v1::ACCEPTED);
      EXPECT_EQ(second.answer(second.task(), update(1)).reason(), v1::ACCEPTED);
      exchange.join();
      ASSERT_EQ(failure, "");
      EXPECT_EQ(counted_of(0), update(0));
      EXPECT_EQ(counted_of(1), update(1));
      const Bytes of_liar = counted_of(2);
      EXPECT_TRUE(of_liar.empty() || of_liar == update(2)) << "a damaged answer went into round " << last_round;
    }
    EXPECT_GT(delivered, 0) << "nothing got past the parser";
    EXPECT_GT(unreadable, delivered) << "everything got past the parser";
  }

  Round last_round = 0;
};

TEST_F(Corruption, FlippedBitsHaveNoEffectOnTheRound) {
  const std::vector<v1::ClientFrame> frames = record();
  Rng rng(8);
  std::vector<std::function<std::string(std::string)>> damages;
  for (int bits = 1; bits <= 64; bits += bits < 8 ? 1 : 8) {
    damages.emplace_back([&rng, bits](std::string bytes) {
      for (int i = 0; i < bits && !bytes.empty(); ++i) {
        const std::uint64_t bit = rng.below(8 * bytes.size());
        bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ (1 << (bit % 8)));
      }
      return bytes;
    });
  }
  const AllocationWatch watch;
  play(frames, damages);
  EXPECT_LT(AllocationWatch::largest(), kMostMemory);
}

TEST_F(Corruption, FramesThatAreCutAnywhereHaveNoEffectOnTheRound) {
  const std::vector<v1::ClientFrame> frames = record();
  std::size_t longest = 0;
  for (const v1::ClientFrame& frame : frames) {
    longest = std::max(longest, frame.ByteSizeLong());
  }
  std::vector<std::function<std::string(std::string)>> damages;
  for (std::size_t length = 0; length < longest; ++length) {
    damages.emplace_back([length](std::string bytes) {
      bytes.resize(std::min(length, bytes.size() - 1));
      return bytes;
    });
  }
  const AllocationWatch watch;
  play(frames, damages);
  EXPECT_LT(AllocationWatch::largest(), kMostMemory);
}

// 2^n and its neighbours up to 2^64 - 1.
std::vector<std::uint64_t> lengths_that_lie() {
  std::vector<std::uint64_t> lengths{~std::uint64_t{0}};
  for (int bit = 20; bit < 64; ++bit) {
    const std::uint64_t length = std::uint64_t{1} << bit;
    lengths.insert(lengths.end(), {length - 1, length, length + 1});
  }
  return lengths;
}

TEST_F(Corruption, AnAnnouncedSizeIsRefusedBeforeAnythingIsKept) {
  const AllocationWatch watch;
  for (const std::uint64_t length : lengths_that_lie()) {
    Probe probe(*hub);
    v1::ClientFrame frame;
    frame.mutable_answer()->set_size(length);
    probe.say(std::move(frame));
    probe.beat();  // answered where the size was believed
    EXPECT_EQ(probe.expect().goodbye().reason(), v1::TOO_LARGE) << length;
  }
  EXPECT_EQ(counted(v1::TOO_LARGE), lengths_that_lie().size());
  EXPECT_LT(AllocationWatch::largest(), kMostMemory);
}

// A length of a frame itself, or of a message or text within it, that says more than follows.
TEST_F(Corruption, ALengthWithinAFrameTakesNoMemoryBeforeSoMuchFollows) {
  const auto varint = [](std::uint64_t value) {
    std::string bytes;
    for (; value >= 0x80; value >>= 7) {
      bytes += static_cast<char>(0x80 | (value & 0x7F));
    }
    return bytes + static_cast<char>(value);
  };
  const auto field = [](int number) { return std::string(1, static_cast<char>(number << 3 | 2)); };
  const int session = v1::ClientFrame::kSessionFieldNumber;
  const int answer = v1::ClientFrame::kAnswerFieldNumber;
  const AllocationWatch watch;
  for (const std::uint64_t length : lengths_that_lie()) {
    const std::string lie = varint(length);
    const std::string lying_text = field(v1::Answer::kDigestFieldNumber) + lie;
    for (const std::string& bytes : {field(session) + lie, field(answer) + lie, field(answer) + lie + lying_text,
                                     field(answer) + varint(lying_text.size()) + lying_text, field(15) + lie}) {
      v1::ClientFrame frame;
      EXPECT_FALSE(net::read_wire(bytes, frame)) << length;
      const grpc::Slice slice(bytes);
      grpc::ByteBuffer buffer(&slice, 1);
      EXPECT_FALSE(net::read_wire(buffer, frame)) << length;
    }
  }
  EXPECT_LT(AllocationWatch::largest(), kMostMemory);
}

// Every eight bytes of an answer, lengths among them, say something else; its digest fits what they say.
TEST_F(Corruption, LengthsWithinAnAnswerAreNotTrusted) {
  const Bytes honest = update(1);
  const AllocationWatch watch;
  std::map<v1::Reason, int> seen;
  for (const std::uint64_t length : lengths_that_lie()) {
    for (std::size_t at = 0; at + sizeof(length) <= honest.size(); at += 1 + at % 13) {
      Bytes changed = honest;
      std::memcpy(changed.data() + at, &length, sizeof(length));
      net::Phase phase(*algorithm, 1, 0, std::vector<ClientId>{ClientId{0}},
                       {initial->shared_layout(), true, 1, Clock::duration(), clock.now() + Clock::seconds(60)});
      const v1::Answer head = Probe::head_of(phase.task_of(ClientId{0}).task, changed).answer();
      const v1::Verdict verdict = phase.judge(ClientId{0}, {head, changed});
      seen[verdict.reason()] += 1;
      EXPECT_TRUE(verdict.reason() == v1::ACCEPTED || !verdict.text().empty());
    }
  }
  EXPECT_GT(seen[v1::MALFORMED], 1000);
  EXPECT_LT(AllocationWatch::largest(), kMostMemory);
}

}  // namespace
}  // namespace feroma::faults
