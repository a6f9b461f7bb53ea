#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "commands.h"
#include "feroma/core/error.h"
#include "feroma/core/files.h"
#include "feroma/core/log.h"
#include "feroma/report/figures.h"
#include "feroma/report/study.h"
#include "screenshot.h"
#include "terminal.h"

namespace feroma::cli {
namespace {

constexpr std::string_view kStandardOutput = "-";

struct ReportArguments {
  std::vector<std::string> folders;
  std::string sweep;
  std::string against;
  StudyOptions study;
  std::string html;
  std::string csv;
  std::string latex;
  std::string svg;
  std::string png;
  std::string results;
  std::size_t runs = 4;
  bool keep_going = false;
  bool list_tables = false;
  Format format = Format::text;
};

std::vector<PublishedFigure> published_of(const ReportArguments& arguments) {
  return arguments.results.empty() ? published_figures()
                                   : parse_published(read_text(arguments.results), arguments.results);
}

void print_tables(const std::vector<PublishedFigure>& published, Format format) {
  nlohmann::ordered_json json = nlohmann::ordered_json::array();
  for (const auto& [name, about] : paper_table_names(published)) {
    if (format == Format::text) {
      fmt::print("{:<26}  {}\n", name, about);
    }
    json.push_back({{"table", name}, {"about", about}});
  }
  if (format == Format::json) {
    fmt::print("{}\n", json.dump(2));
  }
}

/// A folder for figures; what lies in it is left alone but for files of the same names.
void write_figures(const std::vector<Figure>& figures, const ReportArguments& arguments,
                   std::vector<std::string>& written) {
  if (!arguments.svg.empty()) {
    make_writable_folder(arguments.svg);
    for (const Figure& figure : figures) {
      write_file_atomically(std::filesystem::path(arguments.svg) / (figure.name + ".svg"), figure.file());
    }
    written.push_back(fmt::format("{} ({} figures)", arguments.svg, figures.size()));
  }
  if (!arguments.png.empty()) {
    make_writable_folder(arguments.png);
    for (const Figure& figure : figures) {
      screenshot(figure.file(), figure.width(), figure.height(),
                 std::filesystem::path(arguments.png) / (figure.name + ".png"));
    }
    written.push_back(fmt::format("{} ({} figures)", arguments.png, figures.size()));
  }
}

/// The runs that are drawn; what cannot be is said, and noted in the study, where the report goes on without it.
std::vector<RunData> runs_to_draw(Study& study, const ReportArguments& arguments) {
  std::vector<std::string> damaged;
  std::vector<RunData> runs = drawn_runs(study, arguments.runs, arguments.keep_going ? &damaged : nullptr);
  for (const std::string& note : damaged) {
    log::warning("{}", note);
    study.notes.push_back(note);
  }
  return runs;
}

std::vector<std::string> write_files(Study& study, const std::vector<PublishedFigure>& published,
                                     const ReportArguments& arguments) {
  std::vector<std::string> written;
  const auto write = [&written](const std::string& path, const std::string& text) {
    if (path == kStandardOutput) {
      fmt::print("{}", text);
      return;
    }
    write_file_atomically(path, text);
    written.push_back(path);
  };
  if (!arguments.csv.empty()) {
    write(arguments.csv, study_csv(study));
  }
  if (!arguments.latex.empty()) {
    write(arguments.latex, study_latex(study));
  }
  if (arguments.html.empty() && arguments.svg.empty() && arguments.png.empty()) {
    return written;
  }
  const std::vector<RunData> runs = runs_to_draw(study, arguments);
  if (!arguments.html.empty()) {
    const std::string title =
        arguments.html == kStandardOutput ? "report" : std::filesystem::path(arguments.html).stem().string();
    write(arguments.html, study_html(study, published, runs, title));
  }
  std::vector<Figure> figures = study_figures(study, published);
  for (const RunData& run : runs) {
    for (Figure& figure : run_figures(run)) {
      figures.push_back(std::move(figure));
    }
    for (const std::string& line : undrawn_figures(run)) {
      log::info("{}: {}", run.name, line);
    }
  }
  write_figures(figures, arguments, written);
  return written;
}

/// Whether something other than the tables goes to standard output, where there is room for one thing.
bool fills_standard_output(const ReportArguments& arguments) {
  const std::array files{&arguments.html, &arguments.csv, &arguments.latex};
  const auto count =
      std::count_if(files.begin(), files.end(), [](const auto* file) { return *file == kStandardOutput; });
  require(count == 0 || count + (arguments.format == Format::json ? 1 : 0) == 1, ErrorCode::invalid_config,
          "only one of --html, --csv, --latex and --format json may go to standard output (-)");
  return count > 0;
}

void report(const ReportArguments& arguments) {
  const std::vector<PublishedFigure> published = published_of(arguments);
  if (arguments.list_tables) {
    print_tables(published, arguments.format);
    return;
  }
  const bool filled = fills_standard_output(arguments);
  require(!arguments.folders.empty(), ErrorCode::invalid_config,
          "name at least one folder with runs in it\nSee feroma report --help.");
  if (!arguments.png.empty()) {
    require_browser();  // before anything is read
  }
  const std::vector<std::filesystem::path> folders(arguments.folders.begin(), arguments.folders.end());
  StudyOptions options = arguments.study;
  options.against_paper = !arguments.against.empty();
  Study study = make_study(find_runs(folders, arguments.keep_going, arguments.sweep), options, published);
  for (const std::string& note : study.notes) {
    log::warning("{}", note);
  }
  const std::vector<std::string> written = write_files(study, published, arguments);
  if (arguments.format == Format::json) {
    fmt::print("{}", study_json(study));
    return;
  }
  if (!filled) {
    fmt::print("{}", study_text(study, wants_colour(stdout)));
  }
  for (const std::string& path : written) {
    fmt::print(filled ? stderr : stdout, "wrote {}\n", path);
  }
}

}  // namespace

void add_report_command(CLI::App& app) {
  CLI::App* command = app.add_subcommand("report", "Tables and figures of one or many runs, beside the paper's");
  const auto arguments = std::make_shared<ReportArguments>();
  command
      ->add_option("DIR", arguments->folders,
                   "Run directories, or folders that hold some, at most three levels down; a sweep's results.db is its "
                   "folder")
      ->option_text("...");
  command->add_option("--sweep", arguments->sweep, "Only the cells that the sweep of this name asked for in its folder")
      ->option_text("NAME");
  command->add_option("--against", arguments->against, "Every table of the paper with a figure of these runs")
      ->check(CLI::IsMember({"paper"}))
      ->option_text("paper");
  command->add_option("--table", arguments->study.tables, "One table of the paper, may be repeated; --list-tables")
      ->option_text("NAME")
      ->allow_extra_args(false);
  command->add_flag("--list-tables", arguments->list_tables, "Print the names of the paper's tables");
  command->add_option("--versus", arguments->study.versus, "Test the others against this algorithm (default: the best)")
      ->option_text("LABEL");
  command
      ->add_option("--html", arguments->html,
                   "One page with everything, which needs nothing else; - is standard output")
      ->option_text("F");
  command->add_option("--csv", arguments->csv, "One line per figure, ours and the published one; - is standard output")
      ->option_text("F");
  command->add_option("--latex", arguments->latex, "A document with booktabs tables; - is standard output")
      ->option_text("F");
  command->add_option("--svg", arguments->svg, "The figures as SVG files")->option_text("DIR");
  command->add_option("--png", arguments->png, "The figures as PNG files; needs Chromium")->option_text("DIR");
  command->add_option("--runs", arguments->runs, "Most settings whose runs are drawn, the first of each algorithm")
      ->check(CLI::Range(0, 1000))
      ->option_text("N [4]");
  command->add_option("--results", arguments->results, "Published figures from this CSV file, not those built in")
      ->option_text("F");
  command->add_flag("--keep-going", arguments->keep_going, "Leave out damaged runs and say so, rather than stop");
  add_format_option(*command, arguments->format);
  command->footer(
      "Example:\n  feroma report runs --table main_table_2 --html report.html\n"
      "  feroma report runs --against paper --csv figures.csv\n"
      "  feroma report runs/paper --sweep warmup_length --html warmup.html");
  command->callback([arguments] { report(*arguments); });
}

}  // namespace feroma::cli
