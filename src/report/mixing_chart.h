#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "feroma/report/run_data.h"

namespace feroma::detail {

/// Panels and clients that a still picture shows; the page has all of them.
inline constexpr std::size_t kMixingRounds = 6;
inline constexpr std::size_t kMixingClients = 20;

/// Who took how much from whom, one panel per round, chosen evenly and with the last; clients by true distribution. The
/// more clients, the fewer panels: a page stays small. Empty without mixing and for more than 200 clients.
[[nodiscard]] std::string mixing_rounds_svg(const AlgorithmRun& algorithm);
/// Which rounds the picture by client shows, as places in AlgorithmRun::mixing: all, or so many that a page stays
/// small, evenly and with the first and the last. None for more than 200 clients.
[[nodiscard]] std::vector<std::size_t> mixing_client_rounds(const AlgorithmRun& algorithm);
/// The same by client: sources down, rounds across, one panel per receiver.
[[nodiscard]] std::string mixing_clients_svg(const AlgorithmRun& algorithm);

}  // namespace feroma::detail
