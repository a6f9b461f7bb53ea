// How long what a session sends and receives may be on its way.
#include "net/session.h"

#include <gtest/gtest.h>

#include "tests/clocks.h"

namespace feroma::net::test {
namespace {

using std::chrono::seconds;
constexpr Clock::duration kTick(1);

/// A hub that welcomes everybody and writes down what arrived.
class Welcoming final : public SessionEvents {
 public:
  void greet(const std::shared_ptr<Session>& session, const v1::Hello&) override { session->welcome({}); }
  std::optional<v1::Verdict> objection(Session&, const v1::Answer&) override { return std::nullopt; }
  void deliver(Session&, Delivery delivery) override { delivered.push_back(std::move(delivery)); }
  void refused(const Session&, const Refusal& refusal) override { ADD_FAILURE() << refusal.text; }
  void said_goodbye(Session&, const std::string&) override {}
  void left(Session&) override {}

  std::vector<Delivery> delivered;
};

class SessionPace : public ::testing::Test {
 protected:
  SessionPace() {
    v1::ClientFrame hello;
    hello.mutable_hello()->set_protocol(kProtocol);
    say(std::move(hello), "");
    EXPECT_TRUE(next().has_welcome());
  }

  void say(v1::ClientFrame frame, const std::string& name) {
    frame.set_session(name);
    frame.set_counter(++said_);
    session->receive(frame);
  }
  void say_piece(const Bytes& bytes) {
    v1::ClientFrame frame;
    frame.mutable_piece()->set_data(bytes.data(), bytes.size());
    say(std::move(frame), nonce);
  }
  /// Writes a frame at once.
  v1::ServerFrame next() {
    std::optional<v1::ServerFrame> frame = session->next();
    EXPECT_TRUE(frame.has_value());
    session->wrote();
    return frame.value_or(v1::ServerFrame());
  }
  bool overdue_after(Clock::duration time) const { return session->overdue(clock.now() + time); }

  const feroma::test::FakeClock clock;
  const TransferPace pace{seconds(10), double{kPieceSize} / 4, &clock};  // four seconds for a piece
  const std::string nonce = std::string(kSessionSize, 'n');
  Welcoming events;
  std::shared_ptr<Session> session = std::make_shared<Session>(events, Peer{"pipe", std::nullopt, ""},
                                                               Session::Limits{10 * kPieceSize, pace}, nonce, [] {});

 private:
  std::uint64_t said_ = 0;
};

TEST(TransferPace, IsATimeForAllAndOneBySize) {
  const TransferPace pace{seconds(10), 1000};
  EXPECT_EQ(pace.allowance(0), seconds(10));
  EXPECT_EQ(pace.allowance(5000), seconds(15));
}

TEST(TransferPace, FollowsTheServersClock) {
  ServerOptions options;
  options.transfer_seconds = 10;
  options.bytes_per_second = 1000;
  options.clock = &feroma::test::fast_clock();
  EXPECT_EQ(TransferPace::of(options).clock, options.clock);
  EXPECT_EQ(TransferPace::of(options).allowance(0), seconds(10));
  EXPECT_EQ(TransferPace::of(options).allowance(4000), seconds(14));
}

TEST_F(SessionPace, NothingOnItsWayIsNeverOverdue) { EXPECT_FALSE(overdue_after(std::chrono::hours(1000))); }

TEST_F(SessionPace, AParcelMustBeTakenAtTheLeastRate) {
  Assignment work = make_assignment(1, 0, Bytes(3 * kPieceSize));
  session->give(work.task, work.parcel);
  EXPECT_FALSE(overdue_after(std::chrono::hours(1000))) << "nobody has begun to write it";
  EXPECT_TRUE(next().has_task());
  EXPECT_TRUE(next().has_piece());
  EXPECT_FALSE(overdue_after(seconds(22)));
  EXPECT_TRUE(overdue_after(seconds(22) + kTick)) << "ten seconds, and four for each of three pieces";
  static_cast<void>(next());
  static_cast<void>(next());
  EXPECT_FALSE(overdue_after(std::chrono::hours(1000))) << "it is out";
}

TEST_F(SessionPace, OneFrameMustBeTakenInTheTimeOfAPiece) {
  Assignment work = make_assignment(1, 0, Bytes(9 * kPieceSize));
  session->give(work.task, work.parcel);
  ASSERT_TRUE(session->next().has_value());
  EXPECT_FALSE(overdue_after(seconds(14)));
  EXPECT_TRUE(overdue_after(seconds(14) + kTick)) << "though the parcel has 46 seconds";
  session->wrote();
  EXPECT_FALSE(overdue_after(seconds(15)));
}

TEST_F(SessionPace, AnAnswerMustComeAtTheLeastRate) {
  const Bytes bytes(2 * kPieceSize);
  v1::ClientFrame head;
  head.mutable_answer()->set_size(bytes.size());
  head.mutable_answer()->set_digest(digest_of(bytes));
  say(std::move(head), nonce);
  say_piece(Bytes(kPieceSize));
  EXPECT_FALSE(overdue_after(seconds(18)));
  EXPECT_TRUE(overdue_after(seconds(18) + kTick)) << "ten seconds, and four for each of two pieces";
  say_piece(Bytes(kPieceSize));
  ASSERT_EQ(events.delivered.size(), 1U);
  EXPECT_FALSE(overdue_after(std::chrono::hours(1000))) << "it is here";
}

}  // namespace
}  // namespace feroma::net::test
