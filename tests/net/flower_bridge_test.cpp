// Flower peers as clients of a hub, without a network between them.
#include "feroma/core/npy.h"
#include "feroma/net/certificates.h"
#include "feroma/runtime/client_step.h"
#include "feroma/runtime/workers.h"
#include "feroma/store/safetensors.h"
#include "net/flower_tensors.h"
#include "net/flower_worker.h"
#include "tests/core/expect_error.h"
#include "tests/net/federation_fixture.h"
#include "tests/net/flower_peer.h"

namespace feroma::net::test {
namespace {

/// Whole federations of Flower peers that train with our own trainer, so that the simulator says what must come out.
class FlowerFederation : public FederationTest {
 protected:
  /// A plain client: it trains and evaluates, and makes no profiles.
  class Plain {
   public:
    Plain(const Experiment& what, const std::shared_ptr<const Federation>& federation, std::uint32_t id)
        : data_(scenario_client_data(federation, static_cast<ClientId>(id))) {
      plan_.id = id;
      plan_.training = what.training;
      plan_.seed = static_cast<std::uint64_t>(what.scenario.seed);
      worker_ = std::make_unique<FlowerWorker>(plan_, *data_);
    }
    flower::ClientMessage answer(const flower::ServerMessage& asked) {
      fits += asked.has_fit_ins() ? 1 : 0;
      return worker_->answer(asked);
    }
    ClientData& data() { return *data_; }
    int fits = 0;

   private:
    FlowerClientPlan plan_;
    std::unique_ptr<ClientData> data_;
    std::unique_ptr<FlowerWorker> worker_;
  };

  /// One that also makes profiles, from nothing but what the request says.
  class Profiling {
   public:
    Profiling(const Experiment& what, const std::shared_ptr<const Federation>& federation, std::uint32_t id)
        : plain_(what, federation, id),
          model_(what.model(federation->shape(), federation->classes())),
          engine_(engine_factory(what.engine(), model_)()),
          trainer_(*engine_),
          id_(static_cast<ClientId>(id)),
          rng_(static_cast<std::uint64_t>(what.scenario.seed)) {}

    flower::ClientMessage answer(const flower::ServerMessage& asked) {
      if (!asked.has_fit_ins() || !is_true(asked.fit_ins().config(), "extract_descriptors")) {
        return plain_.answer(asked);
      }
      const Scalars& config = asked.fit_ins().config();
      const auto array = [&](const std::string& key) {
        return parse_npy(std::as_bytes(std::span(config.at(key).data())), key).as<float>();
      };
      Extractor extractor;
      extractor.encoder = share(from_flower(asked.fit_ins().parameters(), make_layout(model_), "the encoder"));
      extractor.projector.components = array("feroma_projector");
      extractor.projector.centre = array("feroma_projector_centre");
      extractor.projector.input = static_cast<int>(extractor.projector.centre.size());
      extractor.projector.output = static_cast<int>(*integer_in(config, "feroma_conditional"));
      EXPECT_EQ(config.at("feroma_latent").text(), "flatten");
      const auto round = static_cast<Round>(*integer_in(config, "current_round"));
      const ClientShard shard = plain_.data().shard(round);
      if (window_ != shard.window) {  // as our own clients do: one profile for each version of the data
        const FeromaOptions options;
        const View view =
            profile_view(options, shard.train, shard.held_out, client_stream(rng_, id_, round).derive("profile"));
        const EncodedSamples samples = encode_samples(options, extractor.encoder, trainer_, view, true);
        const Profile profile = extract_profile(options, extractor, samples, model_.classes, Subsampling::off, Rng(0));
        window_ = shard.window;
        values_ = encode(profile, profile_shape(options, model_));
        num_samples_ = profile.num_samples;
      }
      EXPECT_EQ(static_cast<std::int64_t>(values_.size()), integer_in(config, "feroma_profile_length"));
      flower::ClientMessage message;
      message.mutable_fit_res()->set_num_examples(num_samples_);
      put(*message.mutable_fit_res()->mutable_metrics(), "profile",
          npy_bytes(values_, std::array<std::int64_t, 1>{static_cast<std::int64_t>(values_.size())}));
      profiles += 1;
      return message;
    }
    int profiles = 0;

