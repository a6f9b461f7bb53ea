// Connections that break, servers that are started again, and clients that do not keep to the rules.
#include <gtest/gtest.h>

#include <limits>

#include "feroma/core/rng.h"
#include "feroma/net/codec.h"
#include "tests/net/federation_fixture.h"
#include "tests/net/tls_tools.h"

namespace feroma::net::test {
namespace {

class Faults : public FederationTest {
 protected:
  void stop_again_and_again();

  Experiment what = experiment("name = 'feroma'\nwarmup_rounds = 2");
};

/// Loses one frame in so many, and the connection with it.
Pipe::Meddle loses(Rng& rng, std::mutex& mutex, std::uint64_t one_in) {
  return [&rng, &mutex, one_in](v1::ClientFrame&) {
    const std::lock_guard lock(mutex);
    return rng.below(one_in) != 0;
  };
}

/// A pipe that is cut when a frame is lost.
class BreakingPipe final : public ServerLink {
 public:
  BreakingPipe(Hub& hub, const Pipe::Meddle& meddle)
      : pipe_(hub, {"pipe", std::nullopt, ""}, [this, meddle](auto& frame) {
          lost_ = lost_ || !meddle(frame);
          return !lost_;
        }) {}
  bool send(const v1::ClientFrame& frame) override {
    const bool sent = pipe_.send(frame);
    if (lost_) {
      pipe_.cancel();
    }
    return sent && !lost_;
  }
  bool receive(v1::ServerFrame& frame) override { return pipe_.receive(frame); }
  void cancel() override { pipe_.cancel(); }

 private:
  std::atomic<bool> lost_ = false;
  Pipe pipe_;
};

TEST_F(Faults, LostConnectionsDoNotChangeTheBits) {
  what.training.standardise = true;  // the sums are asked for again, like a step
  const auto expected = simulated(what);
  const FederationPlan todo = plan(what);
  Coordinator coordinator(todo, stop);
  Rng rng(5);
  std::mutex mutex;
  std::atomic<int> connections = 0;
  std::atomic<int> steps = 0;
  std::vector<std::jthread> clients;
  for (std::uint32_t id = 0; id < 6; ++id) {
    clients.emplace_back([&, id] {
      steps += live(id, [&] {
        connections += 1;
        return std::make_unique<BreakingPipe>(coordinator.hub(), loses(rng, mutex, 25));
      });
    });
  }
  coordinator.run();
  clients.clear();
  EXPECT_GT(connections, 12) << "nothing was lost";
  EXPECT_EQ(steps, 6 * (2 * 1 + 3 * 2)) << "no step was taken twice";
  EXPECT_TRUE(models_in(todo.state / "results") == expected);
}

// The server is stopped again and again, in the middle of whatever it does; clients are not told.
void Faults::stop_again_and_again() {
  const auto expected = simulated(what);
  const FederationPlan todo = plan(what);
  std::mutex mutex;
  Hub* hub = nullptr;
  std::vector<std::jthread> clients;
  for (std::uint32_t id = 0; id < 6; ++id) {
    clients.emplace_back([&, id] {
      live(id, [&]() -> std::unique_ptr<ServerLink> {
        const std::lock_guard lock(mutex);
        return hub == nullptr ? nullptr : std::make_unique<Pipe>(*hub);
      });
    });
  }
  int starts = 0;
  Rng rng(6);
  for (bool done = false; !done; ++starts) {
    Stop halt;
    Coordinator coordinator(todo, halt);
    {
      const std::lock_guard lock(mutex);
      hub = &coordinator.hub();
    }
    std::jthread axe([&, wait = 5 + rng.below(20)](const std::stop_token& end) {
      for (std::uint64_t i = 0; i < wait && !end.stop_requested(); ++i) {
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
      }
      if (!end.stop_requested() && starts < 8) {
        halt.request();
      }
    });
    try {
      coordinator.run();
      done = true;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::interrupted) << error.what();
    }
    axe.request_stop();
    axe.join();
    {
      const std::lock_guard lock(mutex);
      hub = nullptr;
    }
    // A transport lets go of its sessions before the hub ends.
    while (coordinator.hub().connections() > 0) {
      coordinator.hub().sever();
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
  }
  clients.clear();
  EXPECT_GT(starts, 2);
  EXPECT_TRUE(models_in(todo.state / "results") == expected);
}

TEST_F(Faults, ServersThatAreStartedAgainDoNotChangeTheBits) { stop_again_and_again(); }

TEST_F(Faults, ServersThatAreStartedAgainKeepTheScaleOfTheInputs) {
  what.training.standardise = true;
  stop_again_and_again();
}

/// A client that says what the test wants.
class PlainProbe {
 public:
  explicit PlainProbe(Hub& hub, std::uint32_t id = 0) : pipe_(hub) {
    v1::ClientFrame frame;
    frame.mutable_hello()->set_protocol(kProtocol);
    frame.mutable_hello()->set_id(id);
    say(frame);
    welcome = expect();
    session = welcome.session();
  }

