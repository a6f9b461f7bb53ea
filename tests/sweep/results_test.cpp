#include "feroma/sweep/results.h"

#include <gtest/gtest.h>

#include "feroma/report/figures.h"
#include "feroma/report/study.h"
#include "store/sqlite.h"
#include "tests/data/own_folder_fixture.h"
#include "tests/places.h"
#include "tests/sweep/table_sweep.h"

namespace feroma {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using test::holds;
using test::refusal_of;
using test::Warnings;

constexpr const char* kAdvice = "unless somebody needs the file, delete it: it is made anew from the cells";

class Results : public test::TableSweep {
 protected:
  [[nodiscard]] fs::path database() const { return out() / "results.db"; }
  /// The answer to a question, one object per row.
  [[nodiscard]] std::vector<json> ask(const std::string& sql) const {
    const fs::path path = database();
    const detail::Database db = detail::open_database(path, detail::OpenMode::read_only);
    sqlite3_stmt* raw = nullptr;
    EXPECT_EQ(sqlite3_prepare_v2(db.get(), sql.c_str(), -1, &raw, nullptr), SQLITE_OK) << sqlite3_errmsg(db.get());
    std::vector<json> rows;
    while (sqlite3_step(raw) == SQLITE_ROW) {
      json& row = rows.emplace_back(json::object());
      for (int i = 0; i < sqlite3_column_count(raw); ++i) {
        row[sqlite3_column_name(raw, i)] = value(raw, i);
      }
    }
    sqlite3_finalize(raw);
    return rows;
  }
  /// Makes up figures and settings.
  void change(const std::string& sql) const {
    const fs::path path = database();
    const detail::Database db = detail::open_database(path, detail::OpenMode::create);
    detail::execute(db.get(), path, sql.c_str());
  }
  /// The questions that the documentation asks of the database.
  static std::vector<std::string> documented() {
    constexpr std::string_view kBegin = "```sql\n";
    const std::string page = read_text(test::source_file("docs/sweeps.md"));
    std::vector<std::string> questions;
    for (std::size_t at = page.find(kBegin); at != std::string::npos; at = page.find(kBegin, at + 1)) {
      const std::size_t begin = at + kBegin.size();
      questions.push_back(page.substr(begin, page.find("```", begin) - begin));
    }
    return questions;
  }

 private:
  static json value(sqlite3_stmt* row, int i) {
    switch (sqlite3_column_type(row, i)) {
      case SQLITE_INTEGER: return sqlite3_column_int64(row, i);
      case SQLITE_FLOAT: return sqlite3_column_double(row, i);
      case SQLITE_TEXT: return reinterpret_cast<const char*>(sqlite3_column_text(row, i));
      default: return nullptr;
    }
  }
};

TEST_F(Results, EqualTheSummariesFigureByFigure) {
  const Sweep grid = sweep("[sweep]\nbase = 'base.toml'\nseeds = [1, 2]\n");
  run(grid);
  ASSERT_EQ(ask("SELECT * FROM cells").size(), 4U);
  for (const SweepCell& cell : grid.cells) {
    const json row = ask("SELECT * FROM cells WHERE cell = '" + cell.key + "'").at(0);
    const json summary = json::parse(read_text(cell_folder(out(), cell.key) / "summary.json"));
    for (const auto& [key, figure] : summary["results"][0].items()) {
      if (key == "seconds") {
        for (const auto& [stage, seconds] : figure.items()) {
          EXPECT_EQ(row.at("seconds_" + stage), seconds) << stage;
        }
      } else {
        EXPECT_EQ(row.at(key), figure) << key;
      }
    }
    for (const char* key : {"dataset", "shift", "level", "drifts", "clients", "seed", "generator"}) {
      EXPECT_EQ(row.at(key), summary["scenario"][key]) << key;
    }
    EXPECT_EQ(row.at("status"), "done");
    EXPECT_EQ(row.at("folder"), "cells/" + cell.key);
    EXPECT_EQ(row.at("model"), "mlp");
    EXPECT_TRUE(row.at("ended").get<std::string>().starts_with("20"));
    EXPECT_TRUE(row.at("reason").is_null());
  }
  EXPECT_EQ(ask("SELECT value FROM settings WHERE name = 'algorithm.0.mu'").size(), 2U);
  EXPECT_EQ(ask("SELECT * FROM sweeps WHERE sweep = 'grid' AND point = 'base'").size(), 4U);
}

TEST_F(Results, CanBeMadeAnewFromTheFolders) {
  // Samples do not last for so many clients: one cell fails.
  const Sweep grid = sweep("[sweep]\nbase = 'base.toml'\n[axes]\nscenario.clients = [2, 5000]\n");
  run(grid);
  const std::vector<json> rows = ask("SELECT * FROM cells ORDER BY cell");
  const std::vector<json> settings = ask("SELECT * FROM settings ORDER BY cell, name");
  fs::remove(database());
  SweepOptions again;
  again.resume = true;
  run(grid, again);
  EXPECT_EQ(ask("SELECT * FROM cells ORDER BY cell"), rows);
  EXPECT_EQ(ask("SELECT * FROM settings ORDER BY cell, name"), settings);
  EXPECT_EQ(ask("SELECT * FROM cells WHERE status = 'failed' AND reason LIKE '%scenario.clients%'").size(), 2U);
}

TEST_F(Results, SayWhyACellHasNoFigures) {
  const Sweep grid =
      sweep("[sweep]\nbase = 'base.toml'\nalgorithms = 'fedavg'\n[axes]\nprivacy.mode = ['gaussian', 'off']\n");
  run(grid);
  const std::vector<json> rows = ask("SELECT * FROM cells ORDER BY privacy_mode");
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0].at("status"), "done");
  EXPECT_TRUE(rows[0].at("reason").is_null()) << "it did not fail";
  EXPECT_TRUE(rows[0].at("accuracy").is_null());
  EXPECT_TRUE(holds(rows[0].at("not_applicable").dump(), "privacy.mode gaussian does not allow"));
  EXPECT_TRUE(rows[1].at("not_applicable").is_null());
  EXPECT_TRUE(rows[1].at("accuracy").is_number());
  fs::remove(database());
  run(grid);
  EXPECT_EQ(ask("SELECT * FROM cells ORDER BY privacy_mode"), rows) << "made anew from the folders";
}

