#include "algorithms/shared_model.h"

namespace feroma {

void SharedModel::init(const ServerContext& context) { global_ = context.initial; }

Message SharedModel::downlink(Round, int, ClientId) const { return {{{"model", global_}}}; }

Message SharedModel::answer_of(const ClientContext& context, ParametersPtr model) {
  return {{{"model", std::move(model)}, {"num_examples", Ints{context.report.num_examples}}}};
}

void SharedModel::check_answer(Round, int, ClientId client, const Message& message) const {
  const Answer answer(method_, client, message);
  check_model(answer);
  answer.expect_nothing_else();
}

void SharedModel::check_model(const Answer& answer) const {
  answer.model("model", *global_);
  answer.examples();
}

void SharedModel::uplink(Round, int, std::map<ClientId, Message>& answers, StageSeconds& seconds) {
  const StageTimer timer(seconds, Stage::aggregate);
  const ParametersPtr mean = mean_of_answers(answers, "model", averaging());
  if (mean != nullptr) {  // a round in which everybody dropped out leaves the model as it is
    global_ = next(mean);
  }
}

ParametersPtr SharedModel::next(const ParametersPtr& mean) { return mean; }

std::unique_ptr<Predictor> SharedModel::predictor(TestPolicy policy, TestContext&) const {
  const bool serves = policy == TestPolicy::native || (policy == TestPolicy::known_association && !personalised());
  return serves ? make_single_model_predictor(global_) : nullptr;
}

std::vector<ServedModel> SharedModel::served() const { return {{std::nullopt, 0, global_, {}, 0}}; }

void SharedModel::save(ModelWriter& out) const { out.put(global_); }
void SharedModel::load(ModelReader& in) { global_ = in.get_model(); }

}  // namespace feroma
