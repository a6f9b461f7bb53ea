#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "feroma/core/ids.h"
#include "feroma/data/view.h"

namespace feroma {

/// What a client tells of its samples so that everybody's can be brought to one scale: sums over them, one per channel
/// or column (`scale_count`).
struct InputSums {
  std::int64_t samples = 0;
  std::vector<double> sums;     ///< of the values as the client sees them, tints included
  std::vector<double> squares;  ///< of their squares
  friend bool operator==(const InputSums&, const InputSums&) = default;
};

/// The sums of a view's values before they are scaled. Bytes are counted, so that theirs are exact.
[[nodiscard]] InputSums input_sums(const View& view);

/// Refuses sums that no samples of this shape can have, with an invalid_data error: not finite, larger than 32-bit
/// numbers reach, or of a negative variance.
void check_input_sums(ClientId client, const InputSums& sums, SampleShape shape);

/// Clients whose sums would decide for everybody, and why: values or a number of samples that are very many times those
/// of the other clients. Of two clients nobody can say which one is right. `columns` are a table's, where they are
/// known.
[[nodiscard]] std::map<ClientId, std::string> inflated_sums(const std::map<ClientId, InputSums>& all,
                                                            std::span<const std::string> columns = {});

/// In what two clients differ so much that one of three would be left out; empty where they are alike, and where there
/// are not two.
[[nodiscard]] std::string unlike_sums(const std::map<ClientId, InputSums>& all,
                                      std::span<const std::string> columns = {});

/// Scales that give every channel or column mean 0 and standard deviation 1 over all clients' samples; one without
/// spread is only moved. The sums are added in the order of the clients, so that the bits are the same everywhere.
[[nodiscard]] InputScales scales_of(const std::map<ClientId, InputSums>& all, SampleShape shape);

}  // namespace feroma
