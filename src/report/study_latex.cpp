#include <fmt/core.h>

#include "feroma/report/study.h"
#include "report/cell_text.h"
#include "report/comparison_rows.h"

namespace feroma {
namespace {

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '\\': out += "\\textbackslash{}"; break;
      case '~': out += "\\textasciitilde{}"; break;
      case '^': out += "\\textasciicircum{}"; break;
      case '|': out += "\\textbar{}"; break;
      case '<': out += "\\textless{}"; break;
      case '>': out += "\\textgreater{}"; break;
      case '&':
      case '%':
      case '$':
      case '#':
      case '_':
      case '{':
      case '}':
        out += '\\';
        out += c;
        break;
      default: out += c;
    }
  }
  return out;
}

constexpr const char* kPlusMinus = " $\\pm$ ";
constexpr const char* kEndRow = " \\\\\n";
/// LaTeX gives up where more floats than this, and some, wait for a page.
constexpr std::size_t kFloatsAtOnce = 10;

std::string cell(const std::string& text) { return fmt::format(" & {}", text); }

/// A float that is as wide as the page where it would be wider.
std::string framed(const std::string& body, std::size_t columns, const std::string& caption, const std::string& label) {
  std::string layout = "ll";
  layout.append(columns, 'r');
  return fmt::format(
      "\\begin{{table}}[htbp]\n\\centering\n\\footnotesize\n\\fittopage{{%\n\\begin{{tabular}}{{{}}}\n\\toprule\n{}"
      "\\bottomrule\n\\end{{tabular}}}}\n\\caption{{{}}}\n\\label{{tab:{}}}\n\\end{{table}}\n\n",
      layout, body, caption, label);
}

std::string table_latex(const PaperTable& table) {
  std::string body = " & ";
  for (const PaperColumn& column : table.columns) {
    body += cell(escaped(column.title));
  }
  body += " \\\\\n\\midrule\n";
  for (const PaperRow& row : table.rows) {
    std::string ours = escaped(row.name) + cell(row.label.empty() ? "ours" : escaped(row.label));
    std::string theirs = cell("published");
    std::string printed = cell("as printed");
    std::string apart = cell("difference");
    bool any = false;
    bool anew = false;
    for (std::size_t c = 0; c < row.values.size(); ++c) {
      const PaperValue& value = row.values[c];
      const PaperColumn& column = table.columns[c];
      const std::string difference = detail::difference_text(value, column.digits);
      const detail::Tone tone = detail::tone_of(value, column);
      ours += cell(value.ours ? detail::ours_text(value, column.digits, kPlusMinus)
                              : fmt::format("\\textit{{{}}}", detail::ours_text(value, column.digits)));
      theirs += cell(detail::published_text(value, column.digits, kPlusMinus));
      printed += cell(value.printed ? detail::spread_text(*value.printed, std::nullopt, column.digits) : "");
      apart +=
          cell(tone == detail::Tone::plain ? (difference.empty() ? "" : fmt::format("${}$", difference))
                                           : fmt::format("\\textcolor{{{}}}{{${}$}}",
                                                         tone == detail::Tone::good ? "gain" : "loss", difference));
      any = any || value.difference().has_value();
      anew = anew || value.printed.has_value();
    }
    body += ours + kEndRow + theirs + kEndRow + (anew ? printed + kEndRow : "") + (any ? apart + kEndRow : "") +
            "\\addlinespace\n";
  }
  std::string caption = escaped(table.title) + ".";
  for (const std::string& note : table.notes) {
    caption += fmt::format(" {}.", escaped(note));
  }
  return framed(body, table.columns.size(), caption, table.name);
}

std::string group_latex(const ResultGroup& group, std::size_t number) {
  std::string body = "algorithm & seeds";
  const std::vector<std::size_t> columns = group.shown_columns();
  for (const std::size_t c : columns) {
    body += cell(escaped(group_columns()[c].title));
  }
  body += " \\\\\n\\midrule\n";
  for (const GroupRow& row : group.rows) {
    body += escaped(row.label) + cell(fmt::format("{}", row.seeds));
    for (const std::size_t c : columns) {
      const std::optional<MeanDeviation>& value = row.shown(c);
      body += cell(value ? detail::spread_text(value->mean, value->deviation, group_columns()[c].digits, kPlusMinus)
                         : std::string(row.no_value() == "-" ? "--" : row.no_value()));
    }
    body += " \\\\\n";
  }
  return framed(body, columns.size(), escaped(group.title) + ".", fmt::format("results-{}", number));
}

std::string comparison_latex(const Comparison& comparison) {
  std::string body;
  const auto add = [&body](const std::vector<std::string>& cells) {
    for (std::size_t c = 0; c < cells.size(); ++c) {
      const std::string text = cells[c] == "-" ? "--" : escaped(cells[c]);
      body += c == 0 ? text : cell(text);
    }
    body += kEndRow;
  };
  const std::vector<std::string> headings = detail::comparison_headings(comparison);
  add(headings);
  body += "\\midrule\n";
  for (const std::vector<std::string>& row : detail::comparison_rows(comparison)) {
    add(row);
  }
  std::string caption =
      fmt::format("Mean ranks over {}: Friedman's $\\chi^2$ {:.2f}, p {}; ranks differ beyond {:.2f} (Nemenyi, 0.05).",
                  comparison.count_text(comparison.friedman.blocks), comparison.friedman.chi_square,
                  escaped(detail::p_text(comparison.friedman.p)), comparison.critical_difference);
  for (const std::string& note : comparison.notes()) {
    caption += fmt::format(" {}.", escaped(note));
  }
  return framed(body, headings.size() - 2, caption, "comparison");  // algorithm and rank stand to the left
}

}  // namespace

std::string study_latex(const Study& study) {
  std::string text =
      "% Made by feroma report. The tables need booktabs, graphicx, xcolor and the three definitions below.\n"
      "\\documentclass{article}\n\\usepackage[utf8]{inputenc}\n\\usepackage[T1]{fontenc}\n\\usepackage{booktabs}\n"
      "\\usepackage{graphicx}\n\\usepackage{xcolor}\n\\usepackage[landscape,margin=2cm]{geometry}\n"
      "\\definecolor{gain}{HTML}{1F5FD0}\n\\definecolor{loss}{HTML}{B5470A}\n"
      "\\newcommand{\\fittopage}[1]{\\resizebox{\\ifdim\\width>\\linewidth\\linewidth\\else\\width\\fi}{!}{#1}}\n"
      "\\begin{document}\n\n";
  std::size_t floats = 0;
  const auto add = [&](const std::string& table) {
    text += floats > 0 && floats % kFloatsAtOnce == 0 ? "\\clearpage\n" : "";
    text += table;
    ++floats;
  };
  for (const PaperTable& table : study.tables) {
    add(table_latex(table));
  }
  for (std::size_t i = 0; i < study.groups.size(); ++i) {
    add(group_latex(study.groups[i], i + 1));
  }
  if (study.comparison) {
    add(comparison_latex(*study.comparison));
  }
  return text + "\\end{document}\n";
}

}  // namespace feroma
