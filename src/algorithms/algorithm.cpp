#include "feroma/algorithms/algorithm.h"

namespace feroma {

int Algorithm::phases(Round) const { return 1; }

void Algorithm::check_answer(Round, int, ClientId, const Message&) const {}

std::map<ClientId, std::string> Algorithm::refusals(Round, int, const std::map<ClientId, Message>&) const { return {}; }

int Algorithm::extra_rounds() const { return 0; }

std::unique_ptr<Predictor> Algorithm::predictor(TestPolicy, TestContext&) const { return nullptr; }

Community Algorithm::community(TestPolicy) const { return {}; }

std::optional<ClusterView> Algorithm::clusters() const { return std::nullopt; }

std::unique_ptr<Predictor> Algorithm::personal(const Message&) const { return nullptr; }

void Algorithm::on_window_change(ClientContext&) const {}

const RoundTrace* Algorithm::trace() const { return nullptr; }

std::optional<std::int64_t> Algorithm::profile_floats() const { return std::nullopt; }

}  // namespace feroma
