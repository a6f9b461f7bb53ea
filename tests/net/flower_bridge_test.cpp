// Flower peers at a hub: what they are asked, what is refused, and who they may be.
#include <cmath>

#include "feroma/net/certificates.h"
#include "net/flower_tensors.h"
#include "tests/core/expect_error.h"
#include "tests/net/federation_fixture.h"
#include "tests/net/flower_peer.h"
#include "tests/net/tls_tools.h"

namespace feroma::net::test {
namespace {

/// A hub of FedAvg with one exchange at a time, and peers that say what the test wants.
class FlowerMisbehaviour : public ::testing::Test {
 protected:
  FlowerMisbehaviour() {
    options.clock = &clock;
    options.min_answers = 1;
    Problems problems;
    SettingsReader reader(parse_settings("[[algorithm]]\nname = 'fedavg'", "test"), problems);
    algorithm = plan_algorithm(reader, "algorithm.0", problems).make();
    ServerContext context;
    context.model = make_model("mlp", {1, 3, 3}, 3);
    context.initial = initial = share(initialise(context.model, Rng(1)));
    context.rounds = 3;
    prepare(*algorithm, context);
    dialect.layout = initial->shared_layout();
    dialect.rounds = 3;
    make_hub();
  }
  /// With the options as they are now.
  void make_hub() {
    Hub::Job job;
    job.id = "job";
    job.layout = initial->shared_layout();
    job.clients = 4;
    hub = std::make_unique<Hub>(job, options, Hub::Past{}, stop);
    ids = std::make_unique<FlowerIds>(*hub, 4, std::filesystem::path());
  }

  /// What a plain client answers, with a model whose first weight is `value`.
  static FlowerPeerThread::Behave behaving(float value) {
    return [value](const flower::ServerMessage& asked) -> std::optional<flower::ClientMessage> {
      return usual(asked, value);
    };
  }
  static flower::ClientMessage usual(const flower::ServerMessage& asked, float value) {
    flower::ClientMessage message;
    if (asked.has_get_properties_ins()) {
      message.mutable_get_properties_res()->mutable_status()->set_code(flower::GET_PROPERTIES_NOT_IMPLEMENTED);
    } else if (asked.has_evaluate_ins()) {
      message.mutable_evaluate_res()->set_loss(0.5F);
      message.mutable_evaluate_res()->set_num_examples(10);
      put(*message.mutable_evaluate_res()->mutable_metrics(), "accuracy", 0.3);
    } else {
      const auto layout = make_layout(make_model("mlp", {1, 3, 3}, 3));
      Parameters model = from_flower(asked.fit_ins().parameters(), layout, "it");
      model.values()[0] = value;
      *message.mutable_fit_res()->mutable_parameters() = to_flower(model);
      message.mutable_fit_res()->set_num_examples(7);
      put(*message.mutable_fit_res()->mutable_metrics(), "train_loss", 0.25);
    }
    return message;
  }
  /// Answers a fit with what `change` makes of the usual answer.
  static FlowerPeerThread::Behave fitting(const std::function<void(flower::ClientMessage&)>& change) {
    return [change](const flower::ServerMessage& asked) -> std::optional<flower::ClientMessage> {
      flower::ClientMessage message = usual(asked, 1);
      if (asked.has_fit_ins()) {
        change(message);
      }
      return message;
    };
  }

