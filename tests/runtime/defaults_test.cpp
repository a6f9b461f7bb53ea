// A config that names a dataset, a shift, a drift mode or a method, and nothing else, works; or what is refused is what
// it names.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <sstream>

#include "feroma/core/config_identity.h"
#include "feroma/core/files.h"
#include "feroma/core/log.h"
#include "feroma/report/run_set.h"
#include "feroma/runtime/fitted_run.h"
#include "feroma/runtime/run.h"
#include "tests/algorithms/every_algorithm.h"
#include "tests/core/expect_error.h"
#include "tests/core/temp_folder.h"
#include "tests/places.h"

namespace feroma {
namespace {

/// One kind of data that somebody may bring.
struct Kind {
  std::string name;
  std::string described;  ///< dataset.toml
  int rows = 0;
  int columns = 0;  ///< values of a row
  int classes = 2;
  int owners = 0;
  int domains = 0;
  int labels = 1;      ///< columns of labels
  bool bytes = false;  ///< pictures in idx files
};

const std::vector<Kind>& kinds() {
  static const std::vector<Kind> all{{"two-features", "", 60, 2},
                                     {"few-rows", "", 14, 3},
                                     {"owners", "owner_column = 'who'\n", 140, 4, 3, 7},
                                     {"new-owners", "owner_column = 'who'\nsplit = 'owner'\n", 300, 4, 3, 9},
                                     {"domains", "domain_columns = 'where'\n", 240, 5, 3, 0, 3},
                                     {"one-domain", "domain_columns = 'where'\n", 100, 5, 2, 0, 1},
                                     {"signals", "shape = '3x1x16'\nowner_column = 'who'\n", 120, 48, 4, 6},
                                     {"several-labels", "", 100, 4, 2, 0, 0, 3},
                                     {"gray", "", 120, 144, 10, 0, 0, 1, true},
                                     {"small-gray", "", 90, 36, 3, 0, 0, 1, true}};
  return all;
}

std::string idx_header(int type, std::vector<int> sizes) {
  std::string header{'\0', '\0', static_cast<char>(type), static_cast<char>(sizes.size())};
  for (const int size : sizes) {
    header += {static_cast<char>(size >> 24), static_cast<char>(size >> 16), static_cast<char>(size >> 8),
               static_cast<char>(size)};
  }
  return header;
}

void write_pictures(const Kind& kind, const std::filesystem::path& folder) {
  const int side = kind.columns == 144 ? 12 : 6;
  std::string pixels = idx_header(8, {kind.rows, side, side});
  std::string labels = idx_header(8, {kind.rows});
  for (int row = 0; row < kind.rows; ++row) {
    labels += static_cast<char>(row % kind.classes);
    for (int i = 0; i < kind.columns; ++i) {
      pixels += static_cast<char>((row * 31 + i * 7) % 251);
    }
  }
  write_file_atomically(folder / "x.idx", pixels);
  write_file_atomically(folder / "y.idx", labels);
  write_file_atomically(folder / "dataset.toml",
                        std::string_view("[dataset]\nkind = 'idx'\ninputs = 'x.idx'\nlabels = 'y.idx'\n"));
}

void write_table(const Kind& kind, const std::filesystem::path& folder) {
  std::string labels = "y";
  std::string header = "y";
  for (int i = 1; i < kind.labels; ++i) {
    labels += fmt::format(", y{}", i);
    header += fmt::format(",y{}", i);
  }
  header += kind.owners > 0 ? ",who" : "";
  header += kind.domains > 0 ? ",where" : "";
  for (int i = 0; i < kind.columns; ++i) {
    header += fmt::format(",x{}", i);
  }
  std::string csv = header;
  for (int row = 0; row < kind.rows; ++row) {
    csv += fmt::format("\n{}", row % kind.classes);
    for (int i = 1; i < kind.labels; ++i) {
      csv += fmt::format(",{}", (row + i) % 2);
    }
    csv += kind.owners > 0 ? fmt::format(",o{}", row / 2 % kind.owners) : "";
    csv += kind.domains > 0 ? fmt::format(",d{}", row / 2 % kind.domains) : "";
    for (int i = 0; i < kind.columns; ++i) {
      csv += fmt::format(",{}", (row * 13 + i * 5) % 17 - 8.5);
    }
  }
  write_file_atomically(folder / "rows.csv", csv + "\n");
  write_file_atomically(
      folder / "dataset.toml",
      fmt::format("[dataset]\nkind = 'csv'\nfile = 'rows.csv'\nlabel_column = '{}'\n{}", labels, kind.described));
}

class Bare : public ::testing::Test {
 protected:
  /// The folder of a kind of data, written once.
  std::string data(const Kind& kind) {
    const std::filesystem::path folder = scratch / kind.name;
    if (!std::filesystem::exists(folder)) {
      std::filesystem::create_directories(folder);
      kind.bytes ? write_pictures(kind, folder) : write_table(kind, folder);
    }
    return folder.string();
  }

