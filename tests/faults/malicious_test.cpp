// F9: a fifth of the clients send models that no training gives.
#include <limits>

#include "tests/faults/every_method.h"
#include "tests/faults/tampering_link.h"
#include "tests/faults/tiny_federation.h"

namespace feroma::faults {
namespace {

constexpr std::uint32_t kClients = 20;
constexpr std::uint32_t kLiars = 4;  ///< the first ones
constexpr const char* kAlgorithm =
    "name = 'feroma'\nwarmup_rounds = 2\nprofile.dimensions = 6\nmapping.norm_limit = 5.0";

/// The name in the first line, for a folder.
std::string method_of(const std::string& algorithm) { return algorithm.substr(8, algorithm.find('\'', 8) - 8); }

/// Makes a lie of what was sent and what was trained.
using Lie = std::function<float(float sent, float trained)>;

const std::vector<std::pair<std::string, Lie>>& lies() {
  static const std::vector<std::pair<std::string, Lie>> all{
      {"nan", [](float, float) { return std::numeric_limits<float>::quiet_NaN(); }},
      {"infinity", [](float, float) { return std::numeric_limits<float>::infinity(); }},
      {"1e30", [](float, float) { return 1e30F; }},
      {"denormals", [](float, float) { return std::numeric_limits<float>::denorm_min(); }},
      {"constant", [](float, float) { return 0.5F; }},
      {"flipped a hundred times", [](float sent, float trained) { return sent - 100 * (trained - sent); }},
  };
  return all;
}

/// The same number in place of everything that clients train together.
TamperingLink::Tamper telling_everywhere(float number) {
  return [number](const TamperingLink::Subject&, const Message& received, Message& answer) {
    for (auto& [name, value] : answer.values) {
      if (auto* model = std::get_if<ParametersPtr>(&value)) {
        Parameters lie = (*model)->clone();
        std::fill(lie.values().begin(), lie.values().end(), number);
        *model = share(std::move(lie));
      } else if (auto* numbers = std::get_if<Floats>(&value); numbers != nullptr && received.has(name)) {
        std::fill(numbers->begin(), numbers->end(), number);
      }
    }
  };
}

TamperingLink::Tamper telling(const Lie& lie) {
  return [lie](const TamperingLink::Subject&, const Message& received, Message& answer) {
    if (!answer.has("model") || !received.has("model")) {
      return;  // a profile
    }
    Parameters model = answer.model("model")->clone();
    const ParametersPtr sent = received.model("model");
    for (std::size_t i = 0; i < model.size(); ++i) {
      model.values()[i] = lie(sent->values()[i], model.values()[i]);
    }
    answer.values["model"] = share(std::move(model));
  };
}

class Malicious : public TinyFederation {
 protected:
  Malicious() { rows = 60; }

  static double honest_accuracy(const RoundRecord& last) {
    double sum = 0;
    double count = 0;
    for (const ClientRecord& client : last.clients) {
      if (client.client >= kLiars) {
        sum += client.accuracy_after;
        count += 1;
      }
    }
    EXPECT_EQ(count, kClients - kLiars);
    return sum / count;
  }

  /// What honest clients get without the others.
  double usual(const std::string& algorithm = kAlgorithm) {
    FederationPlan without = plan(kClients, kRounds, algorithm, "without " + method_of(algorithm));
    without.server.min_clients = kClients - kLiars;
    return honest_accuracy(play(without, first(kClients, kLiars)));
  }

  void expect_harmless(const std::string& name, const Lie& lie, double usual,
                       const std::string& algorithm = kAlgorithm) {
    FederationPlan todo = plan(kClients, kRounds, algorithm, name);
    const auto layout = make_layout(todo.experiment.model(todo.input, todo.classes));
    std::size_t refused = 0;
    todo.round_finished = [&](const RoundRecord& record, int) { refused += record.dropped.size(); };
    const RoundRecord last = play(todo, first(kClients), [&](Hub& hub, std::uint32_t id, int) {
      return id < kLiars ? std::unique_ptr<ServerLink>(std::make_unique<TamperingLink>(hub, id, layout, telling(lie)))
                         : std::make_unique<Pipe>(hub);
    });
    EXPECT_EQ(refused, kLiars * kRounds) << name << ": every lie is refused";
    for (const DroppedRecord& dropped : last.dropped) {
      EXPECT_LT(dropped.client, kLiars) << name;
      EXPECT_NE(dropped.reason.find(fmt::format("client {}'s", dropped.client)), std::string::npos) << dropped.reason;
    }
    EXPECT_TRUE(all_finite(todo)) << name;
    EXPECT_NEAR(honest_accuracy(last), usual, 1) << name;
  }