TEST_F(Results, OfACellWithoutFiguresAreInTheReport) {
  run(sweep("[sweep]\nbase = 'base.toml'\n[axes]\nprivacy.mode = ['gaussian', 'off']\n"));
  const std::vector<fs::path> folders{out()};
  const std::vector<PublishedFigure> published = published_figures();
  const Study study = make_study(find_runs(folders, /*keep_going=*/false), {}, published);
  EXPECT_TRUE(holds(study_text(study, /*colour=*/false), "N/A"));
  const std::string page = study_html(study, published, drawn_runs(study, /*most=*/4), "page");
  EXPECT_TRUE(holds(page, "privacy.mode gaussian does not allow"));
}

TEST_F(Results, ForgetWhatTheFolderHasNoLonger) {
  const Sweep grid = sweep("[sweep]\nbase = 'base.toml'\n");
  run(grid);
  fs::remove_all(cell_folder(out(), grid.cells[0].key));
  ResultsDb(database()).rebuild(read_cells(out()), read_sweep_lists(out()));
  ASSERT_EQ(ask("SELECT label FROM cells").size(), 1U);
  EXPECT_EQ(ask("SELECT label FROM cells").at(0).at("label"), "fedprox");
}

TEST_F(Results, OfSomethingElseAreLeftAlone) {
  fs::create_directories(out());
  {
    const fs::path path = database();
    const detail::Database db = detail::open_database(path, detail::OpenMode::create);
    detail::execute(db.get(), path, "CREATE TABLE recipes(cake TEXT)");
  }
  const std::string refusal = refusal_of(ErrorCode::invalid_data, [&] { const ResultsDb db(database()); });
  EXPECT_TRUE(holds(refusal, "must be a results database, and it is one of something else"));
  EXPECT_FALSE(holds(refusal, kAdvice)) << "it is not ours to delete";
}

TEST_F(Results, OfANewerVersionAreLeftAlone) {
  const Sweep grid = sweep("[sweep]\nbase = 'base.toml'\nalgorithms = 'fedavg'\n");
  run(grid);
  const fs::path path = database();
  detail::execute(detail::open_database(path, detail::OpenMode::create).get(), path,
                  "PRAGMA user_version = 2; CREATE TABLE later(what TEXT)");
  const std::string refusal = refusal_of(ErrorCode::invalid_data, [&] { run(grid); });
  EXPECT_TRUE(holds(refusal, "results.db: version 2 is newer than 1"));
  EXPECT_TRUE(holds(refusal, kAdvice));
  EXPECT_EQ(ask("SELECT * FROM later").size(), 0U) << "its tables are still there";
}

