// What a hub does with clients that come at a bad moment, say too much, or are in the way of its own mistakes.
#include <cmath>
#include <condition_variable>
#include <functional>
#include <limits>
#include <new>

#include "feroma/algorithms/algorithm.h"
#include "feroma/core/fault_point.h"
#include "tests/faults/hub_fixture.h"
#include "tests/net/log_lines.h"

namespace feroma::net::test {
namespace {

using faults::HubTest;
using faults::Probe;

/// Finishes a round while a client is being greeted, and keeps the greeting from going on until a task is given.
class BadMoment final : public FaultHook {
 public:
  explicit BadMoment(std::function<void()> finish_round) : finish_round_(std::move(finish_round)) {
    install_fault_hook(this);
  }
  ~BadMoment() override { install_fault_hook(nullptr); }
  BadMoment(const BadMoment&) = delete;
  BadMoment& operator=(const BadMoment&) = delete;

  void passed(const char* point) override {
    const std::string_view name(point);
    if (name == "hub.welcomed") {
      finish_round_();
    } else if (name == "hub.admitted") {
      std::unique_lock lock(mutex_);
      EXPECT_TRUE(given_.wait_for(lock, std::chrono::seconds(20), [this] { return is_given_; }));
    } else if (name == "hub.task_given") {
      const std::lock_guard lock(mutex_);
      is_given_ = true;
      given_.notify_all();
    }
  }
  FileFault before(const FileCall&) override { return {}; }
  void after(const FileCall&) override {}

