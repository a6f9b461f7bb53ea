#include "feroma/algorithms/answers.h"

#include <algorithm>
#include <cmath>

#include "feroma/algorithms/components.h"

namespace feroma {
namespace {

/// No training gets here, and a sum over many clients and rounds of such numbers, or of their squares, is finite still.
constexpr float kLargestNumber = 1e18F;

std::string range_rule(std::int64_t least, std::int64_t most) {
  return most == std::numeric_limits<std::int64_t>::max() ? fmt::format("be >= {}", least)
                                                          : fmt::format("be in {}..{}", least, most);
}

/// A name that somebody else chose, fit for a log: short, one line, printable ASCII.
std::string shown(std::string_view key) {
  constexpr std::size_t kLongest = 40;
  std::string text(key.substr(0, kLongest));
  std::replace_if(
      text.begin(), text.end(), [](char c) { return c < ' ' || c > '~'; }, '?');
  return text;
}

std::string range_rule(double least, double most) {
  return std::isinf(most) ? fmt::format("be >= {}", least) : fmt::format("be in {}..{}", least, most);
}

}  // namespace

template <class T>
const T& Answer::typed(const std::string& key, std::string_view kind) const {
  seen_.insert(key);
  const auto found = message_.values.find(key);
  expect(found != message_.values.end(), key, kind, "nothing");
  const T* value = std::get_if<T>(&found->second);
  expect(value != nullptr, key, kind, "another kind of value");
  return *value;
}

void Answer::expect_size(const std::string& key, std::size_t size, std::size_t got) const {
  if (got != size) {
    expect(false, key, fmt::format("have {} values", size), got);
  }
}

void Answer::expect_range(const std::string& key, const Floats& values, double least, double most) const {
  for (const float value : values) {
    expect(std::isfinite(value), key, "be finite", value);
    if (std::abs(value) > kLargestNumber) {
      expect(false, key, fmt::format("have values of at most {} in size", kLargestNumber), value);
    }
    const auto wide = static_cast<double>(value);
    if (wide < least || wide > most) {
      expect(false, key, range_rule(least, most), value);
    }
  }
}

const ParametersPtr& Answer::model(const std::string& key, const Parameters& like) const {
  const auto& model = typed<ParametersPtr>(key, "be a model");
  expect(model != nullptr, key, "be a model", "an empty one");
  expect_size(key, like.size(), model->size());
  const std::span<const float> values = model->values();
  const auto absurd =
      std::find_if(values.begin(), values.end(), [](float value) { return !(std::abs(value) <= kLargestNumber); });
  if (absurd != values.end()) {
    expect(std::isfinite(*absurd), key, "be finite", "a value that is not");
    expect(false, key, fmt::format("have values of at most {} in size", kLargestNumber),
           fmt::format("{}; a learning rate may be too large", *absurd));
  }
  return model;
}

const Floats& Answer::floats(const std::string& key, std::size_t size) const { return floats(key, size, -kNoLimit); }

const Floats& Answer::floats(const std::string& key, std::size_t size, double least, double most) const {
  const auto& values = typed<Floats>(key, "be numbers");
  expect_size(key, size, values.size());
  expect_range(key, values, least, most);
  return values;
}

const Floats& Answer::rows(const std::string& key, std::size_t width, std::size_t least, std::size_t most) const {
  const auto& values = typed<Floats>(key, "be numbers");
  const std::size_t count = values.size() / width;
  if (values.size() % width != 0 || count < least || count > most) {
    expect(false, key, fmt::format("be {} to {} rows of {} values", least, most, width),
           fmt::format("{} values", values.size()));
  }
  expect_range(key, values, -kNoLimit, kNoLimit);
  return values;
}

const Ints& Answer::integers(const std::string& key, std::size_t size, std::int64_t least, std::int64_t most) const {
  const auto& values = typed<Ints>(key, "be whole numbers");
  expect_size(key, size, values.size());
  for (const std::int64_t value : values) {
    if (value < least || value > most) {
      expect(false, key, range_rule(least, most), value);
    }
  }
  return values;
}

std::int64_t Answer::integer(const std::string& key, std::int64_t least, std::int64_t most) const {
  return integers(key, 1, least, most).front();
}

void Answer::expect_nothing_else() const {
  for (const auto& [key, value] : message_.values) {
    if (!seen_.contains(key)) {
      expect(false, shown(key), "be left out", "a value that nobody asked for");
    }
  }
}

ParametersPtr mean_of_answers(const std::map<ClientId, Message>& answers, const std::string& key, Averaging averaging) {
  std::vector<Upload> uploads;
  for (const auto& [client, answer] : answers) {
    uploads.push_back(upload_in(answer, key));
  }
  return mean_or(nullptr, uploads, averaging);
}

}  // namespace feroma
