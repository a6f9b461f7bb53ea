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
  BadMoment(std::function<void()> finish_round, std::function<void()> look_again)
      : finish_round_(std::move(finish_round)), look_again_(std::move(look_again)) {
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
      look_again_();
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
  const std::function<void()> look_again_;  ///< lets the round see who has come
  std::mutex mutex_;
  std::condition_variable given_;
  bool is_given_ = false;
};

// A client that comes just when a round is finished must hear of that before it is asked anything of the next one: what
// it did in the finished round may not have counted.
TEST_F(HubTest, NewsOfAFinishedRoundComesBeforeTheNextTask) {
  BadMoment moment([this] { hub->announce(1, {}); }, [this] { hub->shut_out({}, ""); });
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
  EXPECT_EQ(lines.count(), 1U);
  clock.advance(1);
  EXPECT_EQ(probe.answer(nothing, update(1)).reason(), v1::LATE);
  EXPECT_EQ(lines.count(), 2U);
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

TEST_F(HubTest, LinesAboutAClientHaveItsName) {
  Lines lines;
  v1::Task nothing;
  nothing.set_round(7);
  EXPECT_EQ(Probe(*hub, 2, "ward-c").answer(nothing, update(1)).reason(), v1::LATE);
  hub->turned_away({"probe", ClientId{3}, "ward-d"}, {v1::UNKNOWN_CLIENT, "not on the list", 0});
  for (const std::string line : {"client 2 (ward-c) joined from probe client=2 address=probe software= name=ward-c",
                                 "round 7: answer of client 2 (ward-c) refused (LATE)",
                                 "client 2 (ward-c) left client=2 address=probe name=ward-c",
                                 "probe: client 3 (ward-d): refused (UNKNOWN_CLIENT): not on the list"}) {
    EXPECT_EQ(lines.with(line).size(), 1U) << line << " is not in " << ::testing::PrintToString(lines.with(""));
  }
  EXPECT_EQ(hub->called(ClientId{2}), "2 (ward-c)") << "whoever is late may have gone";
  EXPECT_EQ(hub->called(ClientId{1}), "1");
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

/// A connection of a process, as its hello says.
class Connection {
 public:
  Connection(Hub& hub, const std::string& process, std::uint64_t attempt)
      : pipe_(hub, {"pipe", ClientId{2}, ""}), outbox_(pipe_) {
    v1::Hello hello;
    hello.set_protocol(kProtocol);
    hello.set_process(process);
    hello.set_attempt(attempt);
    EXPECT_TRUE(std::holds_alternative<v1::Welcome>(introduce(hello, pipe_, outbox_, session_)));
  }

  /// The reason for which it was sent away; none where it is heard.
  v1::Reason fate() {
    v1::ClientFrame frame;
    frame.mutable_beat()->set_echo(1);
    static_cast<void>(outbox_.send(std::move(frame)));
    v1::ServerFrame answer;
    EXPECT_TRUE(pipe_.receive(answer));
    return answer.goodbye().reason();
  }

 private:
  Pipe pipe_;
  Outbox outbox_;
  std::string session_;
};

// A client gives a connection up, and the server reads what was said on it after what was said on the next. TWICE ends
// a process, so the one that is newer must not hear it.
TEST_F(HubTest, AnOlderConnectionOfAProcessDoesNotDisplaceANewerOne) {
  const std::string own(kSessionSize, 'a');
  Connection newer(*hub, own, 2);
  EXPECT_EQ(newer.fate(), v1::REASON_UNSPECIFIED);
  EXPECT_EQ(hub->take_forgetful(), std::set<ClientId>{ClientId{2}});
  Connection older(*hub, own, 1);
  EXPECT_EQ(older.fate(), v1::TWICE);
  EXPECT_TRUE(hub->take_forgetful().empty()) << "what it knew then says nothing of now";
  EXPECT_EQ(newer.fate(), v1::REASON_UNSPECIFIED);
  EXPECT_EQ(hub->present(), std::vector<ClientId>{ClientId{2}});
  Connection newest(*hub, own, 3);
  EXPECT_EQ(newer.fate(), v1::TWICE);
  Connection another(*hub, std::string(kSessionSize, 'b'), 1);
  EXPECT_EQ(newest.fate(), v1::TWICE) << "of two processes the one that came last stays";
  EXPECT_EQ(another.fate(), v1::REASON_UNSPECIFIED);
}

TEST_F(HubTest, OfConnectionsThatSayNothingOfTheirProcessTheLastStays) {
  for (const std::string& process : {std::string(), std::string("a name of another size")}) {
    Connection first(*hub, process, 2);
    Connection second(*hub, process, 1);
    EXPECT_EQ(first.fate(), v1::TWICE);
    EXPECT_EQ(second.fate(), v1::REASON_UNSPECIFIED);
  }
}

TEST_F(HubTest, AnAnswerIsAsLargeAsTheMethodSays) {
  const std::uint64_t most = largest_answer(20, initial->layout());
  const auto reaction_to = [&](std::uint64_t size) {
    Probe probe(*hub, 0);
    v1::ClientFrame head;
    head.mutable_answer()->set_size(size);
    probe.say(std::move(head));
    probe.beat();
    const v1::ServerFrame answer = probe.expect();
    return answer.goodbye().reason();
  };
  EXPECT_EQ(reaction_to(most), v1::TOO_LARGE) << "sixteen models unless it says otherwise";
  Hub::Job job{"job", "", initial->shared_layout(), true, kClients};
  job.models_per_answer = 20;
  hub = std::make_unique<Hub>(job, options, Hub::Past(), stop);
  EXPECT_EQ(reaction_to(most), v1::REASON_UNSPECIFIED);
  EXPECT_EQ(reaction_to(most + 1), v1::TOO_LARGE);
}

// Some methods ask some clients for many models: that lets nobody else send so much.
TEST_F(HubTest, AnAnswerIsNoLargerThanItsTaskAsksFor) {
  Hub::Job job{"job", "", initial->shared_layout(), true, kClients};
  job.models_per_answer = 1000;
  hub = std::make_unique<Hub>(job, options, Hub::Past(), stop);
  begin(1, 2);
  const std::uint64_t usual = largest_answer(16, initial->layout());
  for (const auto& [id, size] : {std::pair{0U, usual}, std::pair{1U, usual + 1}}) {
    Probe probe(*hub, id);
    v1::ClientFrame head = Probe::head_of(probe.task(), {});
    head.mutable_answer()->set_size(size);
    probe.say(std::move(head));
    probe.beat();
    EXPECT_EQ(probe.expect().goodbye().reason(), size == usual ? v1::REASON_UNSPECIFIED : v1::TOO_LARGE);
  }
  stop.request();
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
  EXPECT_EQ(lines.with("reason=OTHER_VERSION").size(), 1U);
  EXPECT_EQ(lines.with("a client's id must be below 4, got 4 address=pipe reason=UNKNOWN_CLIENT").size(), 1U);
  EXPECT_EQ(lines.with("reason=OTHER_JOB").size(), 1U);
  clock.advance(1);
  hub->sweep();
  EXPECT_EQ(lines.with("19 more refused (OTHER_VERSION) count=19").size(), 1U) << "the rest is added up";
}

TEST_F(HubTest, ManyWhoComeAndGoAreFewLines) {
  Lines lines;
  for (int i = 0; i < 50; ++i) {
    const Probe probe(*hub, static_cast<std::uint32_t>(i) % kClients);
  }
  EXPECT_GE(lines.with("client 0 joined from probe").size(), 1U);
  EXPECT_GE(lines.with("client 0 left").size(), 1U);
  EXPECT_EQ(lines.with(" joined ").size(), 5U);
  EXPECT_EQ(lines.with(" left").size(), 5U);
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

/// Keeps the smaller count so slowly that a larger one could overtake it.
class SlowKeeper {
 public:
  void keep(const ReleaseCount& count) {
    if (count.releases == kSmaller) {
      std::unique_lock lock(mutex_);
      is_under_way_ = true;
      changed_.notify_all();
      changed_.wait_for(lock, std::chrono::milliseconds(300), [this] { return !kept_.empty(); });
    }
    const std::lock_guard lock(mutex_);
    kept_.push_back(count.releases);
    changed_.notify_all();
  }
  void await_the_smaller() {
    std::unique_lock lock(mutex_);
    EXPECT_TRUE(changed_.wait_for(lock, std::chrono::seconds(20), [this] { return is_under_way_; }));
  }
  [[nodiscard]] const std::vector<std::uint64_t>& kept() const { return kept_; }

  static constexpr std::uint64_t kSmaller = 5;

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_under_way_ = false;
  std::vector<std::uint64_t> kept_;
};

// What a restarted server knows is what was kept last.
TEST_F(HubTest, OfTwoCountsAtOnceTheLargerIsKeptLast) {
  SlowKeeper keeper;
  Hub::Job job{"job", "", initial->shared_layout(), true, kClients};
  job.keep_count = [&](const std::string&, const ReleaseCount& count) { keeper.keep(count); };
  hub = std::make_unique<Hub>(std::move(job), options, Hub::Past{}, stop, &drain);
  begin(1, 1);
  Probe probe(*hub, 0);
  const v1::Task task = probe.task();
  const std::shared_ptr<Session> session = hub->connect({"probe", ClientId{0}, ""}, [] {});
  v1::ClientFrame hello;
  hello.mutable_hello()->set_protocol(kProtocol);
  hello.set_counter(1);
  session->receive(hello);
  const auto answer = [&](std::uint64_t releases) {
    v1::Answer head = Probe::head_of(task, update(1)).answer();
    head.mutable_released()->set_releases(releases);
    EXPECT_FALSE(hub->objection(*session, head));
  };
  {
    const std::jthread smaller(answer, SlowKeeper::kSmaller);
    keeper.await_the_smaller();
    const std::jthread larger(answer, SlowKeeper::kSmaller + 1);
  }
  EXPECT_EQ(keeper.kept(), (std::vector<std::uint64_t>{SlowKeeper::kSmaller, SlowKeeper::kSmaller + 1}));
  stop.request();
  exchange.join();
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

}  // namespace
}  // namespace feroma::net::test