TEST_F(Results, ThatAreDamagedSayWhatToDo) {
  const Sweep grid = sweep("[sweep]\nbase = 'base.toml'\nalgorithms = 'fedavg'\n");
  run(grid);
  fs::resize_file(database(), 4096);  // the first page
  EXPECT_TRUE(holds(refusal_of(ErrorCode::invalid_data, [&] { run(grid); }), kAdvice));
  write("out/results.db", std::string(4096, 'x'));
  EXPECT_TRUE(holds(refusal_of(ErrorCode::invalid_data, [&] { run(grid); }), kAdvice));
  fs::remove(database());
  run(grid);
  EXPECT_EQ(ask("SELECT * FROM cells").size(), 1U);
}

TEST_F(Results, HaveTheSchemaOfTheDocumentation) {
  const std::string page = read_text(test::source_file("docs/sweeps.md"));
  const std::string schema = results_schema();
  for (const char* table : {"CREATE TABLE cells", "CREATE TABLE settings", "CREATE TABLE sweeps"}) {
    EXPECT_TRUE(holds(schema, table));
  }
  std::size_t columns = 0;
  for (std::size_t at = schema.find("\n  "); at != std::string::npos; at = schema.find("\n  ", at + 1)) {
    const std::string name = schema.substr(at + 3, schema.find_first_of(" ,", at + 3) - at - 3);
    if (name != "PRIMARY") {
      ++columns;
      EXPECT_TRUE(holds(page, "`" + name + "`"));
    }
  }
  EXPECT_GT(columns, 60U);
}

TEST_F(Results, TheDocumentedSpreadIsThatOfASample) {
  run(sweep("[sweep]\nbase = 'base.toml'\nalgorithms = 'fedavg'\nseeds = [1, 2]\n"));
  change("UPDATE cells SET accuracy = 80 + seed");
  const std::string question = documented().at(0);
  const std::vector<json> rows = ask(question);
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_DOUBLE_EQ(rows[0].at("mean").get<double>(), 81.5);
  EXPECT_DOUBLE_EQ(rows[0].at("std").get<double>(), 0.71) << "n - 1, as in feroma report";
  EXPECT_EQ(rows[0].at("seeds"), 2);
  change("DELETE FROM cells WHERE seed = 2");
  EXPECT_TRUE(ask(question).at(0).at("std").is_null()) << "one seed has none";
}

TEST_F(Results, TheDocumentedMeansAreOfLikeRuns) {
  run(sweep("[sweep]\nbase = 'base.toml'\nalgorithms = 'fedavg'\nseeds = [1, 2]\n"));
  const std::string question = documented().at(0);
  ASSERT_EQ(ask(question).size(), 1U);
  for (const auto& [column, value] :
       {std::pair{"dataset", "'other'"}, std::pair{"shift", "'covariate'"}, std::pair{"level", "'extreme'"},
        std::pair{"drifts", "77"}, std::pair{"rounds", "77"}, std::pair{"clients", "77"}, std::pair{"few_labels", "77"},
        std::pair{"unseen_rate", "0.77"}, std::pair{"alpha", "0.77"}, std::pair{"privacy_mode", "'gaussian'"},
        std::pair{"epsilon_total", "77"}, std::pair{"label", "'fedprox'"}}) {
    change(fmt::format("UPDATE cells SET {} = {} WHERE seed = 2", column, value));
    EXPECT_EQ(ask(question).size(), 2U) << column;
    change(fmt::format("UPDATE cells SET {0} = (SELECT {0} FROM cells WHERE seed = 1) WHERE seed = 2", column));
    ASSERT_EQ(ask(question).size(), 1U) << column;
  }
  change("UPDATE cells SET shift = 'concept_label', accuracy_known = 10, accuracy_few_label = 20 + seed");
  EXPECT_DOUBLE_EQ(ask(question).at(0).at("mean").get<double>(), 21.5) << "few labels";
  change("UPDATE cells SET accuracy_few_label = NULL");
  EXPECT_DOUBLE_EQ(ask(question).at(0).at("mean").get<double>(), 10) << "association known";
  change("UPDATE cells SET seed = 1");
  EXPECT_EQ(ask(question).at(0).at("seeds"), 1) << "one seed twice is one";
  change("UPDATE cells SET not_applicable = 'no labels', accuracy = NULL, accuracy_known = NULL");
  EXPECT_TRUE(ask(question).empty()) << "there is no figure";
}

