// Clients that take no part in training ask a server for a model.
#include <gtest/gtest.h>

#include <limits>

#include "feroma/net/codec.h"
#include "feroma/privacy/ledger.h"
#include "feroma/runtime/round_loop.h"
#include "net/visitor.h"
#include "tests/core/expect_error.h"
#include "tests/net/federation_fixture.h"

namespace feroma::net::test {
namespace {

/// Samples that are the same whatever a model calls things.
ReadVisitor reads(const VisitorSamples& samples) {
  return [samples](const DataNames&) { return samples; };
}

class Visiting : public FederationTest {
 protected:
  /// A server that has finished its rounds and is still there.
  void serve(const Experiment& what, int candidates = 3) {
    todo = plan(what);
    todo.server.candidates = candidates;
    coordinator = std::make_unique<Coordinator>(todo, stop);
    std::vector<std::jthread> clients;
    for (int id = 0; id < what.scenario.clients; ++id) {
      clients.emplace_back([this, id] {
        live(static_cast<std::uint32_t>(id), [&] { return std::make_unique<Pipe>(coordinator->hub()); });
      });
    }
    coordinator->run();
  }

  std::variant<Assigned, Ending> visit(const VisitorSamples& samples, const VisitorWish& wish = {},
                                       const Pipe::Meddle& meddle = {}) {
    Pipe pipe(coordinator->hub(), {"pipe", std::nullopt, ""}, meddle);
    return pay_visit(pipe, {folder / "visitor"}, reads(samples), wish, stop);
  }

  /// Of two visits.
  void expect_what_the_store_does();

