#include "algorithms/norm_limit.h"

#include <fmt/format.h>

#include <cmath>
#include <vector>

#include "feroma/core/median.h"

namespace feroma {

namespace {

/// Calls `visit` with the first value and the end of what training moves. Steps that a norm counts are no lengths: one
/// client may take a hundred times as many as another.
template <class Visit>
void each_learned(const Parameters& model, const Visit& visit) {
  for (const Segment& segment : model.layout().segments) {
    if (!segment.name.ends_with(".num_batches_tracked")) {
      visit(segment.offset, segment.offset + segment.size);
    }
  }
}

}  // namespace

double update_norm(const Parameters& sent, const Parameters& uploaded) {
  double sum = 0;
  each_learned(sent, [&](std::size_t first, std::size_t end) {
    for (std::size_t i = first; i < end; ++i) {
      const double change = static_cast<double>(uploaded.values()[i]) - static_cast<double>(sent.values()[i]);
      sum += change * change;
    }
  });
  return std::sqrt(sum);
}

double model_norm(const Parameters& model) {
  double sum = 0;
  each_learned(model, [&](std::size_t first, std::size_t end) {
    for (std::size_t i = first; i < end; ++i) {
      sum += static_cast<double>(model.values()[i]) * static_cast<double>(model.values()[i]);
    }
  });
  return std::sqrt(sum);
}

std::map<ClientId, std::string> refuse_long_updates(double limit, const std::map<ClientId, Message>& answers,
                                                    const std::function<ParametersPtr(ClientId)>& sent_to,
                                                    const Parallel& parallel) {
  std::vector<ClientId> clients;
  for (const auto& [client, answer] : answers) {
    clients.push_back(client);
  }
  std::vector<double> norms(clients.size());
  parallel(clients.size(), [&](std::size_t i) {
    norms[i] = update_norm(*sent_to(clients[i]), *answers.at(clients[i]).model("model"));
  });
  std::map<ClientId, std::string> refused;
  // Where most clients changed nothing, lengths say nothing about the rest.
  const double usual = norms.empty() ? 0.0 : median(norms);
  for (std::size_t i = 0; usual > 0 && i < clients.size(); ++i) {
    if (norms[i] > limit * usual) {
      refused[clients[i]] = fmt::format(
          "[feroma] client {}'s update must be at most {} times as long as the median one, got {:.3g} times",
          to_index(clients[i]), limit, norms[i] / usual);
    }
  }
  return refused;
}

std::map<ClientId, std::string> refuse_far_numbers(std::string_view what, double limit,
                                                   const std::map<ClientId, double>& sizes) {
  std::vector<double> all;
  for (const auto& [client, size] : sizes) {
    if (size > 0) {  // who has none says nothing about what is usual
      all.push_back(size);
    }
  }
  std::map<ClientId, std::string> refused;
  const double usual = all.empty() ? 0.0 : median(all);
  for (const auto& [client, size] : sizes) {
    if (size > limit * usual) {
      refused[client] =
          fmt::format("[feroma] client {}'s {} must be at most {} times as large as the median, got {:.3g} times",
                      to_index(client), what, limit, size / usual);
    }
  }
  return refused;
}

}  // namespace feroma
