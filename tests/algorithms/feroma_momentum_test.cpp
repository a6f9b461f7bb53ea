// Clients start ahead, where the models for data like theirs were heading.
#include "tests/algorithms/feroma_server.h"

namespace feroma {
namespace {

/// Two rounds of warm-up, then mapped rounds; client k has distribution k, and its model gains 1 in every round.
class MomentumTest : public test::ServerTest {
 protected:
  MomentumTest() {
    options.warmup_rounds = 2;
    options.server_momentum = 0.5;
    options.counts = Counts::none;
  }
  static Message gained(float value, std::int64_t gain) {
    Message message = trained(value);
    message.values["gain"] = Ints{gain};
    return message;
  }
  /// Until both clients have trained the models of their own data once.
  void learn_for_one_round() {
    start();
    answer(1, 0, {{ClientId{0}, gained(0, 0)}});
    answer(2, 0, {{ClientId{0}, gained(0, 0)}});
    answer(3, 0, profiles());
    answer(3, 1, {{ClientId{0}, gained(1, 1)}, {ClientId{1}, gained(10, 1)}});
  }
  std::map<ClientId, Message> profiles() const { return {{ClientId{0}, profiled(0)}, {ClientId{1}, profiled(8)}}; }
};

TEST_F(MomentumTest, TheWarmUpGoesAheadByAQuarterOfIt) {
  start();
  EXPECT_EQ(sent_to(1, 0), 0);
  answer(1, 0, {{ClientId{0}, gained(4, 1)}});
  EXPECT_FLOAT_EQ(sent_to(2, 0), 4 + 0.125F * 4);
  EXPECT_EQ(algorithm->served()[0].model->values()[0], 4) << "what is served does not run ahead";
}

TEST_F(MomentumTest, AClientStartsAheadByWhatTheLikeOfItLearned) {
  learn_for_one_round();
  answer(4, 0, {{ClientId{0}, profiled(8)}, {ClientId{1}, profiled(0)}});  // they change places
  EXPECT_NEAR(sent_to(4, 0), 10 + 0.5 * 10, 1e-5);
  EXPECT_NEAR(sent_to(4, 1), 1 + 0.5 * 1, 1e-5);
  answer(4, 1, {{ClientId{0}, gained(18, 1)}, {ClientId{1}, gained(2, 1)}});
  answer(5, 0, profiles());
  EXPECT_NEAR(sent_to(5, 1), 18 + 0.5 * (18 - 10), 1e-5) << "from the mixture, not from where momentum had led";
}

TEST_F(MomentumTest, WhereTheNearestMayLieAClientFollowsItselfAlone) {
  options.fold = Fold::median;
  learn_for_one_round();
  answer(4, 0, {{ClientId{1}, profiled(8)}, {ClientId{2}, profiled(8)}});
  EXPECT_NEAR(sent_to(4, 1), 10 + 0.5 * 10, 1e-5);
  EXPECT_NEAR(sent_to(4, 2), 10, 1e-5) << "the model of the like of it, but not where that was heading";
}

TEST_F(MomentumTest, StopsWhereTrainingDoesNotPay) {
  start();
  answer(1, 0, {{ClientId{0}, gained(4, -1)}});
  EXPECT_EQ(sent_to(2, 0), 4);
  answer(2, 0, {{ClientId{0}, gained(4, 0)}});
  answer(3, 0, profiles());
  answer(3, 1, {{ClientId{0}, gained(1, 3)}, {ClientId{1}, gained(10, -3)}});
  answer(4, 0, profiles());
  EXPECT_NEAR(sent_to(4, 0), 1, 1e-5);
}

// With the reliable metric a profile of 50 samples is known to about 1/7.
TEST_F(MomentumTest, AClientUnlikeEveryParentDoesNotFollowTheNearestOne) {
  options.metric = Metric::reliable;
  options.kernel = Kernel::gaussian;
  learn_for_one_round();
  answer(4, 0, {{ClientId{0}, profiled(0.1F)}, {ClientId{1}, profiled(8)}, {ClientId{2}, profiled(40)}});
  EXPECT_NEAR(sent_to(4, 0), 1 + 0.5 * 1, 1e-4);
  EXPECT_NEAR(sent_to(4, 2), 10, 1e-4) << "the nearest model, but not where it was heading";
}

// The first model for new data comes from models for other data: that way is a leap, not a direction.
TEST_F(MomentumTest, NobodyFollowsTheLeapToNewData) {
  options.metric = Metric::reliable;
  options.kernel = Kernel::gaussian;
  learn_for_one_round();
  const std::map<ClientId, Message> new_data{{ClientId{0}, profiled(0)}, {ClientId{2}, profiled(40)}};
  answer(4, 0, new_data);
  answer(4, 1, {{ClientId{0}, gained(2, 1)}, {ClientId{2}, gained(100, 50)}});
  answer(5, 0, new_data);
  EXPECT_NEAR(sent_to(5, 2), 100, 1e-3);
  answer(5, 1, {{ClientId{0}, gained(3, 1)}, {ClientId{2}, gained(104, 1)}});
  answer(6, 0, new_data);
  EXPECT_NEAR(sent_to(6, 2), 104 + 0.5 * 4, 1e-3) << "from the second model on there is one";
}

TEST_F(MomentumTest, RefusesAGainThatNoClientCanHave) {
  start();
  EXPECT_THROW(answer(1, 0, {{ClientId{0}, gained(4, std::numeric_limits<std::int64_t>::min())}}), Error);
}

TEST_F(MomentumTest, SurvivesACheckpoint) {
  start();
  answer(1, 0, {{ClientId{0}, gained(4, 1)}});
  const auto again = [this] {
    ArchiveWriter archive;
    ModelWriter writer(archive);
    algorithm->save(writer);
    start();
    ArchiveReader in(archive.bytes(), "state");
    ModelReader reader(in, filled(0)->shared_layout());
    algorithm->load(reader);
  };
  again();
  EXPECT_FLOAT_EQ(sent_to(2, 0), 4.5F);
  answer(2, 0, {{ClientId{0}, gained(4, 0)}});
  answer(3, 0, profiles());
  answer(3, 1, {{ClientId{0}, gained(6, 1)}, {ClientId{1}, gained(10, 1)}});
  again();
  answer(4, 0, profiles());
  EXPECT_NEAR(sent_to(4, 0), 6 + 0.5 * 2, 1e-5);
}

}  // namespace
}  // namespace feroma