  FederationPlan todo;
  std::unique_ptr<Coordinator> coordinator;
};

std::vector<float> values_of(const Offer& offer) {
  return {offer.models.front()->values().begin(), offer.models.front()->values().end()};
}

TEST_F(Visiting, AServerAssignsWhatItsStoreDoes) {
  serve(experiment("name = 'feroma'\nwarmup_rounds = 2"));
  expect_what_the_store_does();
}

// Visitors are told how inputs are scaled before they describe theirs.
TEST_F(Visiting, AServerOfScaledModelsAssignsWhatItsStoreDoes) {
  serve(experiment("name = 'feroma'\nwarmup_rounds = 2", {"training.standardise=true"}));
  expect_what_the_store_does();
}

// It is sent the encoder, tells embeddings and gets one expert.
TEST_F(Visiting, AServerMatchesAVisitorOfShiftExAsItsStoreDoes) {
  serve(experiment("name = 'shiftex'"));
  expect_what_the_store_does();
}

void Visiting::expect_what_the_store_does() {
  const OpenedStore store = open_store(todo.state, "");
  for (const VisitorWish& wish : {VisitorWish{false, 3}, VisitorWish{true, 2}}) {
    const TestShard shard = federation->test(ClientId{3}, kFewLabels);
    const VisitorSamples samples{shard.data, wish.few_labels ? &shard.few_labels : nullptr};
    const Assigned expected = assign_from(store, samples, wish, nullptr);
    const auto got = std::get<Assigned>(visit(samples, wish));
    EXPECT_EQ(values_of(got.offer), values_of(expected.offer));
    EXPECT_EQ(got.choice, expected.choice);
    EXPECT_EQ(got.candidates, expected.candidates);
    EXPECT_EQ(got.bytes_down, expected.bytes_down);
    EXPECT_EQ(got.bytes_up, expected.bytes_up);
    EXPECT_EQ(got.scales, store.scales);
    EXPECT_EQ(got.scales.empty(), !store.experiment.training.standardise);
    EXPECT_TRUE(got.offer.sources.empty() || got.offer.sources.front().empty()) << "whose models they are stays there";
  }
  EXPECT_EQ(coordinator->hub().traffic().visitors, 2U);
}

// A method that comes after training: the rates travel, and the visitor adapts by them.
TEST_F(Visiting, AVisitorAdaptsAsTestClientsDo) {
  serve(experiment("name = 'atp'\nrate_rounds = 2\nrate_learning_rate = 1.0"));
  const OpenedStore store = open_store(todo.state, "");
  const TestShard shard = federation->test(ClientId{3}, kFewLabels);
  const Assigned expected = assign_from(store, {shard.data}, {}, nullptr);
  const auto got = std::get<Assigned>(visit({shard.data}));
  ASSERT_TRUE(expected.offer.adaptation && got.offer.adaptation);
  EXPECT_EQ(got.offer.adaptation->rates, expected.offer.adaptation->rates);
  EXPECT_EQ(got.bytes_down, expected.bytes_down);
  const std::unique_ptr<Engine> engine = visitor_engine(store.experiment, store.model);
  Trainer trainer(*engine);
  const auto predictions = [&](const Offer& offer) { return make_predictor(offer)->predict(trainer, shard.data); };
  EXPECT_EQ(predictions(got.offer), predictions(expected.offer));
  Offer unadapted = got.offer;
  unadapted.adaptation.reset();
  EXPECT_NE(predictions(got.offer), predictions(unadapted));
}

TEST_F(Visiting, AMethodOfCommunitiesRefusesByName) {
  serve(experiment("name = 'cola'", {"scenario.rounds=1", "scenario.drifts=1"}));
  const TestShard shard = federation->test(ClientId{0}, kFewLabels);
  const auto ending = std::get<Ending>(visit({shard.data}));
  EXPECT_EQ(ending.reason, v1::UNAVAILABLE);
  EXPECT_TRUE(ending.text.starts_with("[cola] test clients adapt side by side")) << ending.text;
}

TEST_F(Visiting, TheServerLimitsTheCandidates) {
  const TestShard shard = [&] {
    serve(experiment("name = 'feroma'\nwarmup_rounds = 2"));
    return federation->test(ClientId{0}, kFewLabels);
  }();
  const auto greedy = std::get<Assigned>(visit({shard.data, &shard.few_labels}, {true, 50}));
  EXPECT_EQ(greedy.candidates, todo.server.candidates);
}

// Labels or not, nothing but a mixture leaves.
TEST_F(Visiting, AServerMayOfferNoCandidates) {
  serve(experiment("name = 'feroma'\nwarmup_rounds = 2"), /*candidates=*/0);
  const TestShard shard = federation->test(ClientId{0}, kFewLabels);
  const auto greedy = std::get<Assigned>(visit({shard.data, &shard.few_labels}, {true, 50}));
  EXPECT_EQ(greedy.choice, Choice::as_offered);
  EXPECT_EQ(greedy.candidates, 1);
  EXPECT_EQ(values_of(greedy.offer), values_of(std::get<Assigned>(visit({shard.data})).offer));
}

// A cluster may be one client's, and there is no mixture of them.
TEST_F(Visiting, AServerThatOffersNoCandidatesKeepsItsClusters) {
  serve(experiment("name = 'ifca'", {"scenario.rounds=1", "scenario.drifts=1"}), /*candidates=*/0);
  const TestShard shard = federation->test(ClientId{0}, kFewLabels);
  for (const VisitorWish& wish : {VisitorWish{false, 3}, VisitorWish{true, 3}}) {
    const auto ending = std::get<Ending>(visit({shard.data, wish.few_labels ? &shard.few_labels : nullptr}, wish));
    EXPECT_EQ(ending.reason, v1::UNAVAILABLE);
    EXPECT_NE(ending.text.find("cluster models"), std::string::npos) << ending.text;
  }
}

TEST_F(Visiting, WhoComesTooEarlyComesAgain) {
  todo = plan(experiment("name = 'fedavg'"));
  coordinator = std::make_unique<Coordinator>(todo, stop);
  const TestShard shard = federation->test(ClientId{0}, kFewLabels);
  const auto ending = std::get<Ending>(visit({shard.data}));
  EXPECT_EQ(ending.reason, v1::LATE);
  EXPECT_GT(ending.retry_seconds, 0);
}

TEST_F(Visiting, SamplesOfAnotherKindAreRefusedByTheClient) {
  serve(experiment("name = 'fedavg'", {"scenario.rounds=1", "scenario.drifts=1"}));
  View other = federation->test(ClientId{0}, kFewLabels).data;
  other.shape = {1, 28, 28};
  try {
    static_cast<void>(visit({other}));
    ADD_FAILURE() << "nothing was thrown";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "the federation's samples are 3x28x28, this client's are 1x28x28");
  }
}

TEST_F(Visiting, UnderABudgetEveryVersionOfTheDataIsToldOnce) {
  serve(experiment("name = 'feroma'\nwarmup_rounds = 2\n[privacy]\nmode = 'gaussian'\nepsilon_total = 20\n"));
  const TestShard first = federation->test(ClientId{0}, kFewLabels);
  const TestShard second = federation->test(ClientId{1}, kFewLabels);
  const std::filesystem::path ledger = folder / "visitor" / "ledger";
  const auto got = std::get<Assigned>(visit({first.data, nullptr, 7}));
  EXPECT_EQ(audit_ledger(ledger).size(), 1U);
  const auto again = std::get<Assigned>(visit({first.data, nullptr, 7}));
  EXPECT_EQ(values_of(again.offer), values_of(got.offer)) << "what was told is told again";
  EXPECT_EQ(audit_ledger(ledger).size(), 1U);
  static_cast<void>(visit({second.data, nullptr, 8}));
  ASSERT_EQ(audit_ledger(ledger).size(), 2U) << "other data must not be served by what was told of the first";
  EXPECT_NE(audit_ledger(ledger)[0].digest, audit_ledger(ledger)[1].digest);
}

TEST_F(Visiting, ALostLedgerIsMissedByTheServerAndByTheFileBesideTheData) {
  serve(experiment("name = 'feroma'\nwarmup_rounds = 2\n[privacy]\nmode = 'gaussian'\nepsilon_total = 20\n"));
  const TestShard shard = federation->test(ClientId{0}, kFewLabels);
  const auto visit_as = [&](std::uint32_t number, const std::string& data, bool has_file) -> std::string {
    VisitorOptions options{folder / ("visitor-" + data)};
    options.data = data;
    options.witness = has_file ? folder / (data + "-releases") : "";
    Pipe pipe(coordinator->hub(), {"pipe", ClientId{number}, ""});
    try {
      return std::holds_alternative<Assigned>(pay_visit(pipe, options, reads({shard.data, nullptr, 7}), {}, stop))
                 ? ""
                 : "no";
    } catch (const Error& error) {
      return error.what();
    }
  };
  EXPECT_EQ(visit_as(1000, "aa", false), "");
  EXPECT_EQ(visit_as(1000, "bb", true), "");
  EXPECT_EQ(visit_as(1001, "cc", true), "");
  EXPECT_EQ(visit_as(1000, "aa", false), "") << "what was told is told again";
  for (const char* data : {"aa", "bb", "cc"}) {
    std::filesystem::remove_all(folder / (std::string("visitor-") + data));
  }
  EXPECT_NE(visit_as(1000, "aa", false).find("the server knows of 1"), std::string::npos);
  EXPECT_NE(visit_as(1000, "bb", true).find("bb-releases knows of 1"), std::string::npos);
  EXPECT_NE(visit_as(1002, "cc", true).find("cc-releases knows of 1"), std::string::npos) << "with another certificate";
  // A server that was started again knows it still, and of each visitor's data by themselves.
  coordinator.reset();
  coordinator = std::make_unique<Coordinator>(todo, stop);
  EXPECT_NE(visit_as(1000, "aa", false).find("the server knows of 1"), std::string::npos);
  EXPECT_EQ(visit_as(1000, "dd", false), "");
  EXPECT_EQ(visit_as(1003, "aa", false), "") << "nobody is told of another's";
}

/// Introduces a visitor that speaks for itself; returns its session.
std::string begin_visit(Pipe& pipe, Outbox& outbox) {
  v1::Hello hello;
  hello.set_protocol(kProtocol);
  hello.mutable_visit()->set_candidates(3);
  std::string session;
  static_cast<void>(introduce(hello, pipe, outbox, session));
  return session;
}

// Otherwise one that lies could fill the server's disk.
TEST_F(Visiting, TheJournalKeepsAHundredCountsOfAHundredData) {
  serve(experiment("name = 'fedavg'", {"scenario.rounds=1", "scenario.drifts=1"}));
  const auto journal_after = [&](const std::string& data, std::uint64_t releases) {
    Pipe pipe(coordinator->hub(), {"pipe", ClientId{1000}, ""});
    Outbox outbox(pipe);
    Intake intake(begin_visit(pipe, outbox), std::uint64_t{1} << 30);
    v1::ServerFrame frame;
    while (pipe.receive(frame)) {
      const std::optional<Saying> saying = intake.take(frame);
      if (saying && std::holds_alternative<Job>(*saying)) {
        v1::Answer head;
        head.set_phase(kQuestionPhase);
        head.set_task(std::get<Job>(*saying).task.digest());
        head.mutable_released()->set_releases(releases);
        head.mutable_released()->set_data(data);
        outbox.send(head, Bytes(10));
        break;
      }
    }
    return std::filesystem::file_size(todo.state / "journal");
  };
  std::uintmax_t size = std::filesystem::file_size(todo.state / "journal");
  for (std::uint64_t releases = 1; releases <= 100; ++releases) {
    const std::uintmax_t grown = journal_after("aa", releases);
    ASSERT_GT(grown, size) << releases;
    size = grown;
  }
  EXPECT_EQ(journal_after("aa", 101), size);
  for (int other = 1; other < 100; ++other) {
    const std::uintmax_t grown = journal_after(fmt::format("{:04x}", other), 1);
    ASSERT_GT(grown, size) << other;
    size = grown;
  }
  EXPECT_EQ(journal_after("bb", 1), size);
}

TEST_F(Visiting, WhoAsksForPrivacyTellsNothingToAServerWithout) {
  serve(experiment("name = 'feroma'\nwarmup_rounds = 2"));
  VisitorOptions options{folder / "visitor"};
  options.privacy.mode = PrivacyMode::gaussian;
  const TestShard shard = federation->test(ClientId{0}, kFewLabels);
  bool told = false;
  Pipe pipe(coordinator->hub(), {"pipe", std::nullopt, ""}, [&](v1::ClientFrame& frame) {
    told = told || frame.has_answer() || frame.has_piece();
    return true;
  });
  try {
    static_cast<void>(pay_visit(pipe, options, reads({shard.data}), {}, stop));
    ADD_FAILURE() << "nothing was thrown";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "[privacy] this client asks for mode gaussian or stricter, the federation has off");
  }
  EXPECT_FALSE(told);
}

