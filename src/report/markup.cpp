#include "report/markup.h"

#include "feroma/core/error.h"

namespace feroma::detail {

std::string escape_html(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (const char c : text) {
    switch (c) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '"': out += "&quot;"; break;
      case '\'': out += "&#39;"; break;
      default: out += c;
    }
  }
  return out;
}

std::string escape_script(std::string_view json) {
  std::string out;
  out.reserve(json.size());
  for (const char c : json) {
    if (c == '<') {
      out += "\\u003c";  // only strings can hold it, and there it means the same
    } else {
      out += c;
    }
  }
  return out;
}

std::string fill_template(std::string_view text, const std::map<std::string_view, std::string>& parts) {
  std::string out;
  for (;;) {
    const std::size_t open = text.find("{{");
    if (open == std::string_view::npos) {
      out += text;
      return out;
    }
    const std::size_t close = text.find("}}", open);
    require(close != std::string_view::npos, ErrorCode::internal, "[report] the page template has an open {{{{");
    const std::string_view name = text.substr(open + 2, close - open - 2);
    const auto part = parts.find(name);
    require(part != parts.end(), ErrorCode::internal, "[report] the page template asks for an unknown part {}", name);
    out += text.substr(0, open);
    out += part->second;
    text.remove_prefix(close + 2);
  }
}

}  // namespace feroma::detail
