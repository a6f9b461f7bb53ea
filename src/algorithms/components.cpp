#include "feroma/algorithms/components.h"

#include <cmath>
#include <limits>

#include "feroma/aggregation/mix.h"
#include "feroma/core/error.h"

namespace feroma {

std::string model_key(std::size_t model) { return fmt::format("model.{}", model); }

void check_needs_several(std::string_view option, bool changed, std::string_view count_name, int count,
                         Problems& problems, const std::string& where) {
  if (changed && count == 1) {
    problems.add("{}.{} would be ignored: it needs {} > 1", where, option, count_name);
  }
}

Models initial_models(const ServerContext& context, int count, std::string_view method) {
  // Models that start alike stay alike: nothing would ever tell them apart.
  require(count == 1 || context.model.script == nullptr, ErrorCode::unsupported,
          "[{}] several models must start apart, but a TorchScript file brings one start; got {} models", method,
          count);
  Models models{context.initial};
  for (int m = 1; m < count; ++m) {
    models.push_back(share(initialise(context.model, context.rng.derive("component", static_cast<std::uint64_t>(m)))));
  }
  return models;
}

Message message_of(std::span<const ParametersPtr> models) {
  Message message;
  for (std::size_t m = 0; m < models.size(); ++m) {
    message.values[model_key(m)] = models[m];
  }
  return message;
}

Models models_in(const Message& message, std::size_t count) {
  Models models;
  for (std::size_t m = 0; m < count; ++m) {
    models.push_back(message.model(model_key(m)));
  }
  return models;
}

std::size_t lowest(std::span<const double> values) {
  std::size_t best = 0;
  double least = std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (values[i] < least) {
      best = i;
      least = values[i];
    }
  }
  return best;
}

std::size_t best_model(ClientContext& context, std::span<const ParametersPtr> models) {
  const StageTimer timer(context.seconds, Stage::map);
  std::vector<double> sums;  // all over the same samples, so sums compare as means do
  for (const std::vector<double>& losses : context.trainer.losses(models, context.train)) {
    double& sum = sums.emplace_back(0.0);
    for (const double loss : losses) {
      sum += loss;
    }
  }
  return lowest(sums);
}

Upload upload_in(const Message& answer, const std::string& key) {
  return {answer.model(key), answer.integer("num_examples")};
}

ParametersPtr mean_or(const ParametersPtr& otherwise, std::span<const Upload> uploads, Averaging averaging) {
  Models models;
  std::vector<std::int64_t> counts;
  for (const Upload& upload : uploads) {
    if (upload.num_examples > 0) {
      models.push_back(upload.model);
      counts.push_back(averaging == Averaging::uniform ? 1 : upload.num_examples);
    }
  }
  return models.empty() ? otherwise : share(weighted_mean(models, counts));
}

ParametersPtr emptied(const ParametersPtr& model, EmptyCluster rule) {
  switch (rule) {
    case EmptyCluster::keep: return model;
    case EmptyCluster::zero: return share(Parameters(model->shared_layout()));
  }
  unreachable();
}

ClusterView cluster_view(const Models& models, const Assignment& assignment, const std::vector<ClientId>& present) {
  ClusterView view{models, {}, present};
  for (const auto& [client, cluster] : assignment) {
    std::vector<double>& shares = view.shares[client];
    shares.resize(models.size());
    shares[cluster] = 1.0;
  }
  return view;
}

std::vector<ServedModel> served_models(const Models& models) {
  std::vector<ServedModel> served;
  for (const ParametersPtr& model : models) {
    served.push_back({std::nullopt, 0, model, {}, 0});
  }
  return served;
}

void save(const Models& models, ModelWriter& out) {
  out.out().put<std::uint64_t>(models.size());
  for (const ParametersPtr& model : models) {
    out.put(model);
  }
}

Models load_models(std::size_t count, ModelReader& in) {
  const auto stored = in.in().get<std::uint64_t>();
  require(stored == count, ErrorCode::invalid_data, "{}: must hold {} models, got {}", in.in().what(), count, stored);
  Models models;
  for (std::size_t m = 0; m < count; ++m) {
    models.push_back(in.get_model());
    require(models.back() != nullptr, ErrorCode::invalid_data, "{}: model {} is missing", in.in().what(), m);
  }
  return models;
}

void save(const Assignment& assignment, ModelWriter& out) {
  out.out().put<std::uint64_t>(assignment.size());
  for (const auto& [client, cluster] : assignment) {
    out.out().put(client);
    out.out().put<std::uint64_t>(cluster);
  }
}

Assignment load_assignment(std::size_t count, ModelReader& in) {
  Assignment assignment;
  const auto clients = in.in().get<std::uint64_t>();
  for (std::uint64_t i = 0; i < clients; ++i) {
    const auto client = in.in().get<ClientId>();
    const auto cluster = in.in().get<std::uint64_t>();
    require(cluster < count, ErrorCode::invalid_data, "{}: a cluster must be below {}, got {}", in.in().what(), count,
            cluster);
    assignment[client] = cluster;
  }
  return assignment;
}

std::vector<ClientId> load_present(const std::function<bool(ClientId)>& known, ModelReader& in) {
  std::vector<ClientId> present = in.in().get_vector<ClientId>();
  for (const ClientId client : present) {
    require(known(client), ErrorCode::invalid_data, "{}: client {} of the last round is not known", in.in().what(),
            to_index(client));
  }
  return present;
}

}  // namespace feroma