  void say(v1::ClientFrame frame) {
    frame.set_session(session);
    frame.set_counter(++counter);
    static_cast<void>(pipe_.send(frame));
  }
  v1::ServerFrame expect() {
    v1::ServerFrame frame;
    EXPECT_TRUE(pipe_.receive(frame));
    return frame;
  }
  /// Reads a task and what belongs to it.
  v1::Task task() {
    v1::Task task = expect().task();
    for (std::size_t got = 0; got < task.size();) {
      got += expect().piece().data().size();
    }
    return task;
  }
  v1::Verdict answer(const v1::Task& task, const Bytes& bytes) {
    const Parcel parcel = make_parcel(bytes);
    v1::ClientFrame frame;
    frame.mutable_answer()->set_round(task.round());
    frame.mutable_answer()->set_phase(task.phase());
    frame.mutable_answer()->set_task(task.digest());
    frame.mutable_answer()->set_size(bytes.size());
    frame.mutable_answer()->set_digest(parcel.digest);
    say(frame);
    for (std::size_t begin = 0; begin < bytes.size(); begin += kPieceSize) {
      v1::ClientFrame piece;
      piece.mutable_piece()->set_data(bytes.data() + begin, std::min(kPieceSize, bytes.size() - begin));
      say(piece);
    }
    return expect().verdict();
  }

  Pipe pipe_;
  v1::ServerFrame welcome;
  std::string session;
  std::uint64_t counter = 0;
};

/// A hub of FedAvg with one exchange going on in a thread of its own.
class Misbehaviour : public ::testing::Test {
 protected:
  Misbehaviour() {
    options.clock = &clock;
    options.round_seconds = 1e6;
    options.min_answers = 1;
    Problems problems;
    SettingsReader reader(parse_settings("[[algorithm]]\nname = 'fedavg'", "test"), problems);
    algorithm = plan_algorithm(reader, "algorithm.0", problems).make();
    ServerContext context;
    context.model = make_model("mlp", {1, 3, 3}, 3);
    context.initial = initial = share(initialise(context.model, Rng(1)));
    context.rounds = 3;
    prepare(*algorithm, context);
    hub = std::make_unique<Hub>(Hub::Job{"job", "", initial->shared_layout(), true, 4}, options, Hub::Past{}, stop);
  }
  /// Begins round 1 with the first clients.
  void begin(std::uint32_t clients = 2) {
    exchange = std::jthread([this, clients] {
      std::vector<ClientId> asked;
      for (std::uint32_t id = 0; id < clients; ++id) {
        asked.push_back(static_cast<ClientId>(id));
      }
      try {
        outcomes = hub->exchange(*algorithm, 1, 0, asked);
      } catch (const Error& error) {
        failure = error.what();
      }
    });
  }
  Bytes update(float value) const {
    Parameters model = initial->clone();
    model.values()[0] = value;
    return encode_message({{{"model", share(std::move(model))}, {"num_examples", Ints{7}}}}, initial->layout());
  }
  std::uint64_t counted(v1::Reason reason) const { return hub->traffic().verdicts[reason]; }

