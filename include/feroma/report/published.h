#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace feroma {

/// One figure of the paper's tables; fields that do not apply are empty.
struct PublishedFigure {
  std::string table;    ///< "main_table_2", the name it has in the paper's source
  std::string dataset;  ///< "MNIST"
  std::string shift;    ///< "P(Y|X)", "natural", or "all" for a mean over the four
  std::string level;    ///< "low", "medium", "high" or "all"
  std::string drift;    ///< "5/20": stages and rounds, or "all"
  std::string clients;
  std::string method;   ///< "FedAvg", "Feroma"
  std::string variant;  ///< "epsilon=1", "Known Association", ...
  std::string metric;   ///< "accuracy", "log2_seconds", ...
  double mean = 0;
  std::optional<double> std;
  friend bool operator==(const PublishedFigure&, const PublishedFigure&) = default;
};

/// What is built in.
[[nodiscard]] const std::vector<PublishedFigure>& published_figures();
/// Reads a file of the same form; errors name `name`, the line and the column.
[[nodiscard]] std::vector<PublishedFigure> parse_published(std::string_view text, const std::string& name);

}  // namespace feroma
