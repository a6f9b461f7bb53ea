#include <gtest/gtest.h>

#include "feroma/algorithms/fedavg.h"
#include "feroma/algorithms/fedem.h"
#include "feroma/algorithms/ifca.h"
#include "tests/algorithms/two_concepts.h"

namespace feroma {
namespace {

constexpr std::uint32_t kClients = 20;  ///< ten of each concept

/// Accuracy in percent after training, of every client as the training client that it is, on samples of its concept
/// that nobody has trained on.
double accuracy_on_unseen_data(Algorithm& algorithm, int rounds) {
  test::TwoConcepts toy(kClients);
  algorithm.init(toy.server());
  toy.play(algorithm, rounds);
  const Samples unseen = test::toy_samples(200, test::TwoConcepts::kClasses, Rng(8));
  double sum = 0;
  for (std::uint32_t client = 0; client < kClients; ++client) {
    View view = toy.view(client);
    const std::uint32_t concept_index = view.items.front().recipe;
    view.samples = &unseen;
    view.items.clear();
    for (std::uint32_t i = 0; i < unseen.count(); ++i) {
      view.items.push_back({i, concept_index});
    }
    StageSeconds seconds;
    TestContext context{static_cast<ClientId>(client), view, nullptr, Rng(1), toy.trainer(), seconds};
    sum += score(*serve(algorithm, TestPolicy::known_association, context), toy.trainer(), view).accuracy();
  }
  return sum / kClients;
}

// Half of the clients call a picture one class and half another: right for one half is wrong for the other.
TEST(Recovery, OneModelForTwoConceptsIsRightHalfOfTheTime) {
  const double accuracy = accuracy_on_unseen_data(*make_fedavg({}), 40);
  EXPECT_LT(accuracy, 65);
  EXPECT_GT(accuracy, 35);
}

// Three models for two concepts. All three methods also find them from the initial models of seeds 43 to 48; with seed
// 49 one model fits everybody best at first, so that everybody stays with it.
TEST(Recovery, IfcaFindsBothConcepts) { EXPECT_GT(accuracy_on_unseen_data(*make_ifca({}), 12), 90); }

// Mixtures take longer, because their models share out the classes before they share out the concepts.
TEST(Recovery, FedEmFindsBothConcepts) { EXPECT_GT(accuracy_on_unseen_data(*make_fedem({}), 40), 90); }

TEST(Recovery, FedRcFindsBothConcepts) { EXPECT_GT(accuracy_on_unseen_data(*make_fedrc({}), 40), 90); }

}  // namespace
}  // namespace feroma