  static constexpr int kRounds = 5;
};

TEST_F(Malicious, ModelsThatNoTrainingGivesDoNoHarm) {
  const double without = usual();
  EXPECT_GT(without, 60) << "nothing was learned";
  for (const auto& [name, lie] : lies()) {
    expect_harmless(name, lie, without);
  }
}

// Finite, and small enough to be added up: without a limit they would be everybody's next model, and the last one.
TEST_F(Malicious, NobodyEndsAFederationOfDefaults) {
  const Lie huge = [](float, float) { return 9e17F; };
  const Lie flipped = [](float sent, float trained) { return sent - 1e6F * (trained - sent); };
  for (const std::string algorithm :
       {"name = 'fedavg'", "name = 'feroma'\nwarmup_rounds = 2\nprofile.dimensions = 6"}) {
    const double without = usual(algorithm);
    expect_harmless("huge " + method_of(algorithm), huge, without, algorithm);
    expect_harmless("flipped " + method_of(algorithm), flipped, without, algorithm);
  }
}

// Whatever else a method sends, and whatever it calls its models.
TEST_F(Malicious, NobodyEndsAFederationOfAnyMethod) {
  constexpr std::uint32_t kFew = 8;
  constexpr std::uint32_t kLying = 2;
  for (const Method& method : every_method()) {
    SCOPED_TRACE(method.name);
    FederationPlan todo = plan(kFew, 4, method.toml, method.name);
    const auto layout = make_layout(todo.experiment.model(todo.input, todo.classes));
    std::set<std::uint32_t> refused;
    todo.round_finished = [&](const RoundRecord& record, int) {
      for (const DroppedRecord& dropped : record.dropped) {
        refused.insert(dropped.client);
      }
    };
    const RoundRecord last = play(todo, first(kFew), [&](Hub& hub, std::uint32_t id, int) {
      return id < kLying ? std::unique_ptr<ServerLink>(
                               std::make_unique<TamperingLink>(hub, id, layout, telling_everywhere(9e17F)))
                         : std::make_unique<Pipe>(hub);
    });
    const bool sends_nothing = method.name == "local";
    EXPECT_EQ(refused, sends_nothing ? std::set<std::uint32_t>() : (std::set<std::uint32_t>{0, 1}));
    EXPECT_EQ(last.clients.size(), sends_nothing ? kFew : kFew - kLying) << "the others finish";
    EXPECT_TRUE(all_finite(todo));
  }
}

TEST_F(Malicious, UpdatesThatAreFarTooLongHaveACountOfTheirOwn) {
  const FederationPlan todo = plan(/*clients=*/4, /*rounds=*/3, kAlgorithm, "counted");
  const auto layout = make_layout(todo.experiment.model(todo.input, todo.classes));
  const Lie far = [](float sent, float trained) { return sent - 100 * (trained - sent); };
  Coordinator coordinator(todo, stop);
  {
    const Connect one_lies = [&](Hub& hub, std::uint32_t id, int) {
      return id == 0 ? std::unique_ptr<ServerLink>(std::make_unique<TamperingLink>(hub, id, layout, telling(far)))
                     : std::make_unique<Pipe>(hub);
    };
    std::vector<std::jthread> clients;
    for (const std::uint32_t id : first(4)) {
      clients.emplace_back([&, id] { live(coordinator.hub(), id, todo.state, one_lies); });
    }
    coordinator.run();
  }
  const std::map<std::string, std::uint64_t> answers = coordinator.status().answers;
  ASSERT_TRUE(answers.contains("OUTLIER"));
  EXPECT_EQ(answers.at("OUTLIER"), 3U) << "one in each round";
  EXPECT_EQ(answers.at("ACCEPTED"), 16U) << "nobody can tell before the others' are there";
}

}  // namespace
}  // namespace feroma::faults
