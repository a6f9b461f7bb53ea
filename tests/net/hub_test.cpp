// What a hub does with clients that come at a bad moment, say too much, or are in the way of its own mistakes.
#include <cmath>
#include <functional>
#include <limits>
#include <mutex>
#include <new>

#include "feroma/algorithms/algorithm.h"
#include "feroma/core/log.h"
#include "tests/faults/hub_fixture.h"

namespace feroma::net::test {
namespace {

using faults::HubTest;
using faults::Probe;

/// Lines of the log while it lives.
class Lines {
 public:
  Lines() {
    log::set_sink([this](const log::Entry& entry) {
      const std::lock_guard lock(mutex_);
      lines_.emplace_back(entry.message);
    });
  }
  ~Lines() { log::set_sink({}); }
  Lines(const Lines&) = delete;
  Lines& operator=(const Lines&) = delete;

  [[nodiscard]] std::size_t count() {
    const std::lock_guard lock(mutex_);
    return lines_.size();
  }

 private:
  std::mutex mutex_;
  std::vector<std::string> lines_;
};

// A client that comes just when a round is finished must hear of that before it is asked anything of the next one: what
// it did in the finished round may not have counted.
TEST_F(HubTest, NewsOfAFinishedRoundComesBeforeTheNextTask) {
  for (Round round = 1; round <= 200; ++round) {
    std::jthread finishing([&] { hub->announce(round, {}); });
    std::jthread asking([&] {
      while (!hub->is_present(ClientId{0})) {
      }
      finishing.join();
      const std::vector<ClientId> asked{ClientId{0}};
      static_cast<void>(hub->exchange(*algorithm, round + 1, 0, asked));
    });
    Pipe pipe(*hub);
    Outbox outbox(pipe);
    v1::Hello hello;
    hello.set_protocol(kProtocol);
    std::string session;
    Round known = std::get<v1::Welcome>(introduce(hello, pipe, outbox, session)).committed();
    v1::ServerFrame frame;
    while (pipe.receive(frame) && !frame.has_task()) {
      known = frame.has_committed() ? frame.committed().round() : known;
    }
    ASSERT_EQ(known, round) << "asked for round " << frame.task().round();
    v1::Answer head;
    head.set_round(frame.task().round());
    head.set_task(frame.task().digest());
    outbox.send(head, update(1));
    asking.join();
    pipe.cancel();
  }
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

}  // namespace
}  // namespace feroma::net::test
