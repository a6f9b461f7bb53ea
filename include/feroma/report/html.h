#pragma once

#include <filesystem>
#include <string>

#include "feroma/report/run_data.h"

namespace feroma {

/// The report of a run as one page that needs nothing else: table, curves, strategies, mixing.
[[nodiscard]] std::string html_report(const RunData& run);
/// Reads the run directory and writes `report.html` into it; returns its path.
std::filesystem::path write_html_report(const std::filesystem::path& folder);

}  // namespace feroma
