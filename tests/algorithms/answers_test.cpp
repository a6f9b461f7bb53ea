#include "feroma/algorithms/answers.h"

#include <gtest/gtest.h>

#include <limits>

#include "tests/expect_error.h"
#include "tests/toy_engine.h"

namespace feroma {
namespace {

class AnswerTest : public testing::Test {
 protected:
  template <class Read>
  void refuses(const Message& message, std::string_view text, Read read) {
    expect_error(ErrorCode::invalid_data, text, [&] {
      read(Answer("fedthis", ClientId{4}, message));
      return 0;
    });
  }

  const ParametersPtr like = share(Parameters(make_layout(test::toy_model({1, 2, 2}, 2))));
  const float nan = std::numeric_limits<float>::quiet_NaN();
};

TEST_F(AnswerTest, GivesBackWhatKeepsToTheRules) {
  const Message message{{{"model", like},
                         {"num_examples", Ints{0}},
                         {"rates", Floats{-1, 2}},
                         {"points", Floats{1, 2, 3, 4}},
                         {"counts", Ints{1, 2}}}};
  const Answer answer("fedthis", ClientId{4}, message);
  EXPECT_EQ(answer.model("model", *like), like);
  EXPECT_EQ(answer.examples(), 0);
  EXPECT_EQ(answer.floats("rates", 2), (Floats{-1, 2}));
  EXPECT_EQ(answer.floats("rates", 2, -1, 2), (Floats{-1, 2}));
  EXPECT_EQ(answer.rows("points", 2, 1, 2).size(), 4U);
  EXPECT_EQ(answer.integers("counts", 2, 1, 2), (Ints{1, 2}));
  EXPECT_TRUE(answer.has("rates"));
  EXPECT_FALSE(answer.has("rate"));
}

TEST_F(AnswerTest, KnowsWhatNobodyLookedAt) {
  const Message message{{{"rates", Floats{1}}, {"num_examples", Ints{3}}}};
  const auto looks = [](const Answer& answer) {
    answer.floats("rates", 1);
    EXPECT_TRUE(answer.has("num_examples")) << "to ask whether something is there is not to look at it";
    answer.expect_nothing_else();
  };
  refuses(message, "[fedthis] client 4's num_examples must be left out, got a value that nobody asked for", looks);
  const Answer answer("fedthis", ClientId{4}, message);
  answer.floats("rates", 1);
  answer.examples();
  answer.expect_nothing_else();
  // What somebody else calls it must not make lines of its own in a log.
  const std::string name = "\x1b[2J\nround 9" + std::string(100, 'x');
  refuses({{{name, Ints{1}}}}, "client 4's ?[2J?round 9" + std::string(28, 'x') + " must be left out",
          [](const Answer& other) { other.expect_nothing_else(); });
}

TEST_F(AnswerTest, NamesMethodClientThingRuleAndValue) {
  const auto model = [this](const Answer& answer) { answer.model("model", *like); };
  refuses({}, "[fedthis] client 4's model must be a model, got nothing", model);
  refuses({{{"model", Ints{1}}}}, "client 4's model must be a model, got another kind of value", model);
  refuses({{{"model", ParametersPtr()}}}, "client 4's model must be a model, got an empty one", model);
  refuses({{{"model", share(Parameters(make_layout(test::toy_model({1, 1, 1}, 2))))}}},
          "client 4's model must have 10 values, got 4", model);
  Parameters broken = like->clone();
  broken.values()[3] = nan;
  refuses({{{"model", share(std::move(broken))}}}, "client 4's model must be finite", model);
  Parameters absurd = like->clone();
  absurd.values()[1] = -2e18F;
  refuses({{{"model", share(std::move(absurd))}}},
          "client 4's model must have values of at most 1e+18 in size, got -2e+18; a learning rate may be too large",
          model);
  const auto examples = [](const Answer& answer) { answer.examples(1); };
  refuses({{{"num_examples", Ints{0}}}}, "client 4's num_examples must be in 1..1000000000, got 0", examples);
  refuses({{{"num_examples", Ints{kMostExamples + 1}}}},
          "client 4's num_examples must be in 1..1000000000, got 1000000001", examples);
  refuses({{{"num_examples", Ints{3, 4}}}}, "client 4's num_examples must have 1 values, got 2", examples);
  const auto floats = [](const Answer& answer) { answer.floats("rates", 2, 0, 1); };
  refuses({{{"rates", Floats{1}}}}, "client 4's rates must have 2 values, got 1", floats);
  refuses({{{"rates", Floats{1, nan}}}}, "client 4's rates must be finite, got nan", floats);
  refuses({{{"rates", Floats{1, -2}}}}, "client 4's rates must be in 0..1, got -2", floats);
  const auto rows = [](const Answer& answer) { answer.rows("points", 3, 1, 2); };
  for (const std::size_t size : {0U, 4U, 9U}) {
    refuses({{{"points", Floats(size)}}},
            "client 4's points must be 1 to 2 rows of 3 values, got " + std::to_string(size) + " values", rows);
  }
  refuses({{{"points", Floats{1, 2, nan}}}}, "client 4's points must be finite, got nan", rows);
  refuses({{{"counts", Ints{1, 9}}}}, "client 4's counts must be in 1..5, got 9",
          [](const Answer& answer) { answer.integers("counts", 2, 1, 5); });
}

}  // namespace
}  // namespace feroma
