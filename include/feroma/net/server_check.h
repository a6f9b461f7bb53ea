#pragma once

#include <span>
#include <string>
#include <vector>

#include "feroma/net/server.h"

namespace feroma {

enum class CheckVerdict { ok, warning, problem };
[[nodiscard]] std::string_view name_of(CheckVerdict verdict);

/// One thing that a server needs, and how it stands.
struct CheckLine {
  CheckVerdict verdict = CheckVerdict::ok;
  std::string subject;  ///< algorithm, certificates, clients, flower, state, disk, port, descriptors, dashboard
  std::string text;     ///< what was found
  std::string advice;   ///< what to do; empty where all is well
};

/// Looks at everything that would keep a server with this plan from starting or from working, and starts nothing. A
/// state folder that is not there is not made; of one that is there all that the server would go on from is read, and
/// nothing is written. Of the dashboard's address (empty: none) only whether it leaves the others theirs is said here.
[[nodiscard]] std::vector<CheckLine> check_server(const FederationPlan& plan, const ListenOptions& listen,
                                                  const std::string& dashboard_address = {});

[[nodiscard]] bool has_problem(std::span<const CheckLine> lines);
/// The lines for people, one below the other, advice indented under what it is about.
[[nodiscard]] std::string check_table(std::span<const CheckLine> lines);

}  // namespace feroma
