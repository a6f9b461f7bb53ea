#pragma once

#include <fmt/core.h>

#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "feroma/core/options.h"
#include "feroma/core/settings.h"

namespace feroma {

/// A default that gave way.
struct AdaptedDefault {
  std::string key;
  SettingValue was;
  SettingValue is;
  std::string reason;

  [[nodiscard]] std::string text() const;  ///< "scenario.drifts = 1 instead of 10: ..."
};

/// What nobody wrote follows what was written: only what a user wrote can be wrong.
class Defaults {
 public:
  /// Borrows `given`, the settings as written.
  explicit Defaults(const Settings& given) : given_(given) {}

  /// Whether nobody wrote the key.
  [[nodiscard]] bool free(const std::string& key) const { return !given_.contains(key); }
  /// Gives the value of a key that nobody wrote another one; what was written stays.
  template <class T>
  void adapt(const std::string& key, T& value, const std::type_identity_t<T>& to, std::string reason) {
    if (free(key) && value != to) {
      adapted_.push_back({key, as_setting(value), as_setting(to), std::move(reason)});
      value = to;
    }
  }
  [[nodiscard]] const std::vector<AdaptedDefault>& adapted() const { return adapted_; }

 private:
  template <class T>
  static SettingValue as_setting(const T& value) {
    if constexpr (NamedEnum<T>) {
      return std::string(name_of(value));
    } else if constexpr (std::is_same_v<T, int>) {
      return static_cast<std::int64_t>(value);
    } else {
      return value;
    }
  }

  const Settings& given_;
  std::vector<AdaptedDefault> adapted_;
};

}  // namespace feroma
