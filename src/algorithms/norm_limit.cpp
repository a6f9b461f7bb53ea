#include "algorithms/norm_limit.h"

#include <fmt/format.h>

#include <cmath>
#include <vector>

#include "feroma/core/median.h"

namespace feroma {

double update_norm(const Parameters& sent, const Parameters& uploaded) {
  double sum = 0;
  for (std::size_t i = 0; i < sent.size(); ++i) {
    const double change = static_cast<double>(uploaded.values()[i]) - static_cast<double>(sent.values()[i]);
    sum += change * change;
  }
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

Update measure_update(ClientId client, const Parameters& sent, const Parameters& answered) {
  double squares = 0;
  for (const float value : sent.values()) {
    squares += static_cast<double>(value) * static_cast<double>(value);
  }
  return {client, update_norm(sent, answered), std::sqrt(squares)};
}

std::map<ClientId, std::string> refuse_absurd_updates(std::string_view method, double limit,
                                                      std::span<const Update> updates) {
  std::vector<double> lengths;
  for (const Update& update : updates) {
    lengths.push_back(update.length);
  }
  std::map<ClientId, std::string> refused;
  const double usual = lengths.empty() ? 0.0 : median(lengths);
  for (const Update& update : updates) {
    if (usual > 0 && update.length > limit * usual && update.length > update.model) {
      refused[update.client] = fmt::format(
          "[{}] client {}'s update must be at most {} times as long as the median one, or as long as the model that it "
          "was sent, got {:.3g} times the median",
          method, to_index(update.client), limit, update.length / usual);
    }
  }
  return refused;
}

std::map<ClientId, std::string> refuse_far_numbers(std::string_view what, double limit,
                                                   const std::map<ClientId, double>& sizes) {
  std::vector<double> all;
  for (const auto& [client, size] : sizes) {
    all.push_back(size);
  }
  std::map<ClientId, std::string> refused;
  const double usual = all.empty() ? 0.0 : median(all);
  for (const auto& [client, size] : sizes) {
    if (usual > 0 && size > limit * usual) {
      refused[client] =
          fmt::format("[feroma] client {}'s {} must be at most {} times as large as the median, got {:.3g} times",
                      to_index(client), what, limit, size / usual);
    }
  }
  return refused;
}

}  // namespace feroma
