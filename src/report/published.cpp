#include "feroma/report/published.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "feroma/core/error.h"
#include "feroma/core/number.h"
#include "report/assets.h"
#include "report/csv.h"

namespace feroma {
namespace {

constexpr std::string_view kHeader = "table,dataset,shift,level,drift,clients,method,variant,metric,mean,std";

double number(const std::string& text, const std::string& where) {
  const auto value = parse_number<double>(text);
  require(value && std::isfinite(*value), ErrorCode::invalid_data, "{} must be a finite number, got \"{}\"", where,
          text);
  return *value;
}

PublishedFigure figure_of(std::vector<std::string> fields, const std::string& where) {
  constexpr std::size_t kColumns = 11;
  require(fields.size() == kColumns, ErrorCode::invalid_data, "{}: must have {} columns, got {}", where, kColumns,
          fields.size());
  require(!fields[0].empty() && !fields[6].empty() && !fields[8].empty(), ErrorCode::invalid_data,
          "{}: table, method and metric must not be empty", where);
  PublishedFigure figure;
  const std::array<std::string*, 9> texts{&figure.table,  &figure.dataset, &figure.shift,
                                          &figure.level,  &figure.drift,   &figure.clients,
                                          &figure.method, &figure.variant, &figure.metric};
  for (std::size_t i = 0; i < texts.size(); ++i) {
    *texts[i] = std::move(fields[i]);
  }
  figure.mean = number(fields[9], where + ": mean");
  require(figure.metric != "accuracy" || (figure.mean >= 0 && figure.mean <= 100), ErrorCode::invalid_data,
          "{}: mean of accuracy must be in 0..100, got {}", where, figure.mean);
  if (!fields[10].empty()) {
    figure.std = number(fields[10], where + ": std");
    require(*figure.std >= 0, ErrorCode::invalid_data, "{}: std must be >= 0, got {}", where, *figure.std);
  }
  return figure;
}

}  // namespace

std::vector<PublishedFigure> parse_published(std::string_view text, const std::string& name) {
  std::vector<PublishedFigure> figures;
  std::size_t line = 0;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view row = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (row.ends_with('\r')) {
      row.remove_suffix(1);
    }
    ++line;
    if (line == 1) {
      require(row == kHeader, ErrorCode::invalid_data, "{}: must start with the line \"{}\"", name, kHeader);
    } else if (!row.empty()) {
      const std::string where = fmt::format("{}:{}", name, line);
      figures.push_back(figure_of(detail::split_csv_line(row, where), where));
    }
  }
  require(!figures.empty(), ErrorCode::invalid_data, "{}: holds no figures", name);
  return figures;
}

const std::vector<PublishedFigure>& published_figures() {
  static const std::vector<PublishedFigure> kFigures = parse_published(detail::kPublishedCsv, "published.csv");
  return kFigures;
}

}  // namespace feroma
