// Whole federations of Flower peers, without a network between them.
#include "feroma/core/npy.h"
#include "feroma/runtime/client_step.h"
#include "feroma/runtime/workers.h"
#include "feroma/store/safetensors.h"
#include "net/flower_tensors.h"
#include "net/flower_worker.h"
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

}  // namespace
}  // namespace feroma::net::test
