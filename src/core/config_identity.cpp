#include "feroma/core/config_identity.h"

#include <fmt/core.h>

#include <algorithm>
#include <set>
#include <string_view>

namespace feroma {
namespace {

constexpr std::string_view kAlgorithm = "algorithm.";
constexpr std::string_view kAnyAlgorithm = "algorithm.*.";
constexpr std::string_view kVersion = "version.";
constexpr const char* kFrom = "an earlier version";

/// "algorithm.3." of a key of that table; empty for all other keys.
std::string table_of(std::string_view key) {
  if (!key.starts_with(kAlgorithm)) {
    return "";
  }
  const std::size_t end = std::min(key.find_first_not_of("0123456789", kAlgorithm.size()), key.size());
  const bool is_table = end > kAlgorithm.size() && end < key.size() && key[end] == '.';
  return is_table ? std::string(key.substr(0, end + 1)) : "";
}

bool is_of_algorithm(const std::string& pattern) { return pattern.starts_with(kAnyAlgorithm); }

/// The key that a pattern stands for in the table of an algorithm.
std::string in_table(const std::string& pattern, const std::string& table) {
  return is_of_algorithm(pattern) ? table + pattern.substr(kAnyAlgorithm.size()) : pattern;
}

bool fits(const std::string& pattern, const std::string& key) {
  const std::string table = table_of(key);
  return (!is_of_algorithm(pattern) || !table.empty()) && in_table(pattern, table) == key;
}

bool is_version(const std::string& key) {
  return std::string_view(key).substr(table_of(key).size()).starts_with(kVersion);
}

/// Where to look for what a place asks: in each algorithm's table, or once.
std::set<std::string> tables_for(bool of_algorithm, const ConfigPlace& where, const Settings& config) {
  const bool each = of_algorithm || std::any_of(where.begin(), where.end(),
                                                [](const auto& condition) { return is_of_algorithm(condition.first); });
  std::set<std::string> tables;
  for (const auto& [key, setting] : config) {
    tables.insert(each ? table_of(key) : "");
  }
  if (each) {
    tables.erase("");
  }
  return tables;
}

/// A version as a config has it; 1 where it says none.
std::string version_in(const Settings& versions, const std::string& key) {
  const auto found = versions.find(key);
  return found == versions.end() ? "1" : to_string(found->second.value);
}

}  // namespace

VersionedConfig::VersionedConfig(const Settings& config) {
  for (const auto& [key, setting] : config) {
    (is_version(key) ? versions : rest)[key] = setting;
  }
}

void ConfigIdentity::restore_retired(Settings& config) const {
  for (const RetiredKey& gone : retired) {
    for (const std::string& table : tables_for(is_of_algorithm(gone.key), gone.where, config)) {
      if (gone.always && holds(gone.where, config, table)) {
        config.try_emplace(in_table(gone.key, table), Setting{*gone.always, kFrom});
      }
    }
  }
}

Settings ConfigIdentity::of(Settings config) const {
  restore_retired(config);
  std::erase_if(config, [this](const auto& entry) {
    const LaterKey* key = find_later(entry.first);
    return key != nullptr && (key->only_observes || key->was == entry.second.value);
  });
  return config;
}

Settings ConfigIdentity::with_versions(Settings resolved) const {
  resolved.merge(versions_of(resolved));
  return resolved;
}

std::string ConfigIdentity::changed_methods(const Settings& kept) const {
  const VersionedConfig config(kept);
  const Settings now = versions_of(config.rest);
  Settings all = config.versions;
  all.insert(now.begin(), now.end());
  std::string text;
  for (const auto& [key, setting] : all) {
    const std::string was = version_in(config.versions, key);
    const std::string is = version_in(now, key);
    if (was != is) {
      const std::string name = key.substr(table_of(key).size() + kVersion.size());
      text += fmt::format("{}{} was in version {}, is in version {}", text.empty() ? "" : "; ", name, was, is);
    }
  }
  return text.empty() ? "" : text + ": begin anew";
}

std::string ConfigIdentity::changes(const Settings& begun, const Settings& now) const {
  const std::string methods = changed_methods(begun);
  return methods.empty() ? changes_between(of(begun), of(now)) : methods;
}

Settings ConfigIdentity::as_begun(Settings resolved, const Settings& written, const Settings& begun) const {
  for (auto& [key, setting] : resolved) {
    const LaterKey* found = find_later(key);
    if (found != nullptr && !written.contains(key) && !begun.contains(key)) {
      setting = {found->was, kFrom};
    }
  }
  return resolved;
}

Settings ConfigIdentity::readable(const Settings& kept) const { return going_on(kept, kept); }

Settings ConfigIdentity::going_on(Settings written, const Settings& begun) const {
  std::erase_if(written, [&](const auto& entry) {
    const std::string& key = entry.first;
    return begun.contains(key) && (is_version(key) || find_retired(key) != nullptr);
  });
  return written;
}

bool ConfigIdentity::only_observes(const std::string& key) const {
  const LaterKey* found = find_later(key);
  return found != nullptr && found->only_observes;
}

Settings ConfigIdentity::spelled_out(Settings kept) const {
  restore_retired(kept);
  for (const LaterKey& key : later) {
    if (!is_of_algorithm(key.key)) {
      kept.try_emplace(key.key, Setting{key.was, kFrom});
    }
  }
  return kept;
}

bool ConfigIdentity::differs_by(const std::string& key, const SettingValue& value) const {
  const LaterKey* found = find_later(key);
  return is_version(key) ? value != SettingValue(std::int64_t{1})
                         : found != nullptr && !found->only_observes && found->was != value;
}

const RetiredKey* ConfigIdentity::find_retired(const std::string& key) const {
  const auto found =
      std::find_if(retired.begin(), retired.end(), [&](const RetiredKey& gone) { return fits(gone.key, key); });
  return found == retired.end() ? nullptr : &*found;
}

const LaterKey* ConfigIdentity::find_later(const std::string& key) const {
  const auto found = std::find_if(later.begin(), later.end(), [&](const LaterKey& one) { return fits(one.key, key); });
  return found == later.end() ? nullptr : &*found;
}

bool ConfigIdentity::holds(const ConfigPlace& where, const Settings& config, const std::string& table) const {
  return std::all_of(where.begin(), where.end(), [&](const auto& condition) {
    const std::string key = in_table(condition.first, table);
    const auto found = config.find(key);
    const LaterKey* later_key = find_later(key);
    return found != config.end() ? found->second.value == condition.second
                                 : later_key != nullptr && later_key->was == condition.second;
  });
}

Settings ConfigIdentity::versions_of(const Settings& config) const {
  Settings found;
  for (const MethodVersion& method : versions) {
    for (const std::string& table : tables_for(/*of_algorithm=*/false, method.where, config)) {
      if (holds(method.where, config, table)) {
        found[fmt::format("{}{}{}", table, kVersion, method.name)] = {std::int64_t{method.version}, "resolved"};
      }
    }
  }
  return found;
}

const ConfigIdentity& config_identity() {
  static const ConfigIdentity kIdentity{
      .later = {{"evaluation.every", std::int64_t{0}, /*only_observes=*/true},
                {"algorithm.*.profile.encoder_refresh", std::int64_t{0}},
                {"algorithm.*.profile.subsample_test", false},
                {"algorithm.*.profile.least_samples", std::int64_t{2}},
                {"algorithm.*.profile.spread", std::string("deviation")},
                {"algorithm.*.mapping.threshold_unit", std::string("all")},
                {"algorithm.*.mapping.strategies", std::string("effective"), /*only_observes=*/true},
                {"algorithm.*.averaging", std::string("examples")},
                // Of SCAFFOLD, FeSEM, pFedMe, FedDrift, FedGPS and ShiftEx.
                {"algorithm.*.variate_mean", std::string("answered")},
                {"algorithm.*.centre_start", std::string("apart")},
                {"algorithm.*.personal_start", std::string("kept")},
                {"algorithm.*.idle_models", std::string("train")},
                {"algorithm.*.latecomers", std::string("placed")},
                {"algorithm.*.whole_head", false},
                {"algorithm.*.served_by", std::string("expectation")},
                // Of CoLA.
                {"algorithm.*.predict_when", std::string("before")},
                {"algorithm.*.vectors_of", std::string("test")},
                {"algorithm.*.vector_epochs", std::int64_t{5}},
                {"algorithm.*.vector_learning_rate", 0.05}},
      // It was for tests, which are given a clock; kept configs never had it.
      .retired = {{"server.clock",
                   "make the times short that are to be short, like server.grace_seconds and server.round_seconds"}},
      // 2: the clients' own sums, one scale per channel or column, kept with the model.
      .versions = {{"standardise", 2, {{"training.standardise", true}}},
                   // 2: the class part of a few-label query is noised as well.
                   {"few-label-noise",
                    2,
                    {{"privacy.mode", std::string("paper")},
                     {"algorithm.*.assign.few_label", std::string("moments")},
                     {"algorithm.*.profile.noise_stream", std::string("fresh")}}},
                   // 2: the encoder is not sent a second time with the projector.
                   {"bounds", 2, {{"algorithm.*.profile.projection", std::string("pca_box")}}}},
  };
  return kIdentity;
}

}  // namespace feroma
