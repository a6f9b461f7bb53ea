#include "runtime/answer_lengths.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "algorithms/norm_limit.h"
#include "feroma/core/median.h"

namespace feroma {
namespace {

double norm_of(const Floats& values) {
  double squares = 0;
  for (const float value : values) {
    squares += static_cast<double>(value) * static_cast<double>(value);
  }
  return std::sqrt(squares);
}

double norm_of(const ParametersPtr& model) { return model_norm(*model); }

double change_of(const Floats& sent, const Floats& answered) {
  Floats change = answered;
  for (std::size_t i = 0; i < change.size(); ++i) {
    change[i] -= sent[i];
  }
  return norm_of(change);
}

double change_of(const ParametersPtr& sent, const ParametersPtr& answered) { return update_norm(*sent, *answered); }

bool same_size(const Floats& one, const Floats& other) { return one.size() == other.size(); }

bool same_size(const ParametersPtr& one, const ParametersPtr& other) { return one->size() == other->size(); }

/// What was sent under a name, if it is of this kind.
template <class Numbers>
const Numbers* found(const Message& sent, const std::string& name) {
  const auto value = sent.values.find(name);
  return value == sent.values.end() ? nullptr : std::get_if<Numbers>(&value->second);
}

/// The longest of the models that a client had to choose from.
double longest_model(const Message& sent) {
  double longest = 0;
  for (const auto& [name, value] : sent.values) {
    if (const auto* model = std::get_if<ParametersPtr>(&value)) {
      longest = std::max(longest, model_norm(**model));
    }
  }
  return longest;
}

}  // namespace

void AnswerLengths::add(ClientId client, const Message& sent, const Message& answer) {
  const auto measure = [&](const std::string& name, const auto& value, const auto* before, double sent_length) {
    wholes_[name].push_back({client, norm_of(value), sent_length});
    if (before != nullptr && same_size(*before, value)) {
      changes_[name].push_back({client, change_of(*before, value), sent_length});
    }
  };
  for (const auto& [name, value] : answer.values) {
    if (const auto* model = std::get_if<ParametersPtr>(&value)) {
      const auto* before = found<ParametersPtr>(sent, name);
      measure(name, *model, before, before != nullptr ? norm_of(*before) : longest_model(sent));
    } else if (const auto* numbers = std::get_if<Floats>(&value)) {
      if (const auto* before = found<Floats>(sent, name)) {
        measure(name, *numbers, before, norm_of(*before));
      }
    }
  }
}

void AnswerLengths::refuse_absurd(std::string_view method, double limit, std::string_view what, const Lengths& all,
                                  std::map<ClientId, std::string>& refused) {
  for (const auto& [name, lengths] : all) {
    std::vector<double> sorted;
    for (const Length& one : lengths) {
      sorted.push_back(one.length);
    }
    const double usual = median(sorted);
    for (const Length& one : lengths) {
      // Where most clients changed nothing, lengths say nothing about the rest.
      if (usual > 0 && one.length > limit * usual && one.length > one.sent) {
        refused.try_emplace(one.client,
                            fmt::format("[{}] client {}'s {}{} must be at most {} times as long as the median "
                                        "one, or as long as what it was sent, got {:.3g} times the median",
                                        method, to_index(one.client), name, what, limit, one.length / usual));
      }
    }
  }
}

std::map<ClientId, std::string> AnswerLengths::refusals(std::string_view method, double limit) const {
  std::map<ClientId, std::string> refused;
  refuse_absurd(method, limit, " update", changes_, refused);
  refuse_absurd(method, limit, "", wholes_, refused);
  return refused;
}

}  // namespace feroma
