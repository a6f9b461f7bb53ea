#pragma once

#include <array>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "feroma/algorithms/algorithm.h"
#include "feroma/algorithms/averaging.h"
#include "feroma/core/problems.h"

namespace feroma {

/// What methods with several models on the server share: IFCA, FeSEM, FedEM and FedRC.
using Models = std::vector<ParametersPtr>;

/// What becomes of a model that no client trained in a round.
enum class EmptyCluster {
  keep,  ///< it stays as it is
  zero,  ///< all its values become zero, as a public implementation does
};
constexpr auto enum_names(EmptyCluster) {
  using enum EmptyCluster;
  return std::array<std::pair<EmptyCluster, std::string_view>, 2>{{{keep, "keep"}, {zero, "zero"}}};
}

/// An option about the choice between models is a mistake where there is one model only.
void check_needs_several(std::string_view option, bool changed, std::string_view count_name, int count,
                         Problems& problems, const std::string& where);

/// Models that start apart. The first is the run's common initial model, so that one alone is FedAvg's.
[[nodiscard]] Models initial_models(const ServerContext& context, int count, std::string_view method);

/// Several models in one message: "model.0", "model.1" and so on.
[[nodiscard]] std::string model_key(std::size_t model);
[[nodiscard]] Message message_of(std::span<const ParametersPtr> models);
[[nodiscard]] Models models_in(const Message& message, std::size_t count);

/// Where the smallest value is; the first of several, and never one that is not a number unless all are.
[[nodiscard]] std::size_t lowest(std::span<const double> values);
/// The model with the lowest mean loss on the client's training data.
[[nodiscard]] std::size_t best_model(ClientContext& context, std::span<const ParametersPtr> models);

/// A model as a client handed it in, and how many examples stand behind it.
struct Upload {
  ParametersPtr model;
  std::int64_t num_examples = 0;
};
/// The model under `key` of an answer that was checked.
[[nodiscard]] Upload upload_in(const Message& answer, const std::string& key);
/// The mean, or `otherwise` where there are no examples; who trained on none never counts.
[[nodiscard]] ParametersPtr mean_or(const ParametersPtr& otherwise, std::span<const Upload> uploads,
                                    Averaging averaging = Averaging::examples);
/// What an empty cluster's model becomes.
[[nodiscard]] ParametersPtr emptied(const ParametersPtr& model, EmptyCluster rule);

/// Which one of the models each client trained when it last answered.
using Assignment = std::map<ClientId, std::size_t>;
[[nodiscard]] ClusterView cluster_view(const Models& models, const Assignment& assignment,
                                       const std::vector<ClientId>& present);
[[nodiscard]] std::vector<ServedModel> served_models(const Models& models);

void save(const Models& models, ModelWriter& out);
void save(const Assignment& assignment, ModelWriter& out);
/// What was not written for `count` models is an invalid_data error.
[[nodiscard]] Models load_models(std::size_t count, ModelReader& in);
[[nodiscard]] Assignment load_assignment(std::size_t count, ModelReader& in);
/// Reads who answered in the last round; somebody for whom `known` does not hold is an invalid_data error.
[[nodiscard]] std::vector<ClientId> load_present(const std::function<bool(ClientId)>& known, ModelReader& in);

}  // namespace feroma
