#include "feroma/runtime/client_pool.h"

#include <gtest/gtest.h>

#include "feroma/algorithms/fedavg.h"
#include "tests/expect_error.h"
#include "tests/toy_engine.h"

namespace feroma {
namespace {

/// Remembers a visit count per client and fails for one of them.
class Visitor final : public Algorithm {
 public:
  void init(const ServerContext&) override {}
  [[nodiscard]] Message downlink(Round, int, ClientId) const override { return {{{"hello", Floats{1, 2}}}}; }
  [[nodiscard]] Message client_step(Round round, int, ClientContext& context, const Message&) const override {
    require(round != 4 || context.id != ClientId{1}, ErrorCode::io, "disk is full");
    require(!(round == 2 && context.id == ClientId{1}), ErrorCode::invalid_data, "[train] loss is not finite");
    const std::int64_t visits = context.state.has("visits") ? context.state.integer("visits") : 0;
    context.state.values["visits"] = Ints{visits + 1};
    const auto draw = static_cast<std::int64_t>(context.rng.next_u32());
    return {{{"visits", Ints{visits + 1}}, {"window", Ints{context.window}}, {"draw", Ints{draw}}}};
  }
  void uplink(Round, int, std::map<ClientId, Message>&, StageSeconds&) override {}
  void on_window_change(ClientContext& context) const override {
    const std::int64_t changes = context.state.has("changes") ? context.state.integer("changes") : 0;
    context.state.values["changes"] = Ints{changes + 1};
  }
  [[nodiscard]] std::unique_ptr<Predictor> predictor(TestPolicy, TestContext&) const override { return nullptr; }
  [[nodiscard]] std::vector<ServedModel> served() const override { return {}; }
  void save(ModelWriter&) const override {}
  void load(ModelReader&) override {}
};

class PoolTest : public testing::Test {
 protected:
  PoolTest()
      : federation(test::toy_dataset(), test::toy_scenario()),
        workers(2, [this] { return std::make_unique<test::ToyEngine>(test::toy_model(federation.shape(), 10)); }),
        pool(federation, workers, Rng(1), stop) {}

  Federation federation;
  std::atomic<bool> stop = false;
  Workers workers;
  SimulatedPool pool;
  std::vector<ClientId> clients{ClientId{0}, ClientId{1}, ClientId{4}};
};

TEST_F(PoolTest, AClientWhoseTrainingFailsDropsOutAndTheRoundGoesOn) {
  const auto outcomes = pool.exchange(Visitor(), 2, 0, clients);
  ASSERT_EQ(outcomes.size(), 3U);
  EXPECT_TRUE(std::holds_alternative<ClientAnswer>(outcomes.at(ClientId{0}).answer));
  EXPECT_TRUE(std::holds_alternative<ClientAnswer>(outcomes.at(ClientId{4}).answer));
  const auto& dropped = std::get<ClientDropped>(outcomes.at(ClientId{1}).answer);
  EXPECT_EQ(dropped.reason, "[train] loss is not finite");
}

TEST_F(PoolTest, CountsBytesBothWays) {
  const auto outcomes = pool.exchange(Visitor(), 1, 0, clients);
  EXPECT_EQ(outcomes.at(ClientId{0}).bytes_down, 8);
  EXPECT_EQ(std::get<ClientAnswer>(outcomes.at(ClientId{0}).answer).bytes_up, 24);
}

TEST_F(PoolTest, EveryClientAndRoundHasAStreamOfItsOwn) {
  const auto draw = [&](Round round, int phase, ClientId client) {
    auto outcomes = pool.exchange(Visitor(), round, phase, clients);
    return std::get<ClientAnswer>(outcomes.at(client).answer).message.integer("draw");
  };
  EXPECT_NE(draw(1, 0, ClientId{0}), draw(1, 0, ClientId{1}));
  EXPECT_NE(draw(1, 0, ClientId{0}), draw(3, 0, ClientId{0}));
  EXPECT_EQ(draw(1, 0, ClientId{0}), draw(1, 0, ClientId{0}));
}

TEST_F(PoolTest, WhatIsNotTheClientsFaultEndsTheRun) {
  expect_error(ErrorCode::io, "disk is full", [&] { return pool.exchange(Visitor(), 4, 0, clients).size(); });
}

TEST_F(PoolTest, ClientsRememberAcrossRoundsAndCheckpoints) {
  const auto visits = [&](SimulatedPool& which) {
    auto outcomes = which.exchange(Visitor(), 3, 0, clients);
    return std::get<ClientAnswer>(outcomes.at(ClientId{4}).answer).message.integer("visits");
  };
  EXPECT_EQ(visits(pool), 1);
  EXPECT_EQ(visits(pool), 2);
  ArchiveWriter archive;
  ModelWriter writer(archive);
  pool.save(writer);
  SimulatedPool restored(federation, workers, Rng(1), stop);
  ArchiveReader reader(archive.bytes(), "state");
  ModelReader models(reader, make_layout(test::toy_model(federation.shape(), 10)));
  restored.load(models);
  reader.expect_end();
  EXPECT_EQ(visits(restored), 3);
  ArchiveReader again(archive.bytes(), "state");
  ModelReader more(again, make_layout(test::toy_model(federation.shape(), 10)));
  restored.load(more);  // replaces what it knew
  EXPECT_EQ(visits(restored), 3);
}

TEST_F(PoolTest, TellsAClientOncePerNewDataVersion) {
  const Visitor visitor;
  for (Round round = 1; round <= 5; ++round) {
    static_cast<void>(pool.exchange(visitor, round, 0, std::span(clients).first(1)));
  }
  ArchiveWriter archive;
  ModelWriter writer(archive);
  pool.save(writer);
  ArchiveReader in(archive.bytes(), "state");
  ModelReader models(in, make_layout(test::toy_model(federation.shape(), 10)));
  ASSERT_EQ(in.get<std::uint64_t>(), 1U);
  static_cast<void>(in.get<ClientId>());
  static_cast<void>(in.get<std::int32_t>());
  EXPECT_EQ(models.get_message().integer("changes"), 3);  // three stages over five rounds

  SimulatedPool restored(federation, workers, Rng(1), stop);
  ArchiveReader whole(archive.bytes(), "state");
  ModelReader reader(whole, make_layout(test::toy_model(federation.shape(), 10)));
  restored.load(reader);
  static_cast<void>(restored.exchange(visitor, 5, 0, std::span(clients).first(1)));
  ArchiveWriter after;
  ModelWriter after_writer(after);
  restored.save(after_writer);
  ArchiveReader after_in(after.bytes(), "state");
  ModelReader after_models(after_in, make_layout(test::toy_model(federation.shape(), 10)));
  static_cast<void>(after_in.get<std::uint64_t>());
  static_cast<void>(after_in.get<ClientId>());
  static_cast<void>(after_in.get<std::int32_t>());
  EXPECT_EQ(after_models.get_message().integer("changes"), 3);  // a resumed run does not tell it again
}

/// Looks at every window of its own up to now, and at one that has not come yet.
class Keeper final : public Algorithm {
 public:
  explicit Keeper(const Federation& federation) : federation_(federation) {}