  feroma::test::FakeClock clock;
  ServerOptions options;
  std::unique_ptr<Algorithm> algorithm;
  ParametersPtr initial;
  Stop stop;
  std::unique_ptr<Hub> hub;
  std::map<ClientId, ClientOutcome> outcomes;
  std::string failure;
  std::jthread exchange;
};

TEST_F(Misbehaviour, AnAnswerCountsOnce) {
  PlainProbe probe(*hub, 0);
  PlainProbe other(*hub, 1);
  begin();
  const v1::Task task = probe.task();
  EXPECT_EQ(probe.answer(task, update(1)).reason(), v1::ACCEPTED);
  EXPECT_EQ(probe.answer(task, update(1)).reason(), v1::DUPLICATE);
  EXPECT_EQ(probe.answer(task, update(2)).reason(), v1::CONFLICT);
  EXPECT_EQ(other.answer(other.task(), update(3)).reason(), v1::ACCEPTED);
  exchange.join();
  EXPECT_EQ(std::get<ClientAnswer>(outcomes.at(ClientId{0}).answer).message.model("model")->values()[0], 1);
  EXPECT_EQ(probe.answer(task, update(1)).reason(), v1::LATE) << "never mixed into the next round";
  EXPECT_EQ(counted(v1::CONFLICT), 1U);
}

TEST_F(Misbehaviour, WhatCannotBeBelievedIsRefusedByName) {
  PlainProbe probe(*hub, 0);
  PlainProbe other(*hub, 1);
  begin();
  const v1::Task task = probe.task();
  v1::Task unasked = task;
  unasked.set_digest("another");
  EXPECT_EQ(probe.answer(unasked, update(1)).reason(), v1::UNASKED);
  EXPECT_EQ(probe.answer(task, Bytes(40)).reason(), v1::MALFORMED);
  const ParametersPtr foreign = share(initialise(make_model("mlp", {1, 3, 3}, 4), Rng(1)));
  const v1::Verdict shape = probe.answer(task, encode_message({{{"model", foreign}}}, foreign->layout()));
  EXPECT_EQ(shape.reason(), v1::MALFORMED);
  EXPECT_NE(shape.text().find("other names or shapes"), std::string::npos);
  EXPECT_EQ(probe.answer(task, update(std::numeric_limits<float>::quiet_NaN())).reason(), v1::UNBELIEVABLE);
  EXPECT_EQ(other.answer(other.task(), update(3)).reason(), v1::ACCEPTED);
  exchange.join();
  EXPECT_TRUE(std::holds_alternative<ClientDropped>(outcomes.at(ClientId{0}).answer));
  EXPECT_TRUE(std::holds_alternative<ClientAnswer>(outcomes.at(ClientId{1}).answer));
}

TEST_F(Misbehaviour, FramesThatAreNotFreshEndTheConnection) {
  const auto ended_with = [](PlainProbe& probe) {
    const v1::ServerFrame frame = probe.expect();
    EXPECT_TRUE(frame.has_goodbye());
    return frame.goodbye().reason();
  };
  v1::ClientFrame beat;
  beat.mutable_beat()->set_echo(1);
  PlainProbe again(*hub);
  again.say(beat);
  EXPECT_EQ(again.expect().beat().echo(), 1U);
  again.counter -= 1;  // the same frame once more
  again.say(beat);
  EXPECT_EQ(ended_with(again), v1::REPLAYED);
  PlainProbe stranger(*hub);
  stranger.session = again.session;  // recorded elsewhere
  stranger.say(beat);
  EXPECT_EQ(ended_with(stranger), v1::REPLAYED);
  PlainProbe twice(*hub);
  v1::ClientFrame hello;
  hello.mutable_hello()->set_protocol(kProtocol);
  twice.say(hello);
  EXPECT_EQ(ended_with(twice), v1::MALFORMED);
  PlainProbe nothing(*hub);
  nothing.say({});
  EXPECT_EQ(ended_with(nothing), v1::MALFORMED);
  EXPECT_EQ(counted(v1::REPLAYED), 2U);
}

TEST_F(Misbehaviour, SizesAreCheckedBeforeAnythingIsKept) {
  const auto goodbye = [&](const v1::ClientFrame& frame) {
    PlainProbe probe(*hub);
    probe.say(frame);
    return probe.expect().goodbye().reason();
  };
  v1::ClientFrame huge;
  huge.mutable_answer()->set_size(std::uint64_t{1} << 62);
  EXPECT_EQ(goodbye(huge), v1::TOO_LARGE);
  v1::ClientFrame piece;
  piece.mutable_piece()->set_data("more");
  EXPECT_EQ(goodbye(piece), v1::MALFORMED);
  PlainProbe longer(*hub);
  v1::ClientFrame announced;
  announced.mutable_answer()->set_size(3);
  longer.say(announced);
  longer.say(piece);
  EXPECT_EQ(longer.expect().goodbye().reason(), v1::MALFORMED);
}

TEST_F(Misbehaviour, GreetingsThatDoNotFitAreRefused) {
  EXPECT_EQ(greeted(*hub, [](v1::Hello& hello) { hello.set_protocol(9); }), v1::OTHER_VERSION);
  EXPECT_EQ(greeted(*hub, [](v1::Hello& hello) { hello.set_id(4); }), v1::UNKNOWN_CLIENT);
  EXPECT_EQ(greeted(*hub, [](v1::Hello& hello) { hello.set_job("another"); }), v1::OTHER_JOB);
  EXPECT_EQ(greeted(*hub,
                    [](v1::Hello& hello) {
                      hello.set_job("job");
                      hello.set_committed(1);
                    }),
            v1::AHEAD);
  EXPECT_TRUE(hub->present().empty());
}

TEST_F(Misbehaviour, WhoComesAgainReplacesItself) {
  PlainProbe first(*hub, 2);
  PlainProbe second(*hub, 2);
  EXPECT_EQ(first.expect().goodbye().reason(), v1::TWICE);
  EXPECT_EQ(hub->present(), std::vector<ClientId>{ClientId{2}});
}

TEST_F(Misbehaviour, WhoIsNotHeardIsGivenUp) {
  PlainProbe silent(*hub, 0);
  PlainProbe alive(*hub, 1);
  clock.advance(options.dead_seconds);
  v1::ClientFrame beat;
  beat.mutable_beat()->set_echo(1);
  alive.say(beat);
  hub->sweep();
  EXPECT_EQ(alive.expect().kind_case(), v1::ServerFrame::kBeat);
  EXPECT_EQ(counted(v1::TOO_SLOW), 0U);
  clock.advance(1);
  hub->sweep();
  v1::ServerFrame frame;
  EXPECT_FALSE(silent.pipe_.receive(frame));
  EXPECT_EQ(counted(v1::TOO_SLOW), 1U);
}

TEST_F(Misbehaviour, ARoundEndsWithoutThoseWhoDoNotAnswer) {
  options.quorum = 0.5;
  options.grace_seconds = 1;
  hub = std::make_unique<Hub>(Hub::Job{"job", "", initial->shared_layout(), true, 4}, options, Hub::Past{}, stop);
  std::vector<std::unique_ptr<PlainProbe>> probes;
  for (std::uint32_t id = 0; id < 4; ++id) {
    probes.push_back(std::make_unique<PlainProbe>(*hub, id));
  }
  begin(4);
  EXPECT_EQ(probes[0]->answer(probes[0]->task(), update(1)).reason(), v1::ACCEPTED);
  EXPECT_EQ(probes[1]->answer(probes[1]->task(), Bytes()).reason(), v1::ACCEPTED) << "it failed, and says so";
  EXPECT_EQ(probes[2]->answer(probes[2]->task(), update(1)).reason(), v1::ACCEPTED);
  EXPECT_TRUE(eventually([&] {
    clock.advance(options.grace_seconds);
    return hub->under_way().first == 0;
  })) << "two of three answers were enough";
  exchange.join();
  EXPECT_TRUE(std::holds_alternative<ClientAnswer>(outcomes.at(ClientId{2}).answer));
  EXPECT_EQ(std::get<ClientDropped>(outcomes.at(ClientId{3}).answer).reason, "it did not answer in time");
}

TEST_F(Misbehaviour, OneAnswerOfManyIsNoRound) {
  options.round_seconds = 10;
  options.min_answers = 2;
  hub = std::make_unique<Hub>(Hub::Job{"job", "", initial->shared_layout(), true, 4}, options, Hub::Past{}, stop);
  PlainProbe probe(*hub, 0);
  begin(3);
  EXPECT_EQ(probe.answer(probe.task(), update(1)).reason(), v1::ACCEPTED);
  clock.advance(11);
  exchange.join();
  EXPECT_EQ(failure, "round 1: 1 of 3 clients answered, 2 are needed");
}

}  // namespace
}  // namespace feroma::net::test
