#include "net/flower_scalars.h"

#include <charconv>
#include <cmath>
#include <limits>

#include "feroma/core/error.h"
#include "feroma/core/number.h"

namespace feroma::net {
namespace {

const flower::Scalar* find(const Scalars& scalars, const std::string& key) {
  const auto found = scalars.find(key);
  return found == scalars.end() ? nullptr : &found->second;
}

/// A walk through a JSON list of numbers. Depth is counted, not nested, so that brackets cost no stack.
class ListReader {
 public:
  ListReader(std::string_view text, std::string_view what) : text_(text), what_(what) {}

  std::vector<float> read(std::size_t most) {
    std::vector<float> values;
    expect('[');
    bool begun = true;  // a list has begun or goes on: a value is next
    bool may_end = true;
    for (int depth = 1; depth > 0;) {
      if (may_end && accept(']')) {
        depth -= 1;
        begun = false;
      } else if (!begun) {
        expect(',');
        begun = true;
        may_end = false;
      } else if (accept('[')) {
        depth += 1;
        may_end = true;
      } else {
        values.push_back(number());
        require(values.size() <= most, ErrorCode::invalid_data, "{} must have at most {} numbers, got more", what_,
                most);
        begun = false;
        may_end = true;
      }
    }
    skip_space();
    refuse_if(at_ != text_.size());
    return values;
  }

 private:
  void refuse_if(bool wrong) const {
    require(!wrong, ErrorCode::invalid_data, "{} must be a JSON list of numbers; it is not at byte {}", what_, at_);
  }
  void skip_space() {
    while (at_ < text_.size() && std::string_view(" \t\r\n").find(text_[at_]) != std::string_view::npos) {
      ++at_;
    }
  }
  bool accept(char c) {
    skip_space();
    if (at_ < text_.size() && text_[at_] == c) {
      ++at_;
      return true;
    }
    return false;
  }
  void expect(char c) { refuse_if(!accept(c)); }
  float number() {
    double value = 0;
    const auto [end, error] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), value);
    refuse_if(error != std::errc());
    const auto narrow = static_cast<float>(value);
    require(std::isfinite(narrow), ErrorCode::invalid_data, "{} must be finite, got {}", what_, value);
    at_ = static_cast<std::size_t>(end - text_.data());
    return narrow;
  }

  std::string_view text_;
  std::string_view what_;
  std::size_t at_ = 0;
};

}  // namespace

void put(Scalars& scalars, const std::string& key, std::int64_t value) { scalars[key].set_integer(value); }
void put(Scalars& scalars, const std::string& key, double value) { scalars[key].set_real(value); }
void put(Scalars& scalars, const std::string& key, bool value) { scalars[key].set_truth(value); }
void put(Scalars& scalars, const std::string& key, const std::string& text) { scalars[key].set_text(text); }
void put(Scalars& scalars, const std::string& key, std::span<const std::byte> bytes) {
  scalars[key].set_data(bytes.data(), bytes.size());
}

std::optional<double> number_in(const Scalars& scalars, const std::string& key) {
  const flower::Scalar* scalar = find(scalars, key);
  if (scalar == nullptr) {
    return std::nullopt;
  }
  switch (scalar->scalar_case()) {
    case flower::Scalar::kReal:
      return std::isfinite(scalar->real()) ? std::optional<double>(scalar->real()) : std::nullopt;
    case flower::Scalar::kLarge: return static_cast<double>(scalar->large());
    case flower::Scalar::kInteger: return static_cast<double>(scalar->integer());
    case flower::Scalar::kTruth:
    case flower::Scalar::kText:
    case flower::Scalar::kData:
    case flower::Scalar::SCALAR_NOT_SET: break;
  }
  return std::nullopt;
}

std::optional<std::int64_t> integer_in(const Scalars& scalars, const std::string& key) {
  const flower::Scalar* scalar = find(scalars, key);
  if (scalar == nullptr) {
    return std::nullopt;
  }
  if (scalar->has_integer()) {
    return scalar->integer();
  }
  if (scalar->has_large() && scalar->large() <= std::numeric_limits<std::int64_t>::max()) {
    return static_cast<std::int64_t>(scalar->large());
  }
  if (scalar->has_text()) {
    return parse_number<std::int64_t>(scalar->text());
  }
  return std::nullopt;
}

bool is_true(const Scalars& scalars, const std::string& key) {
  const flower::Scalar* scalar = find(scalars, key);
  return scalar != nullptr && scalar->truth();
}

std::vector<float> numbers_in_json(std::string_view text, std::size_t most, std::string_view what) {
  return ListReader(text, what).read(most);
}

}  // namespace feroma::net