/// A visitor that says what the test wants instead of a description.
TEST_F(Visiting, DescriptionsThatCannotBeBelievedAreRefused) {
  serve(experiment("name = 'feroma'\nwarmup_rounds = 2"));
  const std::shared_ptr<const ParamLayout> layout =
      initialise(make_model("lenet5", {3, 28, 28}, 10), Rng(1)).shared_layout();
  const auto refused_with = [&](const std::function<Bytes(const Message& question)>& lie) {
    Pipe pipe(coordinator->hub());
    Outbox outbox(pipe);
    Intake intake(begin_visit(pipe, outbox), std::uint64_t{1} << 30);
    v1::ServerFrame frame;
    while (pipe.receive(frame)) {
      std::optional<Saying> saying = intake.take(frame);
      if (saying && std::holds_alternative<Ending>(*saying)) {
        return std::get<Ending>(*saying).reason;
      }
      if (saying && std::holds_alternative<Job>(*saying)) {
        const Job& job = std::get<Job>(*saying);
        if (job.task.phase() == kOfferPhase) {
          return v1::ACCEPTED;
        }
        v1::Answer head;
        head.set_phase(kQuestionPhase);
        head.set_task(job.task.digest());
        outbox.send(head, lie(decode_message(job.bytes, layout, "question")));
      }
    }
    return v1::REASON_UNSPECIFIED;
  };
  const auto profile = [&](std::size_t size, float value, std::int64_t samples) {
    return [=](const Message&) {
      return encode_message({{{"profile", Floats(size, value)}, {"num_samples", Ints{samples}}}}, *layout);
    };
  };
  const std::size_t right = open_store(todo.state, "").algorithm->profile_shape()->label_free_size();
  EXPECT_EQ(refused_with(profile(right, 0.5F, 100)), v1::ACCEPTED) << "the others must fail for what they say";
  EXPECT_EQ(refused_with(profile(right + 1, 0.5F, 100)), v1::UNBELIEVABLE);
  EXPECT_EQ(refused_with(profile(right, std::numeric_limits<float>::quiet_NaN(), 100)), v1::UNBELIEVABLE);
  EXPECT_EQ(refused_with(profile(right, 0.5F, -1)), v1::UNBELIEVABLE);
  EXPECT_EQ(refused_with([&](const Message&) {
              return encode_message(
                  {{{"profile", Floats(right, 0.5F)}, {"num_samples", Ints{100}}, {"labels", Ints{1}}}}, *layout);
            }),
            v1::UNBELIEVABLE)
      << "nobody asked for labels";
  EXPECT_EQ(refused_with([&](const Message&) { return encode_message({}, *layout); }), v1::UNBELIEVABLE);
  EXPECT_EQ(refused_with([](const Message&) { return Bytes(50); }), v1::MALFORMED);
}

