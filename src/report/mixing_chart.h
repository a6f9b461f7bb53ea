#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "feroma/report/run_data.h"
#include "report/shown_part.h"

namespace feroma::detail {

/// Panels and clients that a still picture shows; the page has all of them.
inline constexpr std::size_t kMixingRounds = 6;
inline constexpr std::size_t kMixingClients = 20;
/// Of more clients neither picture is drawn: their cells could not be told apart.
inline constexpr std::size_t kMixingMost = 200;

/// Who took how much from whom, one panel per round, chosen evenly and with the last; clients by true distribution. The
/// more clients, the fewer panels: a page stays small. Empty without mixing and for more than kMixingMost clients.
[[nodiscard]] std::string mixing_rounds_svg(const AlgorithmRun& algorithm);
/// How many of the rounds have a panel.
[[nodiscard]] ShownPart mixing_rounds_shown(const AlgorithmRun& algorithm);
/// Whether an algorithm mixes among so many clients that neither picture is drawn.
[[nodiscard]] bool mixes_too_many(const AlgorithmRun& algorithm);
/// Which rounds the picture by client shows, as places in AlgorithmRun::mixing: all, or so many that a page stays
/// small, evenly and with the first and the last. None for more than kMixingMost clients.
[[nodiscard]] std::vector<std::size_t> mixing_client_rounds(const AlgorithmRun& algorithm);
/// The same by client: sources down, rounds across, one panel per receiver.
[[nodiscard]] std::string mixing_clients_svg(const AlgorithmRun& algorithm);
/// How many of the receivers of those rounds have a panel.
[[nodiscard]] ShownPart mixing_clients_shown(const AlgorithmRun& algorithm);

}  // namespace feroma::detail
