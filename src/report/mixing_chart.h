#pragma once

#include <cstddef>
#include <string>

#include "feroma/report/run_data.h"

namespace feroma::detail {

/// Panels and clients that a still picture shows; the page has all of them.
inline constexpr std::size_t kMixingRounds = 6;
inline constexpr std::size_t kMixingClients = 20;

/// Who took how much from whom, one panel per round, chosen evenly and with the last; clients by true distribution.
/// Empty without mixing and for more than 200 clients.
[[nodiscard]] std::string mixing_rounds_svg(const AlgorithmRun& algorithm);
/// The same by client: sources down, rounds across, one panel per receiver.
[[nodiscard]] std::string mixing_clients_svg(const AlgorithmRun& algorithm);

}  // namespace feroma::detail