/// A visitor that is asked and then thinks for a while.
class Thinking : public Visiting {
 protected:
  /// Whether its description is still welcome after some time, at a server with these options.
  bool welcome_after(double pause, double dead_seconds, double round_seconds) {
    serve(experiment("name = 'fedavg'", {"scenario.rounds=1", "scenario.drifts=1"}));
    coordinator.reset();
    todo.server.clock = &clock;
    todo.server.dead_seconds = dead_seconds;
    todo.server.round_seconds = round_seconds;
    coordinator = std::make_unique<Coordinator>(todo, stop);
    bool thought = false;
    const auto answer = visit({federation->test(ClientId{0}, kFewLabels).data}, {}, [&](v1::ClientFrame& frame) {
      if (frame.has_answer() && !std::exchange(thought, true)) {
        clock.advance(pause);
        coordinator->hub().sweep();
      }
      return true;
    });
    coordinator.reset();  // before its clock
    return std::holds_alternative<Assigned>(answer);
  }

  feroma::test::FakeClock clock;
};

TEST_F(Thinking, MayTakeLongerThanASilentClient) {
  EXPECT_TRUE(welcome_after(/*pause=*/4, /*dead_seconds=*/1, /*round_seconds=*/600));
}

TEST_F(Thinking, MayTakeNoLongerThanAnExchange) {
  EXPECT_FALSE(welcome_after(/*pause=*/4, /*dead_seconds=*/600, /*round_seconds=*/1));
}

