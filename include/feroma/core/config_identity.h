#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "feroma/core/settings.h"

namespace feroma {

/// Keys and the values that they must have. "algorithm.*.name" is asked of every algorithm by itself.
using ConfigPlace = std::vector<std::pair<std::string, SettingValue>>;

/// A key that configs were kept without.
struct LaterKey {
  std::string key;             ///< "evaluation.every", or "algorithm.*.mapping.shape" for every algorithm that has it
  SettingValue was;            ///< what the code did before there was the key; of the type that the key has
  bool only_observes = false;  ///< nothing that a run computes depends on it, only what is told of it
};

/// A key that configs were written with, and that is refused in new ones.
struct RetiredKey {
  std::string key;
  std::string hint;                         ///< what to do instead
  std::optional<SettingValue> always = {};  ///< what all code since does; absent: no config was ever kept with it
  ConfigPlace where = {};                   ///< which configs had it; for a key of an algorithm, which algorithms
};

/// Behaviour that changed without a key. Before the first change it was version 1.
struct MethodVersion {
  std::string name;  ///< for people: an algorithm's, or that of an option
  int version = 2;
  ConfigPlace where;  ///< which configs, or which algorithms of them, behave so
};

/**
 * Which configs mean the same, whatever version of the program wrote them. A kept config is not rewritten when a key
 * comes or goes: the rule is written down here instead, and everything that hashes or compares configs goes by it. See
 * docs/decisions/019.
 */
struct ConfigIdentity {
  std::vector<LaterKey> later;
  std::vector<RetiredKey> retired;
  std::vector<MethodVersion> versions;

  /// The config as the version that had the fewest keys would have written it, without those that only observe: what is
  /// hashed and compared.
  [[nodiscard]] Settings of(Settings config) const;
  /// A resolved config with the versions of what it does, under `version.` and `algorithm.N.version.`; 1 is left out.
  [[nodiscard]] Settings with_versions(Settings resolved) const;
  /// What the code does in another version than the config says; empty where there is nothing.
  [[nodiscard]] std::string changed_methods(const Settings& kept) const;
  /// Why what one config began may not go on with another: as changed_methods and changes_between say it; empty where
  /// it may.
  [[nodiscard]] std::string changes(const Settings& begun, const Settings& now) const;

  /// A resolved config for going on with what was begun: a key that came later, and that neither what somebody wrote
  /// nor what was begun says, is what the code did then, whatever its default is now.
  [[nodiscard]] Settings as_begun(Settings resolved, const Settings& written, const Settings& begun) const;
  /// A kept config as a reader of new ones takes it: without retired keys and versions.
  [[nodiscard]] Settings readable(const Settings& kept) const;
  /// What somebody wrote to go on with what was begun, perhaps with the kept config itself: what that says of retired
  /// keys and versions is no mistake.
  [[nodiscard]] Settings going_on(Settings written, const Settings& begun) const;

  /// A kept config with what it lacks and what is known of that, for reports that put runs of several versions
  /// together. Keys of algorithms stay away: which of them had one is not known.
  [[nodiscard]] Settings spelled_out(Settings kept) const;
  [[nodiscard]] bool only_observes(const std::string& key) const;
  /// Whether a config that lacks the key means something else than one where it has this value.
  [[nodiscard]] bool differs_by(const std::string& key, const SettingValue& value) const;
  /// Null for a key that was never there or still is.
  [[nodiscard]] const RetiredKey* find_retired(const std::string& key) const;

 private:
  [[nodiscard]] const LaterKey* find_later(const std::string& key) const;
  void restore_retired(Settings& config) const;
  [[nodiscard]] bool holds(const ConfigPlace& where, const Settings& config, const std::string& table) const;
  [[nodiscard]] Settings versions_of(const Settings& config) const;
};

/// The program's own.
[[nodiscard]] const ConfigIdentity& config_identity();

/// Splits a config into what it says of versions and the rest.
struct VersionedConfig {
  explicit VersionedConfig(const Settings& config);
  Settings versions;
  Settings rest;
};

}  // namespace feroma
