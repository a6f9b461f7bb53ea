#pragma once

#include <string>

#include "feroma/report/run_set.h"

namespace feroma::detail {

/// A key of a run's config as text; empty where it is not there.
[[nodiscard]] inline std::string text_of(const RunEntry& run, const char* key) {
  const auto found = run.config.find(key);
  return found == run.config.end() ? "" : plain_text(found->second.value);
}

[[nodiscard]] inline bool is_concept_label(const RunEntry& run) {
  return text_of(run, "scenario.shift") == "concept_label";
}

/// "off" where the config is older than the key.
[[nodiscard]] inline std::string privacy_mode(const RunEntry& run) {
  const std::string mode = text_of(run, "privacy.mode");
  return mode.empty() ? "off" : mode;
}

/// Stages and rounds as the paper writes them, "5/20".
[[nodiscard]] inline std::string drift_of(const RunEntry& run) {
  return text_of(run, "scenario.drifts") + "/" + text_of(run, "scenario.rounds");
}

}  // namespace feroma::detail