// Only what a visitor needs: the encoder and its projection down, sums or moments up, models and weights down.
TEST_F(Visiting, NothingOfOtherClientsTravelsButModels) {
  serve(experiment("name = 'feroma'\nwarmup_rounds = 2"));
  const OpenedStore store = open_store(todo.state, "");
  const Message question = store.algorithm->visitor_question();
  for (const auto& [key, value] : question.values) {
    EXPECT_TRUE(key == "encoder" || key.starts_with("projector") || key == "basis" || key == "offset") << key;
  }
  const TestShard shard = federation->test(ClientId{0}, kFewLabels);
  const Assigned assigned = assign_from(store, {shard.data}, {}, nullptr);
  for (const auto& [key, value] : to_message(assigned.offer).values) {
    EXPECT_TRUE(key == "choice" || key == "count" || key == "weights" || key == "model.0") << key;
  }
}

TEST_F(Visiting, OffersAreReadWithSuspicion) {
  const ParametersPtr model = share(initialise(make_model("mlp", {1, 3, 3}, 3), Rng(1)));
  const Message good = to_message({Choice::as_offered, {model}, {1.0}});
  EXPECT_EQ(offer_from(good).models.size(), 1U);
  const auto refused = [&](const std::string& key, const Blob& value) {
    Message bad = good;
    bad.values[key] = value;
    try {
      static_cast<void>(offer_from(bad));
      ADD_FAILURE() << key << " was believed";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::invalid_data);
    }
  };
  refused("choice", Ints{7});
  refused("choice", Ints{1});  // nothing to weigh where the client chooses
  refused("count", Ints{2});
  refused("count", Ints{-1});
  refused("weights", Floats{0.5F});
  refused("weights", Floats{std::numeric_limits<float>::quiet_NaN()});
  refused("weights", Floats{0.5F, 0.5F});
  refused("profile", Floats{1});
  Parameters poison = model->clone();
  poison.values()[3] = std::numeric_limits<float>::infinity();
  refused("model.0", share(std::move(poison)));
}

TEST_F(Visiting, RatesAreReadWithSuspicion) {
  const ParametersPtr model = share(initialise(make_model("mlp", {1, 3, 3}, 3), Rng(1)));
  const std::size_t tensors = model->layout().segments.size();
  const Message good = to_message(
      {Choice::as_offered, {model}, {1.0}, {}, EntropyAdaptation{Floats(tensors, 0.1F), AdaptMode::online, 7}});
  const Offer read = offer_from(good);
  EXPECT_EQ(read.adaptation->rates, Floats(tensors, 0.1F));
  EXPECT_EQ(read.adaptation->mode, AdaptMode::online);
  EXPECT_EQ(read.adaptation->batch_size, 7);
  const auto refused = [&](const std::string& key, const Blob& value) {
    Message bad = good;
    bad.values[key] = value;
    feroma::test::error_of(ErrorCode::invalid_data, [&] { static_cast<void>(offer_from(bad)); });
  };
  refused("rates", Floats(tensors - 1, 0.1F));
  refused("rates", Floats(tensors, std::numeric_limits<float>::infinity()));
  refused("adaptation", Ints{2, 7});
  refused("adaptation", Ints{0, 0});
  refused("adaptation", Ints{0});
  Message without = good;
  without.values.erase("adaptation");
  feroma::test::error_of(ErrorCode::invalid_data, [&] { static_cast<void>(offer_from(without)); });
}

}  // namespace
}  // namespace feroma::net::test
