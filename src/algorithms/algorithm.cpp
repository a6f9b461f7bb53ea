#include "feroma/algorithms/algorithm.h"

namespace feroma {

int Algorithm::phases(Round) const { return 1; }

int Algorithm::task(Round, int phase) const { return phase; }

void Algorithm::check_answer(Round, int, ClientId, const Message&) const {}

std::map<ClientId, std::string> Algorithm::refusals(Round, int, const std::map<ClientId, Message>&) const { return {}; }

bool Algorithm::keeps_budget() const { return false; }

bool Algorithm::ends() const { return false; }

ModelsInMessage Algorithm::most_models(std::uint64_t) const { return {}; }

std::uint64_t Algorithm::models_in_answer(Round, int, ClientId) const { return ModelsInMessage().answer; }

int Algorithm::extra_rounds() const { return 0; }

std::unique_ptr<Predictor> Algorithm::predictor(TestPolicy, TestContext&) const { return nullptr; }

Message Algorithm::visitor_question() const { return {}; }

Message Algorithm::visitor_profile(const Message&, TestContext&) const { return {}; }

std::int64_t Algorithm::description_floats() const { return profile_floats().value_or(0); }

std::optional<Offer> Algorithm::offer(const Message&, const VisitorWish&) const { return std::nullopt; }

std::optional<Offer> Algorithm::settle(const Offer&, TestContext&) const { return std::nullopt; }

Community Algorithm::community(TestPolicy) const { return {}; }

Passes Algorithm::passes_to_serve(int clients, bool) const { return {clients, 0}; }

std::vector<double> Algorithm::strangeness(Trainer&, const View&) const { return {}; }

std::optional<ClusterView> Algorithm::clusters() const { return std::nullopt; }

std::unique_ptr<Predictor> Algorithm::personal(const Message&) const { return nullptr; }

void Algorithm::forget(ClientId) {}

bool Algorithm::asks_for_past_windows() const { return false; }

std::string Algorithm::remark() const { return ""; }

void Algorithm::on_window_change(ClientContext&) const {}

const RoundTrace* Algorithm::trace() const { return nullptr; }

std::optional<ProfileShape> Algorithm::profile_shape() const { return std::nullopt; }

std::optional<std::int64_t> Algorithm::profile_floats() const {
  const std::optional<ProfileShape> shape = profile_shape();
  return shape ? std::optional(static_cast<std::int64_t>(shape->size())) : std::nullopt;
}

void prepare(Algorithm& algorithm, const ServerContext& context) {
  require(!context.privacy.guarded() || algorithm.keeps_budget(), ErrorCode::unsupported,
          "its clients send exact counts, which privacy.mode {} does not allow", name_of(context.privacy.mode));
  algorithm.init(context);
}

bool spends_on_tests(const Algorithm& algorithm, const PrivacyOptions& privacy) {
  return privacy.guarded() && algorithm.profile_shape().has_value();
}

}  // namespace feroma
