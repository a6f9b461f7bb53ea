#pragma once

#include <string_view>

#include "feroma/algorithms/algorithm.h"
#include "feroma/algorithms/answers.h"
#include "feroma/algorithms/local_training.h"

namespace feroma {

/**
 * What methods with one model on the server share: everybody is sent the model and answers with one of its own, and the
 * mean of the answers is the next. A method says how its clients train, and overrides what else is its own.
 */
class SharedModel : public Algorithm {
 public:
  /// `method` outlives the object.
  explicit SharedModel(std::string_view method) : method_(method) {}

  void init(const ServerContext& context) override;
  [[nodiscard]] Message downlink(Round round, int phase, ClientId client) const override;
  void check_answer(Round round, int phase, ClientId client, const Message& answer) const override;
  void uplink(Round round, int phase, std::map<ClientId, Message>& answers, StageSeconds& seconds) override;
  /// The model serves strangers and known clients alike, unless those have a model of their own.
  [[nodiscard]] std::unique_ptr<Predictor> predictor(TestPolicy policy, TestContext& context) const override;
  [[nodiscard]] Passes passes_to_serve(int, bool) const override { return {1, 0}; }
  [[nodiscard]] std::vector<ServedModel> served() const override;
  void save(ModelWriter& out) const override;
  void load(ModelReader& in) override;

 protected:
  /// What every client answers: its model, and how many examples it has trained it on.
  [[nodiscard]] static Message answer_of(const ClientContext& context, ParametersPtr model);
  /// What becomes of the model when clients answered: `mean` is that of their models.
  [[nodiscard]] virtual ParametersPtr next(const ParametersPtr& mean);
  /// How clients count in that mean.
  [[nodiscard]] virtual Averaging averaging() const { return Averaging::examples; }
  /// Whether clients keep models of their own, which then serve those who are known.
  [[nodiscard]] virtual bool personalised() const { return false; }

  /// The part of an answer that all these methods have; the rest is the method's own to check.
  void check_model(const Answer& answer) const;

  [[nodiscard]] std::string_view method() const { return method_; }
  [[nodiscard]] const ParametersPtr& global() const { return global_; }

 private:
  std::string_view method_;
  ParametersPtr global_;
};

}  // namespace feroma