 private:
  const std::function<void()> finish_round_;
  std::mutex mutex_;
  std::condition_variable given_;
  bool is_given_ = false;
};

// A client that comes just when a round is finished must hear of that before it is asked anything of the next one: what
// it did in the finished round may not have counted.
TEST_F(HubTest, NewsOfAFinishedRoundComesBeforeTheNextTask) {
  BadMoment moment([this] { hub->announce(1, {}); });
  begin(2, 1);
  Probe probe(*hub, 0);
  ASSERT_EQ(probe.expect().committed().round(), 1);
  const v1::Task task = probe.task();
  EXPECT_EQ(task.round(), 2);
  EXPECT_EQ(probe.answer(task, update(1)).reason(), v1::ACCEPTED);
  exchange.join();
}

TEST_F(HubTest, AClientsRefusalsAreOneLineASecond) {
  Probe probe(*hub, 0);
  Lines lines;
  v1::Task nothing;
  nothing.set_round(7);
  for (int i = 0; i < 50; ++i) {
    EXPECT_EQ(probe.answer(nothing, update(1)).reason(), v1::LATE);
  }
  EXPECT_EQ(counted(v1::LATE), 50U) << "each is counted";
  EXPECT_GE(lines.count(), 1U);
  EXPECT_LE(lines.count(), 10U);
}

TEST_F(HubTest, ARefusedAnswerIsWrittenWithItsFields) {
  Probe probe(*hub, 3);
  Lines lines;
  v1::Task nothing;
  nothing.set_round(7);
  EXPECT_EQ(probe.answer(nothing, update(1)).reason(), v1::LATE);
  EXPECT_EQ(lines.with("client=3 reason=LATE round=7 phase=0 address=probe").size(), 1U)
      << ::testing::PrintToString(lines.with(""));
}

TEST_F(HubTest, RefusalsAreCountedForTheClientThatWasRefused) {
  using Counts = std::map<std::uint32_t, std::uint64_t>;
  Probe honest(*hub, 0);
  Probe probe(*hub, 1);
  EXPECT_EQ(hub->refusals(), Counts());
  v1::Task nothing;
  nothing.set_round(7);
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(probe.answer(nothing, update(1)).reason(), v1::LATE);
  }
  begin(1, 2);
  const v1::Task task = honest.task();
  EXPECT_EQ(honest.answer(task, update(1)).reason(), v1::ACCEPTED);
  EXPECT_EQ(honest.answer(task, update(1)).reason(), v1::DUPLICATE);
  EXPECT_EQ(hub->refusals(), (Counts{{1, 2}})) << "an answer that comes twice is harmless";
  EXPECT_EQ(probe.answer(probe.task(), update(2)).reason(), v1::ACCEPTED);
  const Probe again(*hub, 0);
  EXPECT_EQ(honest.reaction(), v1::TWICE);
  probe.pipe().send_unreadable();
  EXPECT_EQ(probe.reaction(), v1::MALFORMED);
  EXPECT_EQ(hub->refusals(), (Counts{{1, 3}})) << "coming back is harmless, what is no frame is not";
  for (const std::uint32_t id : {2U, kClients, 1'000'000U}) {
    hub->turned_away({"probe", static_cast<ClientId>(id), ""}, {v1::UNKNOWN_CLIENT, "not on the list", 0});
  }
  EXPECT_EQ(hub->refusals(), (Counts{{1, 3}, {2, 1}})) << "there are no more counts than clients";
}

// Two machines with the same key are a client that comes again and again.
TEST_F(HubTest, WhoComesTwiceIsCountedAndWritten) {
  Lines lines;
  Probe first(*hub, 2);
  EXPECT_EQ(counted(v1::TWICE), 0U);
  Probe second(*hub, 2);
  EXPECT_EQ(first.reaction(), v1::TWICE);
  EXPECT_EQ(counted(v1::TWICE), 1U);
  EXPECT_EQ(lines.with("refused (TWICE): it came again from probe address=probe reason=TWICE client=2").size(), 1U)
      << ::testing::PrintToString(lines.with(""));
}

TEST_F(HubTest, WhoDoesNotReadIsCountedAndWritten) {
  Probe deaf(*hub, 1);
  Lines lines;
  v1::Task nothing;
  nothing.set_round(7);
  for (int i = 0; i < 100; ++i) {
    deaf.say(Probe::head_of(nothing, Bytes()));  // each is answered with a verdict
  }
  EXPECT_TRUE(deaf.reaction() == v1::REASON_UNSPECIFIED) << "its connection is cut";
  EXPECT_EQ(counted(v1::TOO_SLOW), 1U);
  EXPECT_EQ(lines.with("refused (TOO_SLOW): 64 frames wait for it to read them").size(), 1U);
}

TEST_F(HubTest, WhatIsNoFrameIsCountedAndWritten) {
  Probe probe(*hub, 0);
  Lines lines;
  probe.pipe().send_unreadable();
  EXPECT_EQ(probe.reaction(), v1::MALFORMED);
  EXPECT_EQ(counted(v1::MALFORMED), 1U);
  EXPECT_EQ(lines.with("refused (MALFORMED)").size(), 1U);
}

TEST_F(HubTest, GreetingsThatAreRefusedAreOneLineASecondForEachReason) {
  Lines lines;
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(greeted(*hub, [](v1::Hello& hello) { hello.set_protocol(9); }), v1::OTHER_VERSION);
  }
  EXPECT_EQ(greeted(*hub, [](v1::Hello& hello) { hello.set_id(kClients); }), v1::UNKNOWN_CLIENT);
  EXPECT_EQ(greeted(*hub, [](v1::Hello& hello) { hello.set_job("another"); }), v1::OTHER_JOB);
  EXPECT_EQ(counted(v1::OTHER_VERSION), 20U) << "each is counted";
  EXPECT_GE(lines.with("reason=OTHER_VERSION").size(), 1U);
  EXPECT_LE(lines.with("reason=OTHER_VERSION").size(), 10U);
  EXPECT_EQ(lines.with("a client's id must be below 4, got 4 address=pipe reason=UNKNOWN_CLIENT").size(), 1U);
  EXPECT_EQ(lines.with("reason=OTHER_JOB").size(), 1U);
  std::this_thread::sleep_for(std::chrono::milliseconds(1050));
  hub->sweep();
  EXPECT_EQ(lines.with("more refused (OTHER_VERSION) count=").size(), 1U) << "the rest is added up";
}

TEST_F(HubTest, ManyWhoComeAndGoAreFewLines) {
  Lines lines;
  for (int i = 0; i < 50; ++i) {
    const Probe probe(*hub, static_cast<std::uint32_t>(i) % kClients);
  }
  EXPECT_GE(lines.with("client 0 joined from probe").size(), 1U);
  EXPECT_GE(lines.with("client 0 left").size(), 1U);
  EXPECT_LE(lines.with(" joined ").size(), 25U);
  EXPECT_LE(lines.with(" left").size(), 25U);
}

