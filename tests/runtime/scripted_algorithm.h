#pragma once

#include <functional>
#include <map>
#include <vector>

#include "feroma/algorithms/algorithm.h"
#include "feroma/core/error.h"

namespace feroma::test {

/// Gives the true class this probability and the next class the rest; knows one source.
class Oracle final : public Predictor {
 public:
  Oracle(float quality, ClientId source) : quality_(quality), sources_{{{source, 0}, 1.0}} {}
  std::vector<float> predict(Trainer&, const View& view) override {
    std::vector<float> probabilities(view.size() * 10);
    for (std::size_t i = 0; i < view.size(); ++i) {
      const auto label = static_cast<std::size_t>(view.label(i));
      probabilities[i * 10 + label] = quality_;
      probabilities[i * 10 + (label + 1) % 10] = 1 - quality_;
    }
    return probabilities;
  }
  [[nodiscard]] const ModelShares& sources() const override { return sources_; }

 private:
  float quality_;
  ModelShares sources_;
};

struct Script {
  int phases = 1;
  std::function<bool(Round, int phase, std::uint32_t client)> drops = [](Round, int, std::uint32_t) { return false; };
  std::function<void(Round, int phase, std::uint32_t client)> checks = [](Round, int, std::uint32_t) {};
  std::vector<float> quality{0, 0.1F, 0.9F, 0.2F, 0.3F, 0.4F};  ///< by round; index 0 is the initial state
  bool finds_the_nearest_of_zero = true;
  bool fails_client_zero = false;
  bool serves = true;
  std::function<RoundTrace(Round)> trace;
  std::function<std::vector<double>(const View&)> strangeness;  ///< empty: it has none
  std::vector<std::vector<std::uint32_t>>* asked = nullptr;     ///< clients whose answers arrived, per uplink
};

/// An algorithm that does what the script says; its state is the last finished round.
class Scripted final : public Algorithm {
 public:
  explicit Scripted(Script script) : script_(std::move(script)) {}
  void init(const ServerContext&) override {}
  [[nodiscard]] int phases(Round) const override { return script_.phases; }
  [[nodiscard]] Message downlink(Round, int, ClientId) const override { return {{{"down", Floats{1}}}}; }
  [[nodiscard]] Message client_step(Round round, int phase, ClientContext& context, const Message&) const override {
    require(!script_.drops(round, phase, to_index(context.id)), ErrorCode::invalid_data, "no luck");
    context.report.num_examples = 10;
    context.report.before = {4, 1, 4};
    context.report.after = {2, 3, 4};
    return {{{"up", Ints{1}}}};
  }
  void check_answer(Round round, int phase, ClientId client, const Message&) const override {
    script_.checks(round, phase, to_index(client));
  }
  void uplink(Round round, int, std::map<ClientId, Message>& answers, StageSeconds&) override {
    round_ = round;
    if (script_.trace) {
      trace_ = script_.trace(round);
    }
    if (script_.asked != nullptr) {
      script_.asked->emplace_back();
      for (const auto& [client, answer] : answers) {
        script_.asked->back().push_back(to_index(client));
      }
    }
  }
  [[nodiscard]] std::unique_ptr<Predictor> predictor(TestPolicy policy, TestContext& context) const override {
    if (!script_.serves) {
      return nullptr;
    }
    if (policy == TestPolicy::nearest_signature && context.id == ClientId{0} && !script_.finds_the_nearest_of_zero) {
      return nullptr;
    }
    if (script_.fails_client_zero && context.id == ClientId{0}) {
      return std::make_unique<Oracle>(0.0F, context.id);
    }
    return std::make_unique<Oracle>(script_.quality[static_cast<std::size_t>(round_)], context.id);
  }
  [[nodiscard]] std::vector<double> strangeness(Trainer&, const View& view) const override {
    return script_.strangeness ? script_.strangeness(view) : std::vector<double>();
  }
  [[nodiscard]] const RoundTrace* trace() const override { return script_.trace ? &trace_ : nullptr; }
  [[nodiscard]] std::vector<ServedModel> served() const override { return {}; }
  void save(ModelWriter& out) const override { out.out().put<std::int32_t>(round_); }
  void load(ModelReader& in) override { round_ = in.in().get<std::int32_t>(); }

 private:
  Script script_;
  Round round_ = 0;
  RoundTrace trace_;
};

}  // namespace feroma::test
