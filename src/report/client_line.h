#pragma once

#include <string>
#include <string_view>

#include "feroma/report/record.h"

namespace feroma::detail {

/// A line of clients.csv.
struct ClientLine {
  std::string algorithm;  ///< label of the run
  int round = 0;
  ClientRecord client;
};

/// Another number of columns, a text for a number, or a figure that no client can have is an invalid_data error that
/// names `where`. What a client did not tell is nan.
[[nodiscard]] ClientLine parse_client_line(std::string_view line, const std::string& where);

}  // namespace feroma::detail