TEST_F(Results, AnswerTheQuestionsOfTheDocumentation) {
  run(sweep("[sweep]\nbase = 'base.toml'\nseeds = [1, 2]\n"));
  const std::vector<std::string> questions = documented();
  EXPECT_GE(questions.size(), 2U);
  for (const std::string& question : questions) {
    EXPECT_EQ(ask(question).size(), 2U) << "two algorithms: " << question;
  }
}

TEST_F(Results, SomebodyWhoReadsForLongStopsNoSweep) {
  const std::string text = "[sweep]\nbase = 'base.toml'\nalgorithms = 'fedavg'\n";
  ASSERT_EQ(run(sweep(text))[0].state, CellState::done);
  const fs::path path = database();
  const detail::Database reader = detail::open_database(path, detail::OpenMode::read_only);
  detail::execute(reader.get(), path, "BEGIN");
  detail::Statement rows(reader.get(), path, "SELECT cell FROM cells");
  ASSERT_TRUE(rows.step());
  const Sweep more = sweep(text, {.seeds = {43}, .algorithms = {}, .overrides = {}});
  EXPECT_EQ(run(more)[0].state, CellState::done);
  EXPECT_FALSE(rows.step()) << "the reader sees what was there when it began";
  EXPECT_EQ(ask("SELECT * FROM cells").size(), 2U);
}

TEST_F(Results, SomebodyWhoWritesForLongStopsNoSweep) {
  const Sweep grid = sweep("[sweep]\nbase = 'base.toml'\n");
  const fs::path path = database();
  detail::Database writer;
  SweepOptions options;
  options.jobs = 1;
  options.observer.started = [&](const WorkPlan&, const SweepProgress&) {
    writer = detail::open_database(path, detail::OpenMode::create);
    detail::execute(writer.get(), path, "BEGIN IMMEDIATE");
  };
  options.observer.finished = [&](const SweepCell&, const CellOutcome&, const SweepProgress&) { writer.reset(); };
  bool behind = false;
  options.observer.results_behind = [&](const std::string&) { behind = true; };
  const Warnings warnings;
  const std::vector<CellOutcome> outcomes = run(grid, options);
  EXPECT_EQ(outcomes[0].state, CellState::done);
  EXPECT_EQ(outcomes[1].state, CellState::done);
  EXPECT_TRUE(holds(warnings.text(), "results.db: database is locked; until it can be written it lacks"));
  EXPECT_FALSE(behind);
  EXPECT_EQ(ask("SELECT * FROM cells WHERE status = 'done'").size(), 2U) << "brought up to date in the end";
}

TEST_F(Results, ThatCannotBeWrittenEvenInTheEndAreNoFailure) {
  const Sweep grid = sweep("[sweep]\nbase = 'base.toml'\n");
  std::string behind;
  SweepOptions options;
  options.jobs = 1;
  options.observer.results_behind = [&](const std::string& why) { behind = why; };
  SweepOptions first = options;
  first.observer.started = [&](const WorkPlan&, const SweepProgress&) {
    change("DROP TABLE cells; CREATE VIEW cells AS SELECT 1 AS cell");
  };
  const Warnings warnings;
  EXPECT_EQ(run(grid, first)[1].state, CellState::done);
  EXPECT_TRUE(holds(behind, "results.db: use DROP VIEW to delete view cells"));
  const std::string cause = "cannot modify cells because it is a view";
  EXPECT_TRUE(holds(warnings.text(), cause));
  EXPECT_EQ(warnings.text().find(cause), warnings.text().rfind(cause)) << "once, of two cells";
  behind.clear();
  EXPECT_EQ(run(grid, options)[1].state, CellState::done) << "nor does it keep a sweep from beginning";
  EXPECT_TRUE(holds(behind, "use DROP VIEW"));
  change("DROP VIEW cells");
  behind.clear();
  run(grid, options);
  EXPECT_EQ(behind, "");
  EXPECT_EQ(ask("SELECT * FROM cells WHERE status = 'done'").size(), 2U);
}

}  // namespace
}  // namespace feroma
