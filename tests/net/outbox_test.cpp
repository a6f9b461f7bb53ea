// How a client's frames go out, and what its watchdog makes of it.
#include <gtest/gtest.h>

#include <thread>

#include "feroma/core/error.h"
#include "net/agent.h"
#include "net/watchdog.h"
#include "tests/clocks.h"
#include "tests/core/temp_folder.h"
#include "tests/net/tls_tools.h"

namespace feroma::net::test {
namespace {

/// A slow line to a server that says nothing; it writes down what kinds of frames it took. `take` is done for each.
class SlowLink final : public ServerLink {
 public:
  explicit SlowLink(std::function<void()> take) : take_(std::move(take)) {}
  bool send(const v1::ClientFrame& frame) override {
    take_();
    const std::lock_guard lock(mutex_);
    kinds_.push_back(frame.kind_case());
    numbered_ = numbered_ && frame.counter() == kinds_.size();
    return !cut_;
  }
  bool receive(v1::ServerFrame&) override { return false; }
  void cancel() override {
    cut_ = true;
    cut_.notify_all();
  }

  [[nodiscard]] bool is_cut() const { return cut_; }
  void await_cut() const { cut_.wait(false); }
  [[nodiscard]] bool is_numbered() const { return numbered_; }
  [[nodiscard]] std::vector<v1::ClientFrame::KindCase> kinds() {
    const std::lock_guard lock(mutex_);
    return kinds_;
  }

 private:
  const std::function<void()> take_;
  std::atomic<bool> cut_ = false;
  std::mutex mutex_;
  std::vector<v1::ClientFrame::KindCase> kinds_;
  bool numbered_ = true;
};

/// A server that takes a hello and hangs up.
class HangingUp final : public ServerLink {
 public:
  bool send(const v1::ClientFrame& frame) override {
    hello = frame.hello();
    return true;
  }
  bool receive(v1::ServerFrame&) override { return false; }
  void cancel() override {}

  v1::Hello hello;
};

/// Nobody gets as far as to ask for them.
class NoData final : public ClientData {
 public:
  [[nodiscard]] SampleShape shape() const override { return {1, 3, 3}; }
  [[nodiscard]] int classes() const override { return 3; }
  [[nodiscard]] bool multi_label() const override { return false; }
  [[nodiscard]] ClientShard shard(Round) override { fail(ErrorCode::internal, "no data"); }
  [[nodiscard]] View train_of_window(int) override { fail(ErrorCode::internal, "no data"); }
};

// By this a server knows which connection of a process is the newer one, in whatever order it reads them.
TEST(Hello, NumbersTheConnectionsOfAProcess) {
  const feroma::test::TempFolder folder;
  const Stop stop;
  NoData data;
  HangingUp link;
  Agent agent({folder / "a"}, data, stop);
  EXPECT_GT(agent.serve(link).retry_seconds, 0);
  const v1::Hello first = link.hello;
  EXPECT_GT(agent.serve(link).retry_seconds, 0);
  EXPECT_EQ(first.process().size(), kSessionSize);
  EXPECT_EQ(link.hello.process(), first.process());
  EXPECT_GT(link.hello.attempt(), first.attempt());
  Agent another({folder / "b"}, data, stop);
  EXPECT_GT(another.serve(link).retry_seconds, 0);
  EXPECT_NE(link.hello.process(), first.process());
}

v1::ClientFrame beat() {
  v1::ClientFrame frame;
  frame.mutable_beat()->set_echo(1);
  return frame;
}

// Pieces are sent one after the other, with hardly a moment between them.
TEST(Outbox, ABeatDoesNotWaitForTheLastPiece) {
  SlowLink link([] { std::this_thread::sleep_for(std::chrono::milliseconds(5)); });
  Outbox outbox(link);
  constexpr std::size_t kPieces = 40;
  std::jthread upload([&] { EXPECT_TRUE(outbox.send(v1::Answer(), Bytes(kPieces * kPieceSize))); });
  while (link.kinds().size() < 3) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  EXPECT_TRUE(outbox.send(beat()));
  EXPECT_LT(link.kinds().size(), kPieces / 2);
  upload.join();
  EXPECT_EQ(link.kinds().size(), kPieces + 2);
  EXPECT_TRUE(link.is_numbered());
}

// The server says nothing during an upload that takes several times as long as its silence is borne.
TEST(Outbox, AnUploadThatGoesOnIsNotCutOff) {
  feroma::test::FakeClock clock;
  SlowLink link([&clock] { clock.advance(1); });
  const Stop stop;
  Watchdog watchdog(link, stop, clock, std::chrono::seconds(8));
  Outbox outbox(link, [&watchdog] { watchdog.heard(); });
  EXPECT_TRUE(outbox.send(v1::Answer(), Bytes(40 * kPieceSize)));
  EXPECT_TRUE(clock.await_sleepers(1));
  EXPECT_FALSE(link.is_cut());
  // Beats that nobody answers are no sign of life: they would vanish into a dead line for a long time.
  for (int i = 0; i < 8; ++i) {
    EXPECT_FALSE(link.is_cut()) << i;
    static_cast<void>(outbox.send(beat()));
  }
  link.await_cut();
}

TEST(Watchdog, LetsAClientThatIsToStopSayGoodbye) {
  feroma::test::FakeClock clock;
  Stop stop;
  SlowLink link([] {});
  Watchdog watchdog(link, stop, clock, Clock::duration::max());
  watchdog.allow_farewell(std::chrono::hours(1));
  stop.request();
  clock.advance(1800);
  EXPECT_TRUE(clock.await_sleepers(1));
  EXPECT_FALSE(link.is_cut());
  watchdog.allow_farewell(std::chrono::minutes(1));
  EXPECT_TRUE(eventually([&] {  // it may hear only now that it is to stop
    clock.advance(60);
    return link.is_cut();
  }));
}

}  // namespace
}  // namespace feroma::net::test
