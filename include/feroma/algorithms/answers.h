#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <string_view>

#include "feroma/algorithms/averaging.h"
#include "feroma/core/error.h"
#include "feroma/core/ids.h"
#include "feroma/models/message.h"

namespace feroma {

/// More samples than any client has: whoever claims more would outweigh everybody else in a mean. Sums over clients
/// stay far from overflow.
inline constexpr std::int64_t kMostExamples = 1'000'000'000;

/**
 * A client's answer, read with suspicion. What is missing, of another size, not finite, out of range or never asked for
 * is an invalid_data error that names the method, the client, the thing, the rule and the value;
 * `Algorithm::check_answer` passes it on and the client is left out of the round.
 */
class Answer {
 public:
  Answer(std::string_view method, ClientId client, const Message& message)
      : method_(method), client_(client), message_(message) {}

  [[nodiscard]] bool has(const std::string& key) const { return message_.has(key); }
  /// A model as large as `like`, of finite values that sums over clients and rounds leave finite.
  const ParametersPtr& model(const std::string& key, const Parameters& like) const;
  /// Finite numbers, `size` of them, that sums leave finite too.
  const Floats& floats(const std::string& key, std::size_t size) const;
  /// The same with a range.
  const Floats& floats(const std::string& key, std::size_t size, double least, double most = kNoLimit) const;
  /// Finite numbers in rows of `width`, between `least` and `most` of them.
  const Floats& rows(const std::string& key, std::size_t width, std::size_t least, std::size_t most) const;
  /// Whole numbers in a range, `size` of them.
  const Ints& integers(const std::string& key, std::size_t size, std::int64_t least,
                       std::int64_t most = kNoInteger) const;
  /// One whole number in a range.
  std::int64_t integer(const std::string& key, std::int64_t least, std::int64_t most = kNoInteger) const;
  /// How many examples are behind the answer. None at all means no say in a mean; a method that takes every model for
  /// a trained one asks for at least 1.
  std::int64_t examples(std::int64_t least = 0) const { return integer("num_examples", least, kMostExamples); }

  /// Comes last: whatever was not looked at by then is there although nobody asked for it.
  void expect_nothing_else() const;

  /// A rule of the method's own: `key` must `rule`.
  template <class Value>
  void expect(bool holds, std::string_view key, std::string_view rule, const Value& value) const {
    require(holds, ErrorCode::invalid_data, "[{}] client {}'s {} must {}, got {}", method_, to_index(client_), key,
            rule, value);
  }

 private:
  static constexpr double kNoLimit = std::numeric_limits<double>::infinity();
  static constexpr std::int64_t kNoInteger = std::numeric_limits<std::int64_t>::max();

  /// The value under `key`, which must be a T: `kind` says so in words.
  template <class T>
  const T& typed(const std::string& key, std::string_view kind) const;
  void expect_size(const std::string& key, std::size_t size, std::size_t got) const;
  void expect_range(const std::string& key, const Floats& values, double least, double most) const;

  std::string_view method_;
  ClientId client_;
  const Message& message_;
  mutable std::set<std::string> seen_ = {};  ///< keys whose values were looked at
};

/// The mean of the answers' models under `key`, weighted by their examples; null where there is nothing to average.
[[nodiscard]] ParametersPtr mean_of_answers(const std::map<ClientId, Message>& answers, const std::string& key,
                                            Averaging averaging = Averaging::examples);

}  // namespace feroma