   private:
    Plain plain_;
    ModelSpec model_;
    std::unique_ptr<Engine> engine_;
    Trainer trainer_;
    ClientId id_;
    Rng rng_;
    int window_ = -1;
    std::vector<float> values_;
    std::int64_t num_samples_ = 0;
  };

  template <class Client>
  static FlowerPeerThread::Behave as_peer(Client& client) {
    return [&client](const flower::ServerMessage& asked) { return client.answer(asked); };
  }
};

const std::vector<std::string> kThree{"scenario.clients=3"};

TEST_F(FlowerFederation, FedAvgGivesTheBitsOfTheSimulator) {
  const Experiment what = experiment("name = 'fedavg'", kThree);
  const auto expected = simulated(what);
  const FederationPlan todo = plan(what);
  const FlowerDialect dialect = flower_dialect(todo);
  std::deque<Plain> clients;
  Coordinator coordinator(todo, stop);
  FlowerIds ids(coordinator.hub(), 3, {});
  std::deque<FlowerPeerThread> peers;
  for (std::uint32_t id = 0; id < 3; ++id) {
    clients.emplace_back(what, federation, id);
    peers.emplace_back(coordinator.hub(), ids, dialect, as_peer(clients.back()));
  }
  coordinator.run();
  for (FlowerPeerThread& peer : peers) {
    EXPECT_EQ(peer.goodbye(), 0) << "it is over";
  }
  EXPECT_EQ(clients[2].fits, 5);
  EXPECT_TRUE(models_in(todo.state / "results") == expected);
}

TEST_F(FlowerFederation, FeromaWithProfilesGivesTheBitsOfTheSimulator) {
  const Experiment what = experiment("name = 'feroma'\nwarmup_rounds = 2");
  const auto expected = simulated(what);
  const FederationPlan todo = plan(what);
  const FlowerDialect dialect = flower_dialect(todo);
  std::deque<Profiling> clients;
  Coordinator coordinator(todo, stop);
  FlowerIds ids(coordinator.hub(), 6, {});
  std::deque<FlowerPeerThread> peers;
  for (std::uint32_t id = 0; id < 6; ++id) {
    clients.emplace_back(what, federation, id);
    peers.emplace_back(coordinator.hub(), ids, dialect, as_peer(clients.back()));
  }
  coordinator.run();
  peers.clear();
  EXPECT_EQ(clients[2].profiles, 3);
  const auto got = models_in(todo.state / "results");
  EXPECT_EQ(got.size(), expected.size());
  for (const auto& [name, bytes] : expected) {
    // The server's state also says how well models did, which Flower's clients tell unasked.
    EXPECT_TRUE(name.ends_with(".state") || got.at(name) == bytes) << name;
  }
}

TEST_F(FlowerFederation, APlainClientIsAMemberWithoutAProfile) {
  const Experiment what = experiment("name = 'feroma'\nwarmup_rounds = 2", {"scenario.clients=4"});
  const FederationPlan todo = plan(what);
  const FlowerDialect dialect = flower_dialect(todo);
  Coordinator coordinator(todo, stop);
  FlowerIds ids(coordinator.hub(), 4, {});
  Plain plain(what, federation, 0);
  std::deque<Profiling> clients;
  {
    std::deque<FlowerPeerThread> peers;
    peers.emplace_back(coordinator.hub(), ids, dialect, as_peer(plain));
    for (std::uint32_t id = 1; id < 4; ++id) {
      clients.emplace_back(what, federation, id);
      peers.emplace_back(coordinator.hub(), ids, dialect, as_peer(clients.back()));
    }
    coordinator.run();
  }
  EXPECT_EQ(plain.fits, 5 + 1) << "it is asked for a profile once";
  const auto models = models_in(todo.state / "results");
  EXPECT_FALSE(models.contains("feroma-auto-client-0.safetensors")) << "models belong to profiles";
  EXPECT_TRUE(models.contains("feroma-auto-client-1.safetensors"));
}

TEST_F(FlowerFederation, NobodyWithAProfileIsFedAvg) {
  const Experiment feroma = experiment("name = 'feroma'\nwarmup_rounds = 1\nserver_momentum = 0", kThree);
  static_cast<void>(simulated(experiment("name = 'fedavg'", kThree)));
  const FederationPlan todo = plan(feroma);
  const FlowerDialect dialect = flower_dialect(todo);
  std::deque<Plain> clients;
  Coordinator coordinator(todo, stop);
  FlowerIds ids(coordinator.hub(), 3, {});
  {
    std::deque<FlowerPeerThread> peers;
    for (std::uint32_t id = 0; id < 3; ++id) {
      clients.emplace_back(feroma, federation, id);
      peers.emplace_back(coordinator.hub(), ids, dialect, as_peer(clients.back()));
    }
    coordinator.run();
  }
  const auto model = [&](const std::filesystem::path& run, const std::string& name) {
    return read_safetensors(run / "models" / (name + ".safetensors"), dialect.layout).params;
  };
  const Parameters got = model(todo.state / "results", "feroma-auto");
  const Parameters expected = model(folder / "simulated", "fedavg");
  for (std::size_t i = 0; i < got.size(); ++i) {
    ASSERT_NEAR(got.values()[i], expected.values()[i], 1e-5) << i;  // sums in another order
  }
}

/// A hub of FedAvg with one exchange at a time, and peers that say what the test wants.
class FlowerMisbehaviour : public ::testing::Test {
 protected:
  FlowerMisbehaviour() {
    options.clock = 0.05;
    options.round_seconds = 40;  // two seconds
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

  ServerOptions options;
  std::unique_ptr<Algorithm> algorithm;
  ParametersPtr initial;
  std::atomic<bool> stop = false;
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
  EXPECT_EQ(hub->traffic().verdicts[v1::ACCEPTED], 2U);
}

TEST_F(FlowerMisbehaviour, WhatCannotBeReadDropsOut) {
  using testing::holds;
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
  const auto outcomes = exchange();
  EXPECT_TRUE(wrong.was_cut_off());
  EXPECT_TRUE(twice->was_cut_off());
  EXPECT_EQ(hub->present(), std::vector<ClientId>{ClientId{2}});
  EXPECT_TRUE(std::holds_alternative<ClientDropped>(outcomes.at(ClientId{0}).answer));
  EXPECT_TRUE(std::holds_alternative<ClientAnswer>(outcomes.at(ClientId{2}).answer));
  EXPECT_EQ(hub->traffic().verdicts[v1::MALFORMED], 2U);
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
  options.round_seconds = 10;  // half a second
  make_hub();
  std::atomic<int> evaluations = 0;
  join([&](const flower::ServerMessage& asked) -> std::optional<flower::ClientMessage> {
    if (asked.has_evaluate_ins() && ++evaluations == 2) {  // all of round 1 is done, but for this
      std::this_thread::sleep_for(std::chrono::milliseconds(700));
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
  const testing::TempFolder folder;
  make_authority(folder / "certs");
  static_cast<void>(issue_client(folder / "certs", "site-a", ClientId{0}));
  ids = std::make_unique<FlowerIds>(*hub, 4, folder / "certs");
  FlowerPeerThread impostor(*hub, *ids, dialect, named("cid", "0"));
  EXPECT_EQ(impostor.goodbye(), 0);
  join(behaving(1));
  EXPECT_EQ(hub->present(), std::vector<ClientId>{ClientId{1}});
}

TEST_F(FlowerMisbehaviour, AServerThatStopsSaysWhenToComeAgain) {
  FlowerPeerThread& peer = join(behaving(1));
  hub->dismiss({v1::SHUTTING_DOWN, "the server stops; come again", 1});
  EXPECT_EQ(peer.goodbye(), 20) << "long enough for a restart: Flower's clients try once";
}

TEST_F(FlowerMisbehaviour, BeatsKeepAPeerThatIsBusy) {
  options.dead_seconds = 10;  // half a second
  make_hub();
  FlowerPeerThread& alive = join(behaving(1));
  join(behaving(1));  // silent
  for (int i = 0; i < 200 && hub->present().size() == 2; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    alive.bridge().beat();
    hub->sweep();
  }
  EXPECT_EQ(hub->present(), std::vector<ClientId>{ClientId{0}});
  EXPECT_GE(hub->traffic().verdicts[v1::TOO_SLOW], 1U);
}

}  // namespace
}  // namespace feroma::net::test
