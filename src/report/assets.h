#pragma once

#include <string_view>

namespace feroma::detail {

/// The files of assets/, built in.
extern const std::string_view kPageHtml;
extern const std::string_view kStyleCss;
extern const std::string_view kChartCss;
extern const std::string_view kPublishedCsv;
extern const std::string_view kPageJs;

}  // namespace feroma::detail
