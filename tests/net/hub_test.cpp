// What a hub does with clients that come at a bad moment, say too much, or are in the way of its own mistakes.
#include <cmath>
#include <condition_variable>
#include <functional>
#include <limits>
#include <mutex>
#include <new>

#include "feroma/algorithms/algorithm.h"
#include "feroma/core/fault_point.h"
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