  /// Everything that --dry-run does but the timing; what is wrong, or nothing.
  std::string refusal(const std::string& config) {
    code.reset();
    try {
      fitted = fit_to_data(read_experiment(parse_settings(config, "bare.toml")));
      const Federation& federation = *fitted.federation;
      const ModelSpec model = fitted.experiment.model(federation.shape(), federation.classes());
      static_cast<void>(check_algorithms(fitted.experiment, model, federation.multi_label()));
      static_cast<void>(federation.shard(ClientId{0}, 1));
      static_cast<void>(federation.test(ClientId{0}, 20));
      return "";
    } catch (const Error& error) {
      code = error.code();
      return error.what();
    }
  }

  /// Every line of a refusal must be about something in the file, at its line; that no method applies is about them.
  static void expect_written(const std::string& refusal, const std::string& config) {
    std::istringstream lines(refusal);
    for (std::string line; std::getline(lines, line);) {
      EXPECT_TRUE(line.starts_with("bare.toml:") || line.starts_with("no algorithm of this run is applicable"))
          << line << "\nfor\n"
          << config;
    }
  }

  feroma::test::TempFolder scratch;
  std::optional<ErrorCode> code;  ///< of the refusal
  FittedRun fitted;
};

TEST_F(Bare, EveryShiftAndDriftModeOnEveryKindOfData) {
  int works = 0;
  for (const Kind& kind : kinds()) {
    for (const auto& [shift, shift_name] : enum_names(Shift{})) {
      if (shift_name != name_of(shift)) {
        continue;  // another spelling
      }
      std::vector<std::string> modes{""};
      for (const auto& [mode, mode_name] : enum_names(DriftMode{})) {
        modes.push_back(fmt::format("drift_mode = '{}'\n", mode_name));
      }
      for (const std::string& mode : modes) {
        const std::string config = fmt::format(
            "[scenario]\ndataset = '{}'\nshift = '{}'\n{}[[algorithm]]\nname = 'feroma'\n[[algorithm]]\nname = "
            "'fedavg'\n",
            data(kind), shift_name, mode);
        const std::string refused = refusal(config);
        expect_written(refused, config);
        works += refused.empty() ? 1 : 0;
      }
    }
  }
  EXPECT_GT(works, 300) << "most of it works";
}

TEST_F(Bare, EveryMethodOnEveryKindOfData) {
  for (const Kind& kind : kinds()) {
    for (const test::AlgorithmCase& method : test::all_algorithms()) {
      const std::string config =
          fmt::format("[scenario]\ndataset = '{}'\n[[algorithm]]\n{}", data(kind), test::named(method));
      expect_written(refusal(config), config);
    }
  }
}

TEST_F(Bare, EveryMethodInFewRounds) {
  for (const int rounds : {1, 2, 3, 6}) {
    for (const test::AlgorithmCase& method : test::all_algorithms()) {
      const std::string config = fmt::format("[scenario]\ndataset = '{}'\nrounds = {}\n[[algorithm]]\n{}",
                                             data(kinds().front()), rounds, test::named(method));
      expect_written(refusal(config), config);
    }
  }
}

TEST_F(Bare, EveryDatasetThatComesWithoutAnyOtherKeyWorks) {
  for (const Kind& kind : kinds()) {
    const std::string config = fmt::format("[scenario]\ndataset = '{}'\n[[algorithm]]\nname = 'feroma'\n", data(kind));
    const std::string refused = refusal(config);
    if (kind.name == "few-rows") {  // with three test samples there is little to divide
      EXPECT_TRUE(refused.starts_with("bare.toml:2: scenario.dataset few-rows has too few samples")) << refused;
    } else {
      EXPECT_EQ(refused, "") << config;
    }
  }
}

TEST_F(Bare, EveryModeOfPrivacyWorks) {
  for (const std::string mode : {"paper", "pure", "gaussian"}) {
    for (const Kind& kind : kinds()) {
      const std::string config = fmt::format(
          "[scenario]\ndataset = '{}'\n[privacy]\nmode = '{}'\n[[algorithm]]\nname = 'feroma'\n", data(kind), mode);
      expect_written(refusal(config), config);
    }
  }
}

TEST_F(Bare, WhatGaveWayIsToldAndWritten) {
  const Kind& kind = kinds()[2];
  ASSERT_EQ(refusal(fmt::format("[scenario]\ndataset = '{}'\nshift = 'natural_id'\n[[algorithm]]\nname = 'feroma'\n",
                                data(kind))),
            "");
  const Settings resolved = fitted.experiment.resolved();
  EXPECT_EQ(to_string(resolved.at("scenario.clients").value), "7");
  EXPECT_EQ(to_string(resolved.at("scenario.drift_mode").value), "\"static\"");
  EXPECT_EQ(to_string(resolved.at("scenario.drifts").value), "1");
  EXPECT_EQ(to_string(resolved.at("training.model").value), "\"mlp\"");
  EXPECT_EQ(to_string(resolved.at("algorithm.0.profile.dimensions").value), "4");
  std::string told;
  for (const AdaptedDefault& one : fitted.experiment.all_adapted()) {
    told += one.text() + "\n";
  }
  EXPECT_EQ(
      told,
      "scenario.drift_mode = \"static\" instead of \"trDR_teND\": shift \"natural_id\" does not change over time\n"
      "scenario.drifts = 1 instead of 10: drift_mode \"static\" has a single stage\n"
      "scenario.clients = 7 instead of 20: owners has training samples of 7 owners\n"
      "training.model = \"mlp\" instead of \"lenet5\": samples are 1x1x4\n"
      "algorithm.0.profile.dimensions = 4 instead of 10: latents of mlp have 4 coordinates\n");
}

TEST_F(Bare, WhatWasWrittenStaysAndIsRefused) {
  const std::string folder = data(kinds().front());
  const auto refused = [&](const std::string& scenario, const std::string& rest = "") {
    return refusal(
        fmt::format("[scenario]\ndataset = '{}'\n{}\n{}[[algorithm]]\nname = 'feroma'\n", folder, scenario, rest));
  };
  EXPECT_EQ(refused("drift_mode = 'static'\ndrifts = 3"),
            "bare.toml:4: scenario.drifts must be 1 because drift_mode \"static\" has a single stage, got 3");
  EXPECT_EQ(refused("shift = 'dirichlet'\ndrifts = 3"),
            "bare.toml:4: scenario.drifts must be 1 because shift \"dirichlet\" does not change over time, got 3");
  EXPECT_EQ(refused("clients = 50").find("bare.toml:3: scenario.clients must be <= 12"), 0U) << refused("clients = 50");
  EXPECT_EQ(refused("shift = 'covariate'"),
            "bare.toml:3: scenario.shift covariate needs square pictures of 1 or 3 channels, got 1x1x2; take the line "
            "out, so that the shift follows the data, or write one that changes no pictures, like \"dirichlet\"");
  EXPECT_EQ(code, ErrorCode::invalid_config) << "a program ends with 2, as for any other line of a config";
  EXPECT_EQ(refused("", "[training]\nmodel = 'lenet5'\n"),
            "bare.toml:5: training.model: [model] lenet5 needs samples of at least 1x10x12, got 1x1x2");
  EXPECT_EQ(refused("", "").find("profile.dimensions"), std::string::npos);
  EXPECT_EQ(refusal(fmt::format("[scenario]\ndataset = '{}'\n[[algorithm]]\nname = 'feroma'\nprofile.dimensions = 10\n",
                                folder)),
            "bare.toml:5: algorithm.0.profile.dimensions must be <= 2 for this model and projection, got 10 "
            "(feroma-auto)");
}

TEST_F(Bare, WhatWorkedBeforeIsWhatItWas) {
  const Kind gray{"gray", "", 120, 144, 10, 0, 0, 1, true};
  ASSERT_EQ(refusal(fmt::format("[scenario]\ndataset = '{}'\nclients = 4\ndrifts = 2\n[[algorithm]]\nname = 'feroma'\n",
                                data(gray))),
            "");
  EXPECT_TRUE(fitted.experiment.adapted.empty());
  EXPECT_TRUE(fitted.experiment.fitted.empty());
}

// Our own files say what they need, so their runs and cells keep their names.
TEST(OurConfigs, LeaveNothingToGiveWay) {
  int files = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(test::source_file("configs"))) {
    const std::string text = entry.is_regular_file() ? read_text(entry.path()) : "";
    if (entry.path().extension() != ".toml" || text.find("\n[[algorithm]]") == std::string::npos ||
        text.find("[sweep]") != std::string::npos) {
      continue;
    }
    Settings settings = parse_settings(text, entry.path().string());
    std::erase_if(settings, [](const auto& one) { return one.first.starts_with("server."); });
    for (const AdaptedDefault& one : read_experiment(settings).adapted) {
      ADD_FAILURE() << entry.path() << ": " << one.text();
    }
    ++files;
  }
  EXPECT_GT(files, 10);
}

// A cell of a sweep is named after what was asked for; the data come later.
TEST_F(Bare, ARunRemembersWhatItWasAskedFor) {
  const std::string config = fmt::format(
      "[scenario]\ndataset = '{}'\nrounds = 1\n[training]\nlocal_epochs = 1\n[[algorithm]]\nname = 'fedavg'\n",
      data(kinds()[2]));
  const Experiment asked = read_experiment(parse_settings(config, "bare.toml"));
  RunOptions options;
  options.out = scratch / "run";
  const std::atomic<bool> stop = false;
  static_cast<void>(run_experiment(asked, options, stop));
  const Settings ran = load_settings(scratch / "run" / "config.toml");
  EXPECT_EQ(to_string(ran.at("scenario.clients").value), "7");
  EXPECT_EQ(config_identity().changes(config_as_asked(scratch / "run"), asked.resolved()), "");
  EXPECT_NE(read_text(scratch / "run" / "config.toml").find("# scenario.clients = 7 instead of 20"), std::string::npos);
  options.existing = Existing::resume;
  EXPECT_EQ(run_experiment(asked, options, stop).size(), 1U) << "and goes on with it";
  EXPECT_EQ(run_experiment(read_experiment(ran), options, stop).size(), 1U) << "or with what it wrote";
  EXPECT_EQ(config_identity().changes(config_as_asked(scratch / "run"), asked.resolved()), "");
}

// The same study with fewer rounds than the default warms up in is of the same methods.
TEST_F(Bare, AReportComparesRunsByWhatTheyWereAskedFor) {
  const std::atomic<bool> stop = false;
  for (const int rounds : {2, 7}) {
    const std::string config = fmt::format(
        "[scenario]\ndataset = '{}'\nclients = 4\nrounds = {}\n[training]\nlocal_epochs = 1\n"
        "[[algorithm]]\nname = 'feroma'\n[[algorithm]]\nname = 'fedavg'\n",
        data(kinds()[2]), rounds);
    RunOptions options;
    options.out = scratch / "runs" / std::to_string(rounds);
    static_cast<void>(run_experiment(read_experiment(parse_settings(config, "study.toml")), options, stop));
    if (rounds == 2) {  // whoever goes on with what it wrote has written every key
      const std::string begun = read_text(options.out / "manifest.json");
      EXPECT_NE(begun.find("\"adapted\""), std::string::npos) << begun;
      options.existing = Existing::resume;
      static_cast<void>(run_experiment(read_experiment(load_settings(options.out / "config.toml")), options, stop));
    }
  }
  std::vector<std::string> notes;
  std::map<std::string, int> runs_of;
  for (const OurResult& result : results_of(find_runs(std::vector{scratch / "runs"}, false), notes)) {
    ++runs_of[result.label];
  }
  EXPECT_EQ(runs_of, (std::map<std::string, int>{{"fedavg", 2}, {"feroma-auto", 2}}));
}

// Columns in their own units are learned from badly, and a run says so before it begins.
TEST_F(Bare, ColumnsInTheirOwnUnitsAreToldOfOnce) {
  make_writable_folder(scratch / "units");
  std::string table = "income,rate,y\n";
  for (int i = 0; i < 400; ++i) {
    table += fmt::format("{},{},{}\n", 1'000'000 + 1000 * (i % 7), 0.001 * (i % 5), i % 2);
  }
  write_file_atomically(scratch / "units/t.csv", table);
  write_file_atomically(scratch / "units/dataset.toml",
                        std::string_view("[dataset]\nkind = 'csv'\nfile = 't.csv'\nlabel_column = 'y'\n"));
  const auto told = [&](const std::string& training) {
    std::vector<std::string> large;
    log::set_sink([&large](const log::Entry& entry) {
      if (entry.message.find("inputs are large") != std::string::npos) {
        large.emplace_back(entry.message);
      }
    });
    RunOptions options;
    options.out = scratch / "run";
    options.existing = Existing::overwrite;
    const std::string config = fmt::format(
        "[scenario]\ndataset = '{}'\nshift = 'dirichlet'\nclients = 2\nrounds = 1\n[training]\nlocal_epochs = 1\n{}"
        "[[algorithm]]\nname = 'fedavg'\n[[algorithm]]\nname = 'local'\n",
        (scratch / "units").string(), training);
    const std::atomic<bool> stop = false;
    try {
      static_cast<void>(run_experiment(read_experiment(parse_settings(config, "t.toml")), options, stop));
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::invalid_data) << error.what();  // such numbers may be too much for it
    }
    log::set_sink({});
    return large;
  };
  const std::vector<std::string> large = told("");
  ASSERT_EQ(large.size(), 1U);
  EXPECT_EQ(
      large[0].find("units: its inputs are large (number 1 of a sample, income, has the root mean square 1e+06), and"),
      0U)
      << large[0];
  EXPECT_NE(large[0].find("training.standardise = true"), std::string::npos) << large[0];
  EXPECT_TRUE(told("standardise = true\n").empty());
}

}  // namespace
}  // namespace feroma
