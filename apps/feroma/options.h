#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "feroma/core/options.h"

namespace feroma::cli {

/// A table of a config file, or a file of one table.
struct OptionTable {
  std::string name;   ///< what `feroma list options` calls it
  std::string title;  ///< how it is written, with its file where that is no scenario file
  std::string about;
  std::vector<OptionInfo> options;
};

/// The tables of a scenario file but for algorithms, in its order.
[[nodiscard]] std::vector<OptionTable> scenario_tables();
/// The `[[algorithm]]` table of each method.
[[nodiscard]] std::vector<OptionTable> algorithm_tables();
/// The `[server]` table of a federation's server.
[[nodiscard]] OptionTable server_options();

/// The key as it is written below its table's heading: "profile.dimensions" of "algorithm.feroma.profile.dimensions".
[[nodiscard]] std::string name_in(const OptionTable& table, const OptionInfo& option);

/// What a key may be, for people: "integer >= 1", "low | medium | high".
[[nodiscard]] std::string kind_text(const OptionInfo& option);

/// The text in lines as wide as prose in docs, each begun with `indent`; every line ends.
[[nodiscard]] std::string wrapped(std::string_view text, std::string_view indent);

/// `feroma list options [NAME]...`.
void add_options_list(CLI::App& list);

}  // namespace feroma::cli
