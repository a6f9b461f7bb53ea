#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "feroma/core/settings.h"
#include "feroma/privacy/options.h"

namespace feroma::cli {

/// A scenario file and what the command line changes in it.
struct ConfigArguments {
  std::string file;
  std::vector<std::string> overrides;
};

/// The arguments `CONFIG [--set key=value]...` of every command that takes a scenario.
void add_config_options(CLI::App& command, ConfigArguments& arguments);
/// Reads the file and applies the overrides in order.
[[nodiscard]] Settings load_config(const ConfigArguments& arguments);
/// A client's own wishes: the [privacy] of its file, which has nothing else; none without a file.
[[nodiscard]] PrivacyOptions own_privacy(const ConfigArguments& arguments);

}  // namespace feroma::cli
