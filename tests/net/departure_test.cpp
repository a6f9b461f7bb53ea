// Clients that go, or may not come back, while a round is under way: who is waited for, and who is not.
#include "tests/core/expect_error.h"
#include "tests/faults/hub_fixture.h"
#include "tests/faults/tiny_federation.h"
#include "tests/net/log_lines.h"
#include "tests/net/once.h"

namespace feroma::net::test {
namespace {

using faults::HubTest;
using faults::Probe;

v1::ClientFrame goodbye() {
  v1::ClientFrame frame;
  frame.mutable_goodbye()->set_reason(v1::SHUTTING_DOWN);
  return frame;
}

TEST_F(HubTest, WhoSaysGoodbyeIsNotWaitedFor) {
  Probe stays(*hub, 0);
  Probe also(*hub, 1);
  Probe goes(*hub, 2);
  begin(1, 3);
  static_cast<void>(goes.task());
  goes.say(goodbye());
  EXPECT_EQ(goes.expect().goodbye().text(), "goodbye");
  EXPECT_FALSE(hub->is_present(ClientId{2}));
  EXPECT_EQ(stays.answer(stays.task(), update(1)).reason(), v1::ACCEPTED);
  EXPECT_EQ(also.answer(also.task(), update(2)).reason(), v1::ACCEPTED);
  exchange.join();
  EXPECT_EQ(std::get<ClientDropped>(outcomes.at(ClientId{2}).answer).reason, "it said goodbye");
  // Nor in the next exchange, which it did not see begin, nor when those of a round are gathered again.
  begin(1, 3);
  EXPECT_EQ(stays.answer(stays.task(), update(1)).reason(), v1::ACCEPTED);
  EXPECT_EQ(also.answer(also.task(), update(2)).reason(), v1::ACCEPTED);
  exchange.join();
  const std::vector<ClientId> all{ClientId{0}, ClientId{1}, ClientId{2}};
  EXPECT_EQ(hub->await(all, options.round_seconds).size(), 2U);
}

// A client that cannot agree to the federation leaves at once; a round would wait for it for ten minutes.
TEST_F(HubTest, WhoCannotTakePartSaysSo) {
  for (const bool guarded : {false, true}) {
    hub = start_hub();
    Lines lines;
    Probe stays(*hub, 0);
    begin(1, 2);
    EXPECT_EQ(stays.answer(stays.task(), update(1)).reason(), v1::ACCEPTED);
    const feroma::test::TempFolder folder;
    faults::TinyData data(1, 24);
    AgentOptions own{folder.path(), 1};
    own.privacy.mode = guarded ? PrivacyMode::pure : PrivacyMode::off;
    Agent agent(own, data, stop);
    Pipe pipe(*hub);
    const std::string error =
        feroma::test::error_of(ErrorCode::invalid_config, [&] { static_cast<void>(agent.serve(pipe)); });
    exchange.join();
    const std::string& reason = std::get<ClientDropped>(outcomes.at(ClientId{1}).answer).reason;
    EXPECT_EQ(reason, "it left: " + (guarded ? "it does not agree to this federation" : error));
    EXPECT_EQ(lines.with("client 1 said goodbye: ").size(), 1U);
  }
}

TEST_F(HubTest, WhoComesBackAfterAGoodbyeIsAskedAgain) {
  Probe stays(*hub, 0);
  begin(1, 2);
  {
    Probe goes(*hub, 1);
    static_cast<void>(goes.task());
    goes.say(goodbye());
  }
  Probe back(*hub, 1);
  EXPECT_EQ(back.answer(back.task(), update(2)).reason(), v1::ACCEPTED);
  EXPECT_EQ(stays.answer(stays.task(), update(1)).reason(), v1::ACCEPTED);
  exchange.join();
  EXPECT_EQ(counted_of(1), update(2));
}

TEST_F(HubTest, WhoseConnectionIsLostIsWaitedFor) {
  Probe stays(*hub, 0);
  begin(1, 2);
  {
    Probe lost(*hub, 1);
    static_cast<void>(lost.task());
  }
  EXPECT_EQ(stays.answer(stays.task(), update(1)).reason(), v1::ACCEPTED);
  clock.advance(options.round_seconds - 1);
  EXPECT_TRUE(clock.await_sleepers(1));
  EXPECT_EQ(hub->under_way(), (std::pair<Round, int>(1, 1)));
  Probe back(*hub, 1);
  EXPECT_EQ(back.answer(back.task(), update(2)).reason(), v1::ACCEPTED);
  exchange.join();
  EXPECT_EQ(counted_of(1), update(2));
}

const Refusal kRevoked{v1::UNKNOWN_CLIENT, "its certificate was revoked", 0};

TEST_F(HubTest, WhoIsSentAwayIsNotWaitedFor) {
  Lines lines;
  Probe stays(*hub, 0);
  Probe also(*hub, 1);
  Probe revoked(*hub, 2);
  begin(1, 3);
  static_cast<void>(revoked.task());
  hub->send_away([](const Peer& peer) { return peer.id == ClientId{2}; }, kRevoked);
  EXPECT_EQ(revoked.expect().goodbye().reason(), v1::UNKNOWN_CLIENT);
  EXPECT_FALSE(hub->is_present(ClientId{2}));
  ASSERT_EQ(lines.with("is sent away").size(), 1U);
  EXPECT_NE(lines.with("is sent away").front().find("client=2"), std::string::npos);
  EXPECT_EQ(stays.answer(stays.task(), update(1)).reason(), v1::ACCEPTED);
  EXPECT_EQ(also.answer(also.task(), update(2)).reason(), v1::ACCEPTED);
  exchange.join();
  EXPECT_EQ(std::get<ClientDropped>(outcomes.at(ClientId{2}).answer).reason, kRevoked.text);
}

// A server that was started again, in the middle of a round with a client that was revoked meanwhile.
TEST_F(HubTest, WhoWouldNotBeLetInIsNotWaitedFor) {
  Probe stays(*hub, 0);
  Probe also(*hub, 1);
  const std::vector<ClientId> all{ClientId{0}, ClientId{1}, ClientId{2}};
  std::jthread list([this] {
    EXPECT_TRUE(clock.await_sleepers(1));
    hub->shut_out({ClientId{1}, ClientId{2}}, kRevoked.text);  // 1 is inside: that is for send_away to judge
  });
  EXPECT_EQ(hub->await(all, options.round_seconds).size(), 2U);
  list.join();
  begin(1, 3);
  EXPECT_EQ(stays.answer(stays.task(), update(1)).reason(), v1::ACCEPTED);
  EXPECT_EQ(also.answer(also.task(), update(2)).reason(), v1::ACCEPTED);
  exchange.join();
  EXPECT_EQ(std::get<ClientDropped>(outcomes.at(ClientId{2}).answer).reason, kRevoked.text);
  // Once it is let in again, it takes part as before.
  Probe back(*hub, 2);
  EXPECT_EQ(hub->await(all, options.round_seconds).size(), 3U);
}

TEST_F(HubTest, WhoIsRevokedWhileItIsWelcomedIsNotWaitedFor) {
  Probe stays(*hub, 0);
  Probe also(*hub, 1);
  const Once revoked("hub.welcomed", [this] {
    hub->send_away([](const Peer& peer) { return peer.id == ClientId{2}; }, kRevoked);
    hub->shut_out({ClientId{2}}, kRevoked.text);
  });
  Probe comes(*hub, 2);
  EXPECT_EQ(comes.reaction(), v1::UNKNOWN_CLIENT);
  EXPECT_FALSE(hub->is_present(ClientId{2}));
  begin(1, 3);
  EXPECT_EQ(stays.answer(stays.task(), update(1)).reason(), v1::ACCEPTED);
  EXPECT_EQ(also.answer(also.task(), update(2)).reason(), v1::ACCEPTED);
  exchange.join();
  EXPECT_EQ(std::get<ClientDropped>(outcomes.at(ClientId{2}).answer).reason, kRevoked.text);
}

// Its end was said for another reason, but it may still be read from, so that it must not be asked again.
TEST_F(HubTest, WhoIsRevokedAfterItsEndWasSaidIsNotWaitedFor) {
  Lines lines;
  Probe stays(*hub, 0);
  Probe also(*hub, 1);
  Probe ends(*hub, 2);
  ends.pipe().send_unreadable();
  EXPECT_TRUE(hub->is_present(ClientId{2})) << "until its connection is gone";
  hub->send_away([](const Peer& peer) { return peer.id == ClientId{2}; }, kRevoked);
  EXPECT_FALSE(hub->is_present(ClientId{2}));
  EXPECT_EQ(counted(v1::UNKNOWN_CLIENT), 0U) << "it was refused for something else";
  EXPECT_TRUE(lines.with("is sent away").empty());
}

TEST_F(HubTest, NobodyLingersForWhoWouldNotBeLetIn) {
  auto stays = std::make_unique<Probe>(*hub, 0);
  { const Probe revoked(*hub, 1); }
  hub->shut_out({ClientId{1}}, kRevoked.text);
  hub->finish();
  EXPECT_EQ(stays->reaction(), v1::FINISHED);
  stays.reset();
  hub->await_farewells(options.round_seconds);
}

TEST_F(HubTest, WhatCannotBeReadForWantOfMemoryEndsOneConnection) {
  Probe unlucky(*hub, 0);
  Probe other(*hub, 1);
  unlucky.pipe().fail_to_read(std::bad_alloc());
  EXPECT_EQ(counted(v1::UNAVAILABLE), 1U);
  EXPECT_EQ(unlucky.reaction(), v1::REASON_UNSPECIFIED) << "it is cut off, and comes again";
  unlucky.pipe().fail_to_read(std::bad_alloc());
  EXPECT_EQ(counted(v1::UNAVAILABLE), 1U) << "once";
  other.beat();
  EXPECT_TRUE(other.expect().has_beat());
}

TEST_F(HubTest, AServerThatIsToStopDoesNotWaitForWhomItLost) {
  Lines lines;
  Probe stays(*hub, 0);
  Probe also(*hub, 1);
  begin(1, 3);
  {
    Probe lost(*hub, 2);
    static_cast<void>(lost.task());
  }
  EXPECT_EQ(stays.answer(stays.task(), update(1)).reason(), v1::ACCEPTED);
  EXPECT_EQ(also.answer(also.task(), update(2)).reason(), v1::ACCEPTED);
  drain.request();
  ASSERT_TRUE(lines.await("told to stop"));
  clock.advance(options.grace_seconds);
  exchange.join();
  EXPECT_EQ(std::get<ClientDropped>(outcomes.at(ClientId{2}).answer).reason, "its connection was lost");
  EXPECT_EQ(counted_of(0), update(1));
}

TEST_F(HubTest, AServerThatIsToStopGivesWhomItLostTheGrace) {
  options.grace_seconds = 100;
  hub = start_hub();
  Lines lines;
  Probe stays(*hub, 0);
  begin(1, 2);
  {
    Probe lost(*hub, 1);
    static_cast<void>(lost.task());
  }
  EXPECT_EQ(stays.answer(stays.task(), update(1)).reason(), v1::ACCEPTED);
  drain.request();
  ASSERT_TRUE(lines.await("told to stop"));
  clock.advance(99);
  ASSERT_TRUE(clock.await_sleepers(1));
  ASSERT_EQ(hub->under_way(), (std::pair<Round, int>(1, 1))) << "it may come back";
  Probe back(*hub, 1);
  EXPECT_EQ(back.answer(back.task(), update(2)).reason(), v1::ACCEPTED);
  exchange.join();
  EXPECT_EQ(counted_of(1), update(2));
}

TEST_F(HubTest, AServerThatIsToStopSaysForWhomItWaits) {
  Lines lines;
  Probe stays(*hub, 0);
  Probe slow(*hub, 1);
  begin(1, 2);
  EXPECT_EQ(stays.answer(stays.task(), update(1)).reason(), v1::ACCEPTED);
  const v1::Task task = slow.task();
  drain.request();
  ASSERT_TRUE(lines.await("told to stop"));
  clock.advance(options.round_seconds - 1);
  ASSERT_TRUE(clock.await_sleepers(1));
  EXPECT_EQ(hub->under_way(), (std::pair<Round, int>(1, 1))) << "it is there, and may still answer";
  EXPECT_EQ(slow.answer(task, update(2)).reason(), v1::ACCEPTED);
  exchange.join();
  EXPECT_EQ(lines.with("told to stop").size(), 1U) << "once";
  EXPECT_EQ(lines.with("waits for client 1;").size(), 1U);
  EXPECT_EQ(counted_of(1), update(2));
}

TEST_F(HubTest, ARoundThatTakesLongSaysForWhomItWaits) {
  options.dead_seconds = 10;
  hub = start_hub();
  Lines lines;
  Probe stays(*hub, 0);
  Probe slow(*hub, 1, "ward-b");
  begin(1, 3);
  EXPECT_EQ(stays.answer(stays.task(), update(1)).reason(), v1::ACCEPTED);
  const v1::Task task = slow.task();
  for (int i = 0; i < 3; ++i) {
    clock.advance(10);
    ASSERT_TRUE(clock.await_sleepers(1));
  }
  EXPECT_EQ(lines.with("round 1: 1 answers so far; waits for clients 1 (ward-b), 2 (1 not connected), for ").size(),
            1U);
  EXPECT_EQ(slow.answer(task, update(2)).reason(), v1::ACCEPTED);
  Probe late(*hub, 2);
  EXPECT_EQ(late.answer(late.task(), update(3)).reason(), v1::ACCEPTED);
  exchange.join();
}

}  // namespace
}  // namespace feroma::net::test
