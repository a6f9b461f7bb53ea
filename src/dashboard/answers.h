#pragma once

#include <map>
#include <optional>
#include <stdexcept>
#include <string>

#include "dashboard/run_watch.h"

namespace feroma::dashboard {

/// The parameters of a request, as they stand in its address.
using Query = std::map<std::string, std::string>;

/// A request that cannot be answered, and why.
struct BadRequest : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// A parameter as a number in first..last; a BadRequest names it where it is none. `otherwise` where it is absent.
[[nodiscard]] int number_in(const Query& query, const std::string& key, int first, int last, int otherwise);

// Each is a JSON object; absent values are null. docs/dashboard.md lists their fields.
/// What the page shows first and is told of again with every change.
[[nodiscard]] std::string run_answer(const Sight& sight);
/// `algorithm`, `points`: the curves, thinned to so many rounds.
[[nodiscard]] std::string history_answer(const Sight& sight, const Query& query);
/// `algorithm`, `sort`, `order`, `filter`, `id`, `page`, `size`: a page of the clients.
[[nodiscard]] std::string clients_answer(const Sight& sight, const Query& query);

/// The algorithm that a request names, or the first one; a BadRequest where there is none.
[[nodiscard]] const AlgorithmState& algorithm_of(const Sight& sight, const Query& query);
/// Whether clients' exact counts and accuracies may be shown: not under a privacy budget.
[[nodiscard]] bool tells_counts(const Sight& sight);

}  // namespace feroma::dashboard