// It is not worth its memory: the digest, which only the bytes could prove, is not looked at.
TEST_F(HubTest, AnAnswerToAnotherRoundIsNotKept) {
  Probe probe(*hub, 0);
  v1::Task nothing;
  nothing.set_round(7);
  const Bytes bytes = update(1);
  v1::ClientFrame head = Probe::head_of(nothing, bytes);
  head.mutable_answer()->set_digest("another");
  probe.say(std::move(head));
  for (v1::ClientFrame& piece : Probe::pieces_of(bytes)) {
    probe.say(std::move(piece));
  }
  EXPECT_EQ(probe.reaction(), v1::LATE);
  probe.beat();
  EXPECT_TRUE(probe.expect().has_beat()) << "the connection goes on";
  EXPECT_EQ(hub->traffic().bytes_up, bytes.size()) << "what came is counted";
}

TEST_F(HubTest, CountsAndLossesBeyondAnyClientAreRefused) {
  Probe probe(*hub, 0);
  Probe other(*hub, 1);
  begin(1, 2);
  const v1::Task task = probe.task();
  const auto verdict_on_telemetry = [&](const std::function<void(v1::Telemetry&)>& lie) {
    const Bytes bytes = update(1);
    v1::ClientFrame head = Probe::head_of(task, bytes);
    v1::Telemetry& told = *head.mutable_answer()->mutable_telemetry();
    told.set_num_examples(7);
    told.mutable_before();
    told.mutable_after()->set_count(5);
    lie(told);
    probe.say(head);
    for (v1::ClientFrame& piece : Probe::pieces_of(bytes)) {
      probe.say(std::move(piece));
    }
    return probe.reaction();
  };
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(verdict_on_telemetry([](v1::Telemetry& told) { told.set_num_examples(kMost); }), v1::MALFORMED);
  EXPECT_EQ(verdict_on_telemetry([](v1::Telemetry& told) { told.set_train_loss(1e300); }), v1::MALFORMED);
  EXPECT_EQ(verdict_on_telemetry([](v1::Telemetry& told) { told.mutable_after()->set_count(kMost); }), v1::MALFORMED);
  EXPECT_EQ(verdict_on_telemetry([](v1::Telemetry& told) { told.mutable_before()->set_loss(-1e300); }), v1::MALFORMED);
  EXPECT_EQ(verdict_on_telemetry([](v1::Telemetry& told) { told.set_train_loss(std::nan("")); }), v1::MALFORMED);
  EXPECT_EQ(verdict_on_telemetry([](v1::Telemetry&) {}), v1::ACCEPTED);
  static_cast<void>(other.answer(other.task(), update(2)));
}

/// A method that runs out of memory when it is to say what clients are asked.
class OutOfMemory final : public Algorithm {
 public:
  void init(const ServerContext&) override {}
  [[nodiscard]] Message downlink(Round, int, ClientId) const override { throw std::bad_alloc(); }
  [[nodiscard]] Message client_step(Round, int, ClientContext&, const Message&) const override { return {}; }
  void uplink(Round, int, std::map<ClientId, Message>&, StageSeconds&) override {}
  [[nodiscard]] std::vector<ServedModel> served() const override { return {}; }
  void save(ModelWriter&) const override {}
  void load(ModelReader&) override {}
};

TEST_F(HubTest, NoAnswerReachesAMethodThatIsGone) {
  Probe probe(*hub, 0);
  {
    const OutOfMemory method;
    const std::vector<ClientId> asked{ClientId{0}};
    EXPECT_THROW(static_cast<void>(hub->exchange(method, 1, 0, asked)), std::bad_alloc);
  }
  EXPECT_EQ(hub->under_way(), (std::pair<Round, int>(0, 0)));
  v1::Task task;
  task.set_round(1);
  EXPECT_EQ(probe.answer(task, update(1)).reason(), v1::LATE);
}

// ---- visitors ----

