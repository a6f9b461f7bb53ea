#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "feroma/core/error.h"
#include "feroma/core/problems.h"
#include "feroma/core/settings.h"

namespace feroma {

/// The allowed range of a number.
struct Rule {
  double min = -std::numeric_limits<double>::infinity();
  double max = std::numeric_limits<double>::infinity();
  bool min_excluded = false;

  [[nodiscard]] bool allows(double value) const;
  [[nodiscard]] std::string text() const;  ///< ">= 1", "in 0..1", or "" where anything goes
};
constexpr Rule anything() { return {}; }
constexpr Rule at_least(double min) { return {.min = min}; }
constexpr Rule above(double min) { return {.min = min, .min_excluded = true}; }
constexpr Rule between(double min, double max) { return {.min = min, .max = max}; }

/// A config enumeration lists its spellings through `enum_names(E)`, found next to the type.
template <class E>
concept NamedEnum = std::is_enum_v<E> && requires(E e) {
  enum_names(e);
};

template <NamedEnum E>
[[nodiscard]] std::string_view name_of(E value) {
  for (const auto& [candidate, name] : enum_names(value)) {
    if (candidate == value) {
      return name;
    }
  }
  unreachable();
}

/// What is known of a key of a config file; `feroma list options`, docs/parameters.md and `feroma init` print it.
struct OptionInfo {
  std::string key;   ///< with its table: "scenario.level"
  std::string type;  ///< "boolean", "integer", "number", "string", "choice", or a list of one of them
  std::optional<SettingValue> value = {};  ///< the default; none where it has no value of its own
  std::string range = {};                  ///< the choices, or the rule of a number
  std::string help = {};
};

/// One option of a struct: where it lives, what it may be, what it means.
struct Field {
  struct Choice {
    std::function<bool(std::string_view)> set;  ///< false: not one of the names
    std::function<std::string()> get;
    std::vector<std::string> names;
    std::vector<std::string> written;  ///< how a resolved config spells each of them
  };
  using Target = std::variant<bool*, int*, std::int64_t*, double*, std::string*, Choice>;

  std::string name;
  Target target;
  Rule rule;
  std::string help;

  [[nodiscard]] SettingValue value() const;
  [[nodiscard]] std::string type_name() const;
  /// All of it for people, as `prefix.name`; the value it has now is the default.
  [[nodiscard]] OptionInfo describe(const std::string& prefix) const;
};

namespace detail {
template <class T>
Field::Target field_target(T& value) {
  if constexpr (NamedEnum<T>) {
    Field::Choice choice;
    choice.set = [&value](std::string_view text) {
      for (const auto& [candidate, name] : enum_names(T{})) {
        if (name == text) {
          value = candidate;
          return true;
        }
      }
      return false;
    };
    choice.get = [&value] { return std::string(name_of(value)); };
    for (const auto& [candidate, name] : enum_names(T{})) {
      choice.names.emplace_back(name);
      choice.written.emplace_back(name_of(candidate));
    }
    return choice;
  } else {
    return &value;
  }
}
}  // namespace detail

/// The options of a struct, from its one `fields` list: file parsing, help, validation and docs all read this.
template <class Options>
[[nodiscard]] std::vector<Field> fields_of(Options& options) {
  std::vector<Field> fields;
  Options::fields(options, [&fields](std::string_view name, auto& value, Rule rule, std::string_view help) {
    fields.push_back({std::string(name), detail::field_target(value), rule, std::string(help)});
  });
  return fields;
}

/// What is known of each option of a struct, under `prefix.`.
template <class Options>
[[nodiscard]] std::vector<OptionInfo> describe_options(const std::string& prefix) {
  Options defaults;
  std::vector<OptionInfo> options;
  for (const Field& field : fields_of(defaults)) {
    options.push_back(field.describe(prefix));
  }
  return options;
}

/// Fills option structs from settings and remembers which keys were used and known.
class SettingsReader {
 public:
  SettingsReader(Settings settings, Problems& problems) : settings_(std::move(settings)), problems_(problems) {}

  /// Reads every field under `prefix.`; wrong types and broken rules become problems.
  void read(std::span<const Field> fields, const std::string& prefix);
  template <class Options>
  void read(Options& options, const std::string& prefix) {
    const std::vector<Field> fields = fields_of(options);
    read(std::span(fields), prefix);
  }
  /// Keys nobody asked for become problems, each with the nearest known key.
  void reject_unknown();
  /// Stops complaining about keys under `prefix.`; for a table whose owner is unknown and reported already.
  void ignore(const std::string& prefix);
  /// Number of elements of an array of tables: the smallest n such that no key starts with "prefix.n.".
  [[nodiscard]] int table_count(const std::string& prefix) const;
  [[nodiscard]] bool has(const std::string& key) const { return settings_.contains(key); }
  /// Every key that was read, in that order, with the default that it had.
  [[nodiscard]] const std::vector<OptionInfo>& options() const { return options_; }

 private:
  Settings settings_;
  Problems& problems_;
  std::set<std::string> known_;
  std::vector<OptionInfo> options_;
};

/// Writes every field under `prefix.` into `settings`.
void write_settings(std::span<const Field> fields, const std::string& prefix, Settings& settings);
template <class Options>
void write_settings(Options options, const std::string& prefix, Settings& settings) {
  const std::vector<Field> fields = fields_of(options);
  write_settings(std::span(fields), prefix, settings);
}

/// The candidate closest to `word` (edit distance, and names other tools use); empty if none is close.
[[nodiscard]] std::string nearest_name(std::string_view word, std::span<const std::string> candidates);

}  // namespace feroma
