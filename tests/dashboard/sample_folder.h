#pragma once

#include <functional>
#include <string>

#include "dashboard/run_watch.h"
#include "tests/core/temp_folder.h"

namespace feroma::test {

/// What a run of `clients` clients would write in `rounds` rounds, by the writer itself. Client 1 drifts in round 3 and
/// drops out in round 2; profiles and mixing begin with round 2.
void write_sample(const std::filesystem::path& folder, int rounds, int clients, const std::string& privacy = "off");

/// Waits until `there` holds for what a watch sees; false after ten seconds.
[[nodiscard]] bool wait_until(const dashboard::RunWatch& watch,
                              const std::function<bool(const dashboard::Sight&)>& there);

/// Appends to a file as a writer does that is not done with its line.
void append(const std::filesystem::path& file, const std::string& text);

}  // namespace feroma::test