class Visitors : public HubTest {
 protected:
  /// A hub that serves visitors from a method.
  void serve(std::function<std::shared_ptr<const Algorithm>()> committed) {
    Hub::Job job{"job", "", initial->shared_layout(), true, kClients};
    job.committed = std::move(committed);
    hub = std::make_unique<Hub>(job, options, Hub::Past{1, {}}, stop);
  }
  void serve(const Algorithm& method) {
    serve([&method] { return std::shared_ptr<const Algorithm>(std::shared_ptr<void>(), &method); });
  }
  std::unique_ptr<Pipe> visitor(const std::string& certificate) {
    auto pipe = std::make_unique<Pipe>(*hub, Peer{"pipe", ClientId{0}, "site-0", certificate});
    v1::ClientFrame frame;
    frame.set_counter(1);
    frame.mutable_hello()->set_protocol(kProtocol);
    frame.mutable_hello()->mutable_visit();
    static_cast<void>(pipe->send(frame));
    return pipe;
  }
  /// How a visitor is received: the reason for which it is refused, or none where it is asked; `asked` is the question.
  static v1::Reason received(Pipe& pipe, v1::ServerFrame* asked = nullptr) {
    v1::ServerFrame frame;
    while (pipe.receive(frame) && !frame.has_goodbye() && !frame.has_task()) {
    }
    EXPECT_TRUE(frame.has_goodbye() || frame.has_task()) << "the connection was lost";
    if (asked != nullptr) {
      *asked = frame;
    }
    return frame.goodbye().reason();
  }
  /// The reason for which a description is refused, or none; its head alone is sent where it says another size.
  v1::Reason described(const Bytes& bytes, std::optional<std::uint64_t> size = {}) {
    const std::unique_ptr<Pipe> pipe = visitor("a");
    v1::ServerFrame asked;
    EXPECT_EQ(received(*pipe, &asked), v1::REASON_UNSPECIFIED);
    std::vector<v1::ClientFrame> frames{Probe::head_of(asked.task(), bytes)};
    if (size) {
      frames.front().mutable_answer()->set_size(*size);
    } else {
      for (v1::ClientFrame& piece : Probe::pieces_of(bytes)) {
        frames.push_back(std::move(piece));
      }
    }
    frames.emplace_back().mutable_beat()->set_echo(1);  // answered where the connection goes on
    for (std::size_t i = 0; i < frames.size(); ++i) {
      frames[i].set_session(asked.session());
      frames[i].set_counter(2 + i);
      static_cast<void>(pipe->send(frames[i]));
    }
    v1::ServerFrame answer;
    while (pipe->receive(answer) && !answer.has_goodbye() && !answer.has_beat()) {
    }
    EXPECT_TRUE(answer.has_goodbye() || answer.has_beat()) << "the connection was lost";
    return answer.goodbye().reason();
  }
};

TEST_F(Visitors, OfOneCertificateAreFewAtATime) {
  serve(*algorithm);
  std::vector<std::unique_ptr<Pipe>> inside;
  for (int i = 0; i < 4; ++i) {
    inside.push_back(visitor("a"));
    EXPECT_EQ(received(*inside.back()), v1::REASON_UNSPECIFIED);
  }
  EXPECT_EQ(received(*visitor("a")), v1::TWICE);
  EXPECT_EQ(received(*visitor("b")), v1::REASON_UNSPECIFIED) << "others are not touched";
  EXPECT_EQ(counted(v1::TWICE), 1U);
  inside.pop_back();
  EXPECT_EQ(received(*visitor("a")), v1::REASON_UNSPECIFIED) << "a visit that is over counts no more";
}

// FedAvg asks nothing of them, so that all they have to say is an empty message.
TEST_F(Visitors, DescribeTheirDataInFewBytes) {
  serve(*algorithm);
  constexpr std::uint64_t kMost = std::uint64_t{64} << 10;
  EXPECT_EQ(described(encode_message({}, initial->layout())), v1::REASON_UNSPECIFIED);
  EXPECT_EQ(described({}, kMost), v1::REASON_UNSPECIFIED);
  EXPECT_EQ(described({}, kMost + 1), v1::TOO_LARGE);
}

// Neither is the visitor's fault, so neither may look like an attack.
TEST_F(Visitors, OfAServerThatHasNothingForThemAreToldSo) {
  serve([]() -> std::shared_ptr<const Algorithm> { fail(ErrorCode::io, "models/x: cannot read: disk on fire"); });
  EXPECT_EQ(received(*visitor("a")), v1::UNAVAILABLE);
  const OutOfMemory without_models;
  serve(without_models);
  EXPECT_EQ(described(encode_message({}, initial->layout())), v1::UNAVAILABLE) << "it has no model for visitors";
  EXPECT_EQ(counted(v1::MALFORMED) + counted(v1::UNBELIEVABLE), 0U);
}

}  // namespace
}  // namespace feroma::net::test
