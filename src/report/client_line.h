#pragma once

#include <array>
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

/// The columns of clients.csv that every version has written.
inline constexpr std::array<std::string_view, 9> kClientColumns{"algorithm",       "round",          "client",
                                                                "distribution",    "num_examples",   "loss",
                                                                "accuracy_before", "accuracy_after", "strategy"};

/// Reads the lines of a clients.csv whose first line is known.
class ClientLines {
 public:
  /// Of a file with these columns and no others, in this order.
  ClientLines();
  /// One of them that is lacking is an invalid_data error that names `where`; others are of no interest.
  ClientLines(std::string_view header, const std::string& where);

  /// Another number of columns, a text for a number, or a figure that no client can have is an invalid_data error that
  /// names `where`. What a client did not tell is nan.
  [[nodiscard]] ClientLine parse(std::string_view line, const std::string& where) const;

 private:
  std::size_t count_ = kClientColumns.size();
  std::array<std::size_t, kClientColumns.size()> places_{};  ///< of kClientColumns
};

}  // namespace feroma::detail
