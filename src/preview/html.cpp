#include "feroma/preview/html.h"

#include <fmt/format.h>

#include <array>
#include <string_view>

#include "preview/sheet_style.h"
#include "report/assets.h"
#include "report/markup.h"

namespace feroma {
namespace {

using namespace detail;

/// The sheet keeps its white paper in the dark: its pictures would change otherwise.
constexpr std::string_view kOwnStyle = R"(
.sheet { overflow-x: auto; border-radius: 10px; background: #fff; border: 1px solid var(--line); }
.sheet img { display: block; max-width: 100%; height: auto; }
#full:checked ~ .sheet img { max-width: none; }
#full { accent-color: var(--accent); margin: 0 2px 12px 0; vertical-align: -2px; }
#full + label { color: var(--soft); font-size: 13px; }
.wide { max-width: none; }
.id { display: inline-block; min-width: 26px; padding: 0 6px; border-radius: 5px; text-align: center; font-weight: 650; }
td small { margin-left: 8px; color: var(--faint); font-size: 12px; }
th.test, td.test { background: var(--grid); }
td.about { text-align: left; white-space: normal; width: 100%; }
)";

std::string base64(std::span<const std::byte> bytes) {
  constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    std::uint32_t group = 0;
    for (std::size_t k = 0; k < 3; ++k) {
      group = group << 8U | (i + k < bytes.size() ? std::to_integer<std::uint32_t>(bytes[i + k]) : 0U);
    }
    for (std::size_t k = 0; k < 4; ++k) {
      text += i + k <= bytes.size() ? kDigits[group >> (18 - 6 * k) & 0x3FU] : '=';
    }
  }
  return text;
}

std::string id_html(int id) {
  const Rgb back = mark_of(id).colour;
  const Rgb ink = text_on(back);
  return fmt::format("<span class=\"id\" style=\"background:#{:02x}{:02x}{:02x};color:#{:02x}{:02x}{:02x}\">{}</span>",
                     back.r, back.g, back.b, ink.r, ink.g, ink.b, id);
}

std::string cell_html(const PreviewCell& cell, std::string_view attributes) {
  return fmt::format("<td{}>{}<small>{}</small></td>", attributes, id_html(cell.distribution), cell.count);
}

std::string legend_section(const Preview& preview) {
  std::string rows;
  for (const DistributionNote& note : preview.legend) {
    rows += fmt::format("<tr><th scope=\"row\">{}</th><td class=\"about\">{}</td></tr>", id_html(note.id),
                        escape_html(note.about));
  }
  return fmt::format(
      "<section><h2>The distributions</h2><p class=\"lead\">Those that occur above, and what each does to "
      "the stored samples.</p><div class=\"scroll\"><table><tbody>{}</tbody></table></div></section>\n",
      rows);
}

std::string table_section(const Preview& preview) {
  std::string head = "<th scope=\"col\">client</th>";
  for (const StageSpan& span : preview.stages) {
    head += fmt::format("<th scope=\"col\">stage {}<br>{}</th>", span.stage + 1,
                        span.first == span.last ? fmt::format("round {}", span.first)
                                                : fmt::format("rounds {}–{}", span.first, span.last));
  }
  std::string body;
  for (const PreviewRow& row : preview.rows) {
    body += fmt::format("<tr><th scope=\"row\">{}</th>", row.client);
    for (const PreviewCell& cell : row.stages) {
      body += cell_html(cell, "");
    }
    body += row.test ? cell_html(*row.test, " class=\"test\"") : "<td class=\"test none\">–</td>";
    body += "</tr>";
  }
  return fmt::format(
      "<section><h2>Distribution and samples</h2><p class=\"lead\">The distribution of each client's data "
      "and how many samples they have.</p><div class=\"scroll\"><table><thead><tr>{}<th scope=\"col\" "
      "class=\"test\">test</th></tr></thead><tbody>{}</tbody></table></div></section>\n",
      head, body);
}

}  // namespace

std::string preview_html(const Preview& preview, std::span<const std::byte> png) {
  const std::string title = escape_html(title_line(preview));
  const std::string missing = left_out(preview);
  return fmt::format(
      "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta name=\"color-scheme\" content=\"light dark\">\n<title>{0} · Feroma preview</title>\n<style>\n{1}{2}"
      "</style>\n</head>\n<body>\n<header class=\"wrap wide\"><p class=\"eyebrow\">Feroma preview</p><h1>{0}</h1>"
      "<p class=\"lead\">{3}{4}</p></header>\n<main class=\"wrap wide\">\n<section><h2>What the clients hold</h2>"
      "<p class=\"lead\">Clients down, stages across, what each is tested on last. The colour and the number of a "
      "frame "
      "are the true distribution of the data; the bars below the samples are the shares of the labels.</p>"
      "<input type=\"checkbox\" id=\"full\"><label for=\"full\"> full size</label><div class=\"sheet\"><img "
      "alt=\"Samples and label shares of {5} clients in {6} stages; the table below has the "
      "distributions.\" src=\"data:image/png;base64,{7}\"></div></section>\n{8}{9}</main>\n<footer class=\"wrap wide\">"
      "<p>Made by Feroma {10}. The page loads nothing from elsewhere.</p></footer>\n</body>\n</html>\n",
      title, kStyleCss, kOwnStyle, escape_html(detail_line(preview)),
      missing.empty() ? "" : fmt::format("; {}", escape_html(missing)), preview.rows.size(), preview.stages.size(),
      base64(png), legend_section(preview), table_section(preview), FEROMA_VERSION);
}

}  // namespace feroma
