#include "config.h"

namespace feroma::cli {

void add_config_options(CLI::App& command, ConfigArguments& arguments) {
  command.add_option("CONFIG", arguments.file, "Scenario file (feroma init writes one)")->required();
  command.add_option("--set", arguments.overrides, "Override a key, e.g. --set scenario.level=low (repeatable)")
      ->allow_extra_args(false);
}

Settings load_config(const ConfigArguments& arguments) {
  Settings settings = load_settings(arguments.file);
  for (const std::string& assignment : arguments.overrides) {
    apply_override(settings, assignment);
  }
  return settings;
}

}  // namespace feroma::cli