  void init(const ServerContext&) override {}
  [[nodiscard]] Message downlink(Round, int, ClientId) const override { return {}; }
  [[nodiscard]] Message client_step(Round, int, ClientContext& context, const Message&) const override {
    EXPECT_EQ(context.train_of_window(context.window).items, context.train.items);
    const auto& stages = federation_.schedule().stage_of_round;
    for (Round round = 1; round <= context.round; ++round) {
      const View past = context.train_of_window(stages[static_cast<std::size_t>(round)]);
      EXPECT_EQ(past.items, federation_.shard(context.id, round).train.items);
    }
    for (const int window : {context.window + 1, -1}) {
      expect_error(ErrorCode::internal, "window", [&] { return context.train_of_window(window).size(); });
    }
    return {};
  }
  void uplink(Round, int, std::map<ClientId, Message>&, StageSeconds&) override {}
  [[nodiscard]] std::vector<ServedModel> served() const override { return {}; }
  void save(ModelWriter&) const override {}
  void load(ModelReader&) override {}

 private:
  const Federation& federation_;
};

TEST_F(PoolTest, AClientKeepsTheDataOfItsPastWindows) {
  for (Round round = 1; round <= 5; ++round) {
    const auto outcomes = pool.exchange(Keeper(federation), round, 0, clients);
    EXPECT_TRUE(std::holds_alternative<ClientAnswer>(outcomes.at(ClientId{0}).answer));
  }
  EXPECT_NE(federation.shard(ClientId{0}, 1).train.items, federation.shard(ClientId{0}, 5).train.items);
}

TEST_F(PoolTest, RoundsPastTheScheduleUseTheLastData) {
  auto last = pool.exchange(Visitor(), 5, 0, std::span(clients).first(1));
  auto extra = pool.exchange(Visitor(), 9, 0, std::span(clients).first(1));
  EXPECT_EQ(std::get<ClientAnswer>(last.begin()->second.answer).message.integer("window"),
            std::get<ClientAnswer>(extra.begin()->second.answer).message.integer("window"));
  EXPECT_EQ(std::get<ClientAnswer>(last.begin()->second.answer).message.integer("window"),
            federation.shard(ClientId{0}, 5).window);
}

}  // namespace
}  // namespace feroma