  FlowerPeerThread& join(FlowerPeerThread::Behave behave) {
    const std::size_t before = hub->present().size();
    peers.push_back(std::make_unique<FlowerPeerThread>(*hub, *ids, dialect, std::move(behave)));
    for (int i = 0; i < 400 && hub->present().size() == before; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    return *peers.back();
  }
  std::map<ClientId, ClientOutcome> exchange(Round round = 1) {
    return hub->exchange(*algorithm, round, 0, hub->present());
  }
  /// Why the peer's answer in an exchange with a good one does not count.
  std::string refusal(FlowerPeerThread::Behave behave) {
    peers.clear();
    join(behaving(2));
    join(std::move(behave));
    const auto outcomes = exchange();
    EXPECT_TRUE(std::holds_alternative<ClientAnswer>(outcomes.at(ClientId{0}).answer)) << "the others are not touched";
    const auto* dropped = std::get_if<ClientDropped>(&outcomes.at(ClientId{1}).answer);
    return dropped == nullptr ? "it counts" : dropped->reason;
  }

  feroma::test::FakeClock clock;
  ServerOptions options;
  std::unique_ptr<Algorithm> algorithm;
  ParametersPtr initial;
  Stop stop;
  std::unique_ptr<Hub> hub;
  std::unique_ptr<FlowerIds> ids;
  FlowerDialect dialect;
  std::vector<std::unique_ptr<FlowerPeerThread>> peers;
};

TEST_F(FlowerMisbehaviour, AnExchangeHasItsAnswersAndScores) {
  join(behaving(1));
  join(behaving(2));
  EXPECT_EQ(hub->present(), (std::vector<ClientId>{ClientId{0}, ClientId{1}})) << "the lowest free ids";
  const auto outcomes = exchange();
  const auto& answer = std::get<ClientAnswer>(outcomes.at(ClientId{1}).answer).message;
  EXPECT_TRUE(answer.integer("num_examples") == 7);
  const ClientReport& report = outcomes.at(ClientId{1}).report;
  EXPECT_EQ(report.num_examples, 7);
  EXPECT_EQ(report.train_loss, 0.25);
  EXPECT_NEAR(report.before.accuracy(), 30, 1e-9);
  EXPECT_EQ(report.after.count, 10);
  EXPECT_TRUE(eventually([&] { return hub->traffic().verdicts[v1::ACCEPTED] == 2; }));
}

TEST_F(FlowerMisbehaviour, WhoDoesNotEvaluateHasNoScores) {
  join(behaving(1));
  join([](const flower::ServerMessage& asked) -> std::optional<flower::ClientMessage> {
    flower::ClientMessage message = usual(asked, 1);
    if (asked.has_evaluate_ins()) {
      message.mutable_evaluate_res()->mutable_status()->set_code(flower::EVALUATE_NOT_IMPLEMENTED);
    }
    return message;
  });
  const auto outcomes = exchange();
  const ClientReport& report = outcomes.at(ClientId{1}).report;
  EXPECT_EQ(report.num_examples, 7) << "it takes part all the same";
  EXPECT_TRUE(std::isnan(report.before.accuracy()));
  EXPECT_TRUE(std::isnan(report.after.accuracy()));
  EXPECT_TRUE(std::isnan(report.after.loss()));
  EXPECT_NEAR(outcomes.at(ClientId{0}).report.after.accuracy(), 30, 1e-9);
}

TEST_F(FlowerMisbehaviour, WhatCannotBeReadDropsOut) {
  using feroma::test::holds;
  EXPECT_TRUE(holds(
      refusal(fitting([](auto& m) { m.mutable_fit_res()->mutable_parameters()->mutable_tensors()->RemoveLast(); })),
      "the model has 6 tensors, got 5"));
  EXPECT_TRUE(holds(refusal(fitting([](auto& m) {
                      m.mutable_fit_res()->mutable_parameters()->mutable_tensors()->SwapElements(0, 4);
                    })),
                    "must be 200x9, got 3x200"));
  EXPECT_TRUE(holds(refusal(fitting([this](auto& m) {
                      Parameters model = initial->clone();
                      model.values()[5] = std::numeric_limits<float>::quiet_NaN();
                      *m.mutable_fit_res()->mutable_parameters() = to_flower(model);
                    })),
                    "must be finite"));
  EXPECT_TRUE(holds(refusal(fitting([](auto& m) { m.mutable_fit_res()->set_num_examples(-3); })), "got -3"));
  EXPECT_TRUE(holds(refusal(fitting([](auto& m) {
                      m.mutable_fit_res()->mutable_status()->set_code(flower::FIT_NOT_IMPLEMENTED);
                      m.mutable_fit_res()->mutable_status()->set_message("out\nof memory");
                    })),
                    "its fit failed: out?of memory"));
}

TEST_F(FlowerMisbehaviour, WhoDoesNotKeepToTheOrderIsCutOff) {
  FlowerPeerThread& wrong = join([](const flower::ServerMessage& asked) -> std::optional<flower::ClientMessage> {
    flower::ClientMessage message = usual(asked, 1);
    if (asked.has_evaluate_ins()) {
      message.mutable_fit_res();
    }
    return message;
  });
  FlowerPeerThread* twice = nullptr;
  std::atomic<FlowerPeerThread*> itself = nullptr;
  twice = &join([&](const flower::ServerMessage& asked) -> std::optional<flower::ClientMessage> {
    if (asked.has_fit_ins()) {
      itself.load()->bridge().receive(usual(asked, 1));  // and once more below
    }
    return usual(asked, 1);
  });
  itself = twice;
  join(behaving(2));
  std::jthread time([&] {  // who was cut off may come back until the round is over
    EXPECT_TRUE(wrong.was_cut_off());
    EXPECT_TRUE(twice->was_cut_off());
    EXPECT_TRUE(eventually([&] { return hub->traffic().verdicts[v1::ACCEPTED] == 1; }));
    clock.advance(options.round_seconds + 1);
  });
  const auto outcomes = exchange();
  time.join();
  EXPECT_EQ(hub->present(), std::vector<ClientId>{ClientId{2}});
  EXPECT_TRUE(std::holds_alternative<ClientDropped>(outcomes.at(ClientId{0}).answer));
  EXPECT_TRUE(std::holds_alternative<ClientAnswer>(outcomes.at(ClientId{2}).answer));
  EXPECT_EQ(hub->traffic().verdicts[v1::MALFORMED], 2U);
}

TEST_F(FlowerMisbehaviour, WhoSendsNoMessagesIsCutOff) {
  FlowerBridge bridge(*hub, *ids, dialect, {"peer", 20}, [] {});
  bridge.receive_unreadable();
  EXPECT_TRUE(bridge.aborted());
  bridge.receive_unreadable();
  EXPECT_EQ(hub->traffic().verdicts[v1::MALFORMED], 1U) << "it is counted, once";
  bridge.disconnected();
}

TEST_F(FlowerMisbehaviour, WhoDoesNotTakeWhatItIsSentIsCutOff) {
  FlowerBridge::Options patient{"peer", 20};
  patient.pace.clock = &clock;
  patient.pace.base = std::chrono::seconds(20);
  int woken = 0;
  FlowerBridge quick(*hub, *ids, dialect, patient, [] {});
  FlowerBridge stuck(*hub, *ids, dialect, patient, [&] { ++woken; });
  ASSERT_TRUE(quick.next().has_value());
  ASSERT_TRUE(stuck.next().has_value());
  quick.wrote();
  stuck.beat();
  EXPECT_FALSE(stuck.aborted()) << "it has its time";
  clock.advance(30);
  quick.beat();
  EXPECT_FALSE(quick.aborted()) << "it may think about it for as long as it likes";
  woken = 0;
  stuck.beat();
  EXPECT_TRUE(stuck.aborted());
  EXPECT_EQ(woken, 1) << "the transport is told";
  stuck.beat();
  EXPECT_EQ(hub->traffic().verdicts[v1::TOO_SLOW], 1U) << "it is counted, once";
  quick.disconnected();
  stuck.disconnected();
}

TEST_F(FlowerMisbehaviour, WhoDoesNotEvaluateTakesPartAllTheSame) {
  std::atomic<int> evaluations = 0;
  join([&](const flower::ServerMessage& asked) -> std::optional<flower::ClientMessage> {
    flower::ClientMessage message = usual(asked, 1);
    if (asked.has_evaluate_ins()) {
      evaluations += 1;
      message.mutable_evaluate_res()->mutable_status()->set_code(flower::EVALUATE_NOT_IMPLEMENTED);
    }
    return message;
  });
  const auto outcomes = exchange();
  EXPECT_TRUE(std::holds_alternative<ClientAnswer>(outcomes.at(ClientId{0}).answer));
  EXPECT_EQ(outcomes.at(ClientId{0}).report.after.count, 0);
  EXPECT_EQ(evaluations, 1);
}

TEST_F(FlowerMisbehaviour, LateAnswersAreNotMixedIntoTheNextRound) {
  make_hub();
  std::atomic<int> evaluations = 0;
  join([&](const flower::ServerMessage& asked) -> std::optional<flower::ClientMessage> {
    if (asked.has_evaluate_ins() && ++evaluations == 2) {  // all of round 1 is done, but for this
      EXPECT_TRUE(eventually([&] { return hub->traffic().verdicts[v1::ACCEPTED] == 1; })) << "the other's";
      const std::uint64_t told = hub->traffic().bytes_down;
      clock.advance(options.round_seconds + 1);
      // Of the next round the other is given its task last.
      EXPECT_TRUE(eventually([&] { return hub->traffic().bytes_down == 2 * told; }));
    }
    return usual(asked, static_cast<float>(integer_in(asked.fit_ins().config(), "current_round").value_or(0)));
  });
  join(behaving(2));
  const auto first = exchange(1);
  EXPECT_TRUE(std::holds_alternative<ClientDropped>(first.at(ClientId{0}).answer));
  const auto second = exchange(2);
  EXPECT_EQ(std::get<ClientAnswer>(second.at(ClientId{0}).answer).message.model("model")->values()[0], 2)
      << "of round 2, not the late one";
  EXPECT_EQ(hub->traffic().verdicts[v1::LATE], 0U) << "which is not even sent";
}

TEST_F(FlowerMisbehaviour, OneRequestAtATime) {
  FlowerBridge bridge(*hub, *ids, dialect, {"peer", 20}, [] {});
  const std::optional<flower::ServerMessage> first = bridge.next();
  ASSERT_TRUE(first && first->has_get_properties_ins()) << "the server speaks first";
  EXPECT_FALSE(bridge.next().has_value());
  bridge.receive(usual(*first, 1));
  EXPECT_FALSE(bridge.next().has_value()) << "there is nothing to ask yet";
  std::jthread round([&] { static_cast<void>(exchange()); });
  for (const bool evaluates : {true, false, true}) {
    std::optional<flower::ServerMessage> asked;
    while (!(asked = bridge.next())) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    EXPECT_EQ(asked->has_evaluate_ins(), evaluates);
    EXPECT_FALSE(bridge.next().has_value());
    bridge.receive(usual(*asked, 1));
  }
  round.join();
  bridge.disconnected();
  EXPECT_EQ(hub->traffic().verdicts[v1::ACCEPTED], 1U);
}

/// Tells who it is.
FlowerPeerThread::Behave named(const std::string& key, const std::string& value) {
  return [key, value](const flower::ServerMessage& asked) -> std::optional<flower::ClientMessage> {
    flower::ClientMessage message;
    if (asked.has_get_properties_ins()) {
      put(*message.mutable_get_properties_res()->mutable_properties(), key, value);
      return message;
    }
    return std::nullopt;
  };
}

TEST_F(FlowerMisbehaviour, NobodyIsDisplaced) {
  using Ids = std::vector<ClientId>;
  join(named("cid", "2"));
  join(named("partition-id", "0"));
  EXPECT_EQ(hub->present(), (Ids{ClientId{0}, ClientId{2}}));
  Pipe ours(*hub);  // a client of our own protocol
  v1::ClientFrame hello;
  hello.set_counter(1);
  hello.mutable_hello()->set_protocol(kProtocol);
  hello.mutable_hello()->set_id(1);
  EXPECT_TRUE(ours.send(hello));
  for (const char* taken : {"1", "2"}) {
    FlowerPeerThread again(*hub, *ids, dialect, named("cid", taken));
    EXPECT_EQ(again.goodbye(), 10) << "it may come again: the one that is there may be about to go";
  }
  for (const char* impossible : {"4", "-1"}) {
    FlowerPeerThread beyond(*hub, *ids, dialect, named("cid", impossible));
    EXPECT_EQ(beyond.goodbye(), 0);
  }
  join(behaving(1));
  FlowerPeerThread full(*hub, *ids, dialect, behaving(1));
  EXPECT_EQ(full.goodbye(), 10);
  EXPECT_EQ(hub->present(), (Ids{ClientId{0}, ClientId{1}, ClientId{2}, ClientId{3}}));
  EXPECT_EQ(hub->traffic().verdicts[v1::TWICE], 3U);
  peers.clear();
  EXPECT_EQ(hub->present(), Ids{ClientId{1}});
  join(named("client_id", "2"));
  EXPECT_EQ(hub->present(), (Ids{ClientId{1}, ClientId{2}})) << "a place that was left is free again";
}

TEST_F(FlowerMisbehaviour, IdsOfCertificatesAreNotGiven) {
  const feroma::test::TempFolder folder;
  make_authority(folder / "certs");
  static_cast<void>(issue_client(folder / "certs", "site-a", ClientId{0}));
  ids = std::make_unique<FlowerIds>(*hub, 4, folder / "certs");
  FlowerPeerThread impostor(*hub, *ids, dialect, named("cid", "0"));
  EXPECT_EQ(impostor.goodbye(), 0);
  join(behaving(1));
  EXPECT_EQ(hub->present(), std::vector<ClientId>{ClientId{1}});
}

// While somebody carries a new list to the server, the old one may be gone, or the new one half there.
TEST_F(FlowerMisbehaviour, AListThatIsGoneGivesNothingAway) {
  const feroma::test::TempFolder folder;
  make_authority(folder / "certs");
  static_cast<void>(issue_client(folder / "certs", "site-a", ClientId{0}));
  ids = std::make_unique<FlowerIds>(*hub, 4, folder / "certs");
  join(behaving(1));
  ASSERT_EQ(hub->present(), std::vector<ClientId>{ClientId{1}});
  const std::filesystem::path list = client_list_file(folder / "certs");
  std::filesystem::rename(list, folder / "elsewhere");
  FlowerPeerThread impostor(*hub, *ids, dialect, named("cid", "0"));
  EXPECT_EQ(impostor.goodbye(), 1) << "come again when the list is back";
  FlowerPeerThread anybody(*hub, *ids, dialect, behaving(1));
  EXPECT_EQ(anybody.goodbye(), 1);
  EXPECT_EQ(hub->traffic().verdicts[v1::UNAVAILABLE], 2U) << "which is not their fault";
  write_file_atomically(list, std::string_view("# to be continued\n"));
  FlowerPeerThread second(*hub, *ids, dialect, named("cid", "0"));
  EXPECT_EQ(second.goodbye(), 0) << "an id is its certificate's for good";
  EXPECT_EQ(hub->present(), std::vector<ClientId>{ClientId{1}});
}

TEST_F(FlowerMisbehaviour, AServerThatStopsSaysWhenToComeAgain) {
  FlowerPeerThread& peer = join(behaving(1));
  hub->dismiss({v1::SHUTTING_DOWN, "the server stops; come again", 1});
  EXPECT_EQ(peer.goodbye(), 20) << "long enough for a restart: Flower's clients try once";
}

TEST_F(FlowerMisbehaviour, BeatsKeepAPeerThatIsBusy) {
  options.dead_seconds = 10;
  make_hub();
  FlowerPeerThread& alive = join(behaving(1));
  join(behaving(1));  // silent
  EXPECT_TRUE(eventually([&] {
    clock.advance(5);
    alive.bridge().beat();
    hub->sweep();
    return hub->present().size() < 2;
  }));
  EXPECT_EQ(hub->present(), std::vector<ClientId>{ClientId{0}});
  EXPECT_GE(hub->traffic().verdicts[v1::TOO_SLOW], 1U);
}

}  // namespace
}  // namespace feroma::net::test
