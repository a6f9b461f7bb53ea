#include "config.h"

#include "feroma/core/options.h"
#include "feroma/runtime/experiment.h"

namespace feroma::cli {

void add_config_options(CLI::App& command, ConfigArguments& arguments) {
  command.add_option("CONFIG", arguments.file, "Scenario file (feroma init writes one)")->required();
  command
      .add_option("--set", arguments.overrides,
                  "Override a key (feroma list options), e.g. --set scenario.level=low or "
                  "--set algorithm.feroma.warmup_rounds=3 (repeatable)")
      ->allow_extra_args(false);
}

Settings load_config(const ConfigArguments& arguments) {
  Settings settings = load_settings(arguments.file);
  for (const std::string& assignment : arguments.overrides) {
    Settings one;
    apply_override(one, assignment);
    for (const auto& [key, setting] : one) {
      settings[numbered_key(settings, key)] = setting;
    }
  }
  return settings;
}

PrivacyOptions own_privacy(const ConfigArguments& arguments) {
  PrivacyOptions privacy;
  if (arguments.file.empty()) {
    return privacy;
  }
  const Settings settings = load_config(arguments);
  Problems problems;
  SettingsReader reader(settings, problems);
  reader.read(privacy, "privacy");
  reader.reject_unknown();
  privacy.check(problems);
  problems.locate(settings);
  problems.raise();
  return privacy;
}

}  // namespace feroma::cli
