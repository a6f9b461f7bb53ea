#include "runtime/answer_lengths.h"

#include <gtest/gtest.h>

#include "feroma/models/spec.h"
#include "tests/toy_engine.h"

namespace feroma {
namespace {

const ModelSpec kModel = test::toy_model({1, 1, 1}, 2);  // four values: d everywhere is 2 d long

ParametersPtr four_of(float value) {
  Parameters params(make_layout(kModel));
  std::fill(params.values().begin(), params.values().end(), value);
  return share(std::move(params));
}

ClientId client(std::size_t number) { return ClientId{static_cast<std::uint32_t>(number)}; }

/// What becomes of clients that were all sent the same.
std::map<ClientId, std::string> refused(const Message& sent, const std::vector<Message>& answers) {
  AnswerLengths lengths;
  for (std::size_t i = 0; i < answers.size(); ++i) {
    lengths.add(client(i), sent, answers[i]);
  }
  return lengths.refusals("fedavg", 10);
}

std::vector<Message> models(std::initializer_list<float> values) {
  std::vector<Message> all;
  for (const float value : values) {
    all.push_back({{{"model", four_of(value)}}});
  }
  return all;
}

TEST(AnswerLengths, NameThoseFarBeyondTheOthersAndTheirModel) {
  const auto found = refused({{{"model", four_of(5)}}}, models({6, 4, 7, 9e17F}));
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found.at(ClientId{3}).find("[fedavg] client 3's model update must be at most 10 times as long"), 0U);
}

TEST(AnswerLengths, LetClientsGoWhoseDataChanged) {
  // 40 times the median, and still no further than the model is long: the others hardly move any more.
  const Message sent{{{"model", four_of(5)}}};
  EXPECT_TRUE(refused(sent, models({5.1F, 5.1F, 4.9F, 9})).empty());
  EXPECT_EQ(refused(sent, models({5.1F, 5.1F, 4.9F, 11})).size(), 1U);
  EXPECT_TRUE(refused(sent, models({6, 6, 6, 14})).empty()) << "nine times the median";
  EXPECT_TRUE(refused(sent, {}).empty());
}

TEST(AnswerLengths, MeasureAChoiceAmongSeveralAsItIs) {
  const Message sent{{{"model.0", four_of(1)}, {"model.1", four_of(20)}}};
  const auto found = refused(sent, models({1, 1, 19, 9e17F}));
  ASSERT_EQ(found.size(), 1U) << "who chose the longer model is far from the median, and no further than that model";
  EXPECT_EQ(found.at(ClientId{3}).find("[fedavg] client 3's model must be at most"), 0U);
}

// The client has the model already; nobody else is in its place.
TEST(AnswerLengths, MeasureWhoWasSentNothingBesideTheOthers) {
  AnswerLengths lengths;
  for (std::size_t i = 0; i < 3; ++i) {
    lengths.add(client(i), {{{"model", four_of(5)}}}, {{{"model", four_of(6)}}});
  }
  lengths.add(client(3), {}, {{{"model", four_of(6)}}});
  EXPECT_TRUE(lengths.refusals("shiftex", 10).empty());
  lengths.add(client(4), {}, {{{"model", four_of(9e17F)}}});
  const auto found = lengths.refusals("shiftex", 10);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_TRUE(found.contains(ClientId{4}));
}

TEST(AnswerLengths, MeasureWhatTravelsBesideAModel) {
  const Message sent{{{"model", four_of(1)}, {"score", Floats{1, 1}}}};
  const auto answer = [](float control, float score, float own) {
    return Message{{{"model", four_of(1.1F)},
                    {"control_change", four_of(control)},
                    {"score", Floats{score, score}},
                    {"profile", Floats{own}}}};
  };
  EXPECT_TRUE(refused(sent, {answer(1, 2, 1), answer(-1, 0, 2), answer(1, 2, 9e17F)}).empty())
      << "nothing was sent that a profile could be set beside";
  EXPECT_EQ(refused(sent, {answer(1, 2, 1), answer(-1, 0, 2), answer(9e17F, 2, 1)}).size(), 1U);
  EXPECT_EQ(refused(sent, {answer(1, 2, 1), answer(-1, 0, 2), answer(1, 9e17F, 1)}).size(), 1U);
}

TEST(AnswerLengths, MeasureNumbersOfAnotherSizeAsTheyAre) {
  const Message sent{{{"prototypes", Floats{}}}};  // nobody has told of a class yet
  const auto rows = [](std::size_t count, float value) { return Message{{{"prototypes", Floats(count, value)}}}; };
  EXPECT_TRUE(refused(sent, {rows(4, 1), rows(4, 1), rows(64, 1)}).empty());
  EXPECT_EQ(refused(sent, {rows(4, 1), rows(4, 1), rows(4, 11)}).size(), 1U);
}

}  // namespace
}  // namespace feroma
