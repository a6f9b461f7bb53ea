#pragma once

#include <array>
#include <memory>
#include <string_view>
#include <utility>

#include "feroma/algorithms/algorithm.h"
#include "feroma/algorithms/local_training.h"

namespace feroma {

/// Which system trains the models that a method for test clients starts from.
enum class StartFrom { fedavg, feroma };
constexpr auto enum_names(StartFrom) {
  using enum StartFrom;
  return std::array<std::pair<StartFrom, std::string_view>, 2>{{{fedavg, "fedavg"}, {feroma, "feroma"}}};
}

/// A method that comes after training: everything is the other system's but what a subclass overrides.
class OnTop : public Algorithm {
 public:
  OnTop(StartFrom start, MomentumChoice momentum_reset);

  void init(const ServerContext& context) override { training_->init(context); }
  [[nodiscard]] int phases(Round round) const override { return training_->phases(round); }
  [[nodiscard]] Message downlink(Round round, int phase, ClientId client) const override {
    return training_->downlink(round, phase, client);
  }
  [[nodiscard]] int task(Round round, int phase) const override { return training_->task(round, phase); }
  [[nodiscard]] Message client_step(Round round, int task, ClientContext& context,
                                    const Message& received) const override {
    return training_->client_step(round, task, context, received);
  }
  void check_answer(Round round, int phase, ClientId client, const Message& answer) const override {
    training_->check_answer(round, phase, client, answer);
  }
  [[nodiscard]] std::map<ClientId, std::string> refusals(Round round, int phase,
                                                         const std::map<ClientId, Message>& answers) const override {
    return training_->refusals(round, phase, answers);
  }
  void uplink(Round round, int phase, std::map<ClientId, Message>& answers, StageSeconds& seconds) override {
    training_->uplink(round, phase, answers, seconds);
  }
  void forget(ClientId client) override { training_->forget(client); }
  [[nodiscard]] bool asks_for_past_windows() const override { return training_->asks_for_past_windows(); }
  void on_window_change(ClientContext& context) const override { training_->on_window_change(context); }
  [[nodiscard]] std::unique_ptr<Predictor> predictor(TestPolicy policy, TestContext& context) const override {
    return training_->predictor(policy, context);
  }
  [[nodiscard]] Message visitor_question() const override { return training_->visitor_question(); }
  [[nodiscard]] Message visitor_profile(const Message& question, TestContext& context) const override {
    return training_->visitor_profile(question, context);
  }
  /// Never absent: a system without a rule of its own has one model for everybody.
  [[nodiscard]] std::optional<Offer> offer(const Message& told, const VisitorWish& wish) const override;
  [[nodiscard]] std::optional<Offer> settle(const Offer& offer, TestContext& context) const override {
    return training_->settle(offer, context);
  }
  [[nodiscard]] Passes passes_to_serve(int clients, bool stranger) const override {
    return training_->passes_to_serve(clients, stranger);
  }
  [[nodiscard]] const RoundTrace* trace() const override { return training_->trace(); }
  [[nodiscard]] std::vector<ServedModel> served() const override { return training_->served(); }
  [[nodiscard]] std::optional<ProfileShape> profile_shape() const override { return training_->profile_shape(); }
  void save(ModelWriter& out) const override { training_->save(out); }
  void load(ModelReader& in) override { training_->load(in); }

 protected:
  /// The model of a training client after the last round: its own, or the one all have.
  [[nodiscard]] ParametersPtr held_by(ClientId client) const;
  /// The model that a test client is given; null where the policy has none for it.
  [[nodiscard]] ParametersPtr assigned(TestPolicy policy, TestContext& context) const;

 private:
  std::unique_ptr<Algorithm> training_;
};

}  // namespace feroma
