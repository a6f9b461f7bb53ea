#include "feroma/algorithms/local_training.h"

#include <gtest/gtest.h>

#include "feroma/drift/federation.h"
#include "tests/toy_engine.h"

namespace feroma {
namespace {

TEST(LocalTraining, ReportsTheHeldOutSplitBeforeAndAfter) {
  const Federation federation(test::toy_dataset(), test::toy_scenario());
  const ModelSpec model = test::toy_model(federation.shape(), 10);
  test::ToyEngine engine(model);
  Trainer trainer(engine);
  const ClientShard shard = federation.shard(ClientId{0}, 1);
  Message state;
  ClientReport report;
  StageSeconds seconds;
  ClientContext context{ClientId{0}, 1, 0, shard.train, shard.held_out, state, Rng(3), trainer, report, seconds};
  const Parameters received = initialise(model, Rng(1));
  const FitOptions fit{2, 16, 0.2, 0.9, MomentumReset::round};
  const Parameters trained = train_locally(context, received, fit);

  Parameters expected = received.clone();
  const double loss = trainer.fit(expected, shard.train, fit, Rng(3).derive("train"));
  EXPECT_TRUE(std::equal(trained.values().begin(), trained.values().end(), expected.values().begin()));
  EXPECT_EQ(report.train_loss, loss);
  EXPECT_EQ(report.num_examples, static_cast<std::int64_t>(shard.train.size()));
  EXPECT_EQ(report.before.loss(), trainer.evaluate(received, shard.held_out).loss());
  EXPECT_EQ(report.after.loss(), trainer.evaluate(expected, shard.held_out).loss());
  EXPECT_NE(report.before.loss(), report.after.loss());
}

TEST(MomentumChoice, InheritKeepsTheTrainingTablesRule) {
  FitOptions epoch;
  epoch.momentum_reset = MomentumReset::epoch;
  EXPECT_EQ(with_momentum(epoch, MomentumChoice::inherit).momentum_reset, MomentumReset::epoch);
  EXPECT_EQ(with_momentum(epoch, MomentumChoice::round).momentum_reset, MomentumReset::round);
  EXPECT_EQ(with_momentum({}, MomentumChoice::epoch).momentum_reset, MomentumReset::epoch);
}

}  // namespace
}  // namespace feroma
