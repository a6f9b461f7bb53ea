#include "algorithms/answers.h"

#include "feroma/aggregation/mix.h"
#include "feroma/core/error.h"

namespace feroma {

std::int64_t examples_of(std::string_view method, ClientId client, const Message& answer) {
  const std::int64_t examples = answer.integer("num_examples");
  require(examples >= 0, ErrorCode::invalid_data, "[{}] client {}'s num_examples must be >= 0, got {}", method,
          to_index(client), examples);
  return examples;
}

const ParametersPtr& model_of(std::string_view method, ClientId client, const Message& answer, const std::string& key,
                              const Parameters& like) {
  const ParametersPtr& model = answer.model(key);
  require(model->size() == like.size(), ErrorCode::invalid_data, "[{}] client {}'s {} must have {} values, got {}",
          method, to_index(client), key, like.size(), model->size());
  require(model->all_finite(), ErrorCode::invalid_data, "[{}] client {}'s {} must be finite, got a value that is not",
          method, to_index(client), key);
  return model;
}

ParametersPtr mean_of_answers(std::string_view method, const std::map<ClientId, Message>& answers,
                              const std::string& key, const Parameters& like) {
  std::vector<ParametersPtr> models;
  std::vector<std::int64_t> counts;
  double total = 0;
  for (const auto& [client, answer] : answers) {
    models.push_back(model_of(method, client, answer, key, like));
    counts.push_back(examples_of(method, client, answer));
    total += static_cast<double>(counts.back());
  }
  return total > 0 ? share(weighted_mean(models, counts)) : nullptr;
}

}  // namespace feroma
