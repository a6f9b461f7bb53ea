#include "feroma/runtime/run_directory.h"

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "feroma/core/files.h"
#include "tests/data/synthetic.h"
#include "tests/expect_error.h"

namespace feroma {
namespace {

namespace fs = std::filesystem;

class RunDirectoryTest : public testing::Test {
 protected:
  static Experiment experiment(int clients = 5) {
    return read_experiment(
        parse_settings(fmt::format("[scenario]\nclients = {}\n[[algorithm]]\nname = 'fedavg'\n", clients), "test"));
  }
  void make(Existing existing, int clients = 5) { RunDirectory(out, existing, experiment(clients), 2).finish(); }
  void expect_refused(Existing existing, std::string_view part, int clients = 5) {
    expect_error(ErrorCode::invalid_config, part, [&] {
      make(existing, clients);
      return 0;
    });
  }

  /// The run that is there was made by another program or machine.
  void pretend(const std::string& key, const std::string& value) const {
    nlohmann::ordered_json manifest = nlohmann::ordered_json::parse(read_text(out / "manifest.json"));
    ASSERT_TRUE(manifest.contains(key));
    manifest[key] = value;
    write_file_atomically(out / "manifest.json", manifest.dump());
  }

  test::ScratchFolder scratch;
  fs::path out = scratch.path() / "run";
};

TEST_F(RunDirectoryTest, WritesConfigAndManifest) {
  make(Existing::refuse);
  EXPECT_EQ(read_experiment(load_settings(out / "config.toml")).scenario.clients, 5);
  EXPECT_NE(read_text(out / "manifest.json").find("\"ended\": \"20"), std::string::npos);
}

TEST_F(RunDirectoryTest, TellsWhetherARunHasEnded) {
  EXPECT_FALSE(run_times(out)) << "nothing is there";
  {
    const RunDirectory directory(out, Existing::refuse, experiment(), 2);
    ASSERT_TRUE(run_times(out));
    EXPECT_TRUE(run_times(out)->started.starts_with("20"));
    EXPECT_FALSE(run_times(out)->ended);
  }
  make(Existing::resume);
  EXPECT_TRUE(run_times(out)->ended);
}

TEST_F(RunDirectoryTest, RefusesAnExistingRunUnlessTold) {
  make(Existing::refuse);
  expect_refused(Existing::refuse, "--resume to go on with it or --overwrite");
  make(Existing::resume);
  make(Existing::overwrite);
}

TEST_F(RunDirectoryTest, OverwriteRemovesTheOldRunAndNothingElse) {
  make(Existing::refuse);
  std::ofstream(out / "notes.txt") << "mine";
  std::ofstream(out / "summary.json") << "{}";
  make(Existing::overwrite, 7);
  EXPECT_TRUE(fs::exists(out / "notes.txt"));
  EXPECT_FALSE(fs::exists(out / "summary.json"));
  EXPECT_EQ(read_experiment(load_settings(out / "config.toml")).scenario.clients, 7);
}

TEST_F(RunDirectoryTest, TellsWhetherARunIsLost) {
  EXPECT_FALSE(damage_of_run(out)) << "nothing is there";
  make(Existing::refuse);
  EXPECT_FALSE(damage_of_run(out));
  const std::string manifest = read_text(out / "manifest.json");
  fs::resize_file(out / "manifest.json", manifest.size() / 2);
  EXPECT_EQ(damage_of_run(out), (out / "manifest.json").string() + ": must be a JSON object");
  std::string later = manifest;
  const std::string schema = "\"schema\": 1";
  ASSERT_NE(later.find(schema), std::string::npos);
  write_file_atomically(out / "manifest.json", later.replace(later.find(schema), schema.size(), "\"schema\": 2"));
  EXPECT_FALSE(damage_of_run(out)) << "a later version can read it";
  write_file_atomically(out / "manifest.json", manifest);
  std::ofstream(out / "config.toml") << "[scenario\n";
  ASSERT_TRUE(damage_of_run(out));
  EXPECT_TRUE(damage_of_run(out)->starts_with((out / "config.toml").string())) << *damage_of_run(out);
  EXPECT_NE(damage_of_run(out)->find("not valid TOML"), std::string::npos);
}

TEST_F(RunDirectoryTest, NamesWhatNoRunWrites) {
  make(Existing::refuse);
  std::ofstream(out / ".summary.json.1-1.unfinished") << "{";
  EXPECT_FALSE(foreign_file(out));
  std::ofstream(out / "notes.txt") << "mine";
  EXPECT_EQ(foreign_file(out), "notes.txt");
}

TEST_F(RunDirectoryTest, NeverTouchesAFolderThatIsNoRun) {
  fs::create_directories(out);
  std::ofstream(out / "thesis.tex") << "years";
  expect_refused(Existing::overwrite, "must be a new or empty folder");
  EXPECT_TRUE(fs::exists(out / "thesis.tex"));
}

TEST_F(RunDirectoryTest, ResumeNamesTheKeyThatDiffers) {
  make(Existing::refuse);
  expect_refused(Existing::resume, "scenario.clients was 5, is 6", 6);
}

TEST_F(RunDirectoryTest, ResumeNamesAMethodThatBehavesOtherwise) {
  make(Existing::refuse);
  const std::string config = read_text(out / "config.toml");
  std::ofstream(out / "config.toml") << "[version]\nstandardise = 2\n" << config;
  expect_refused(Existing::resume, "the config differs: standardise was in version 2, is in version 1: begin anew");
}

TEST_F(RunDirectoryTest, ResumeGoesOnWithWhatAnotherVersionBegan) {
  make(Existing::refuse);
  pretend("version", "0.0.9");
  make(Existing::resume);
  EXPECT_TRUE(run_times(out)->ended);
}

TEST_F(RunDirectoryTest, ResumeNeedsARun) { expect_refused(Existing::resume, "no run to resume"); }

TEST_F(RunDirectoryTest, ResumeRefusesAnotherEngine) {
  make(Existing::refuse);
  pretend("engine", "abacus");
  expect_refused(Existing::resume, "same engine, the run has \"abacus\"");
}

TEST_F(RunDirectoryTest, ResumeRefusesAnotherSimdTarget) {
  make(Existing::refuse);
  pretend("simd", "mmx");
  expect_refused(Existing::resume,
                 fmt::format("same simd, the run has \"mmx\", this is \"{}\"", name_of(simd_targets().front())));
}

TEST_F(RunDirectoryTest, ResumeNamesBothSimdTargetsWhereTheConfigSaysAnother) {
  if (simd_targets().size() < 2) {
    GTEST_SKIP() << "this machine has one SIMD target: resuming on another is NOT tested";
  }
  make(Existing::refuse);
  Experiment other = experiment();
  other.training.simd = simd_targets().back();
  const std::string change = fmt::format("training.simd was \"{}\", is \"{}\"", name_of(simd_targets().front()),
                                         name_of(simd_targets().back()));
  expect_error(ErrorCode::invalid_config, change, [&] {
    RunDirectory(out, Existing::resume, other, 2).finish();
    return 0;
  });
}

TEST_F(RunDirectoryTest, AManifestOfALaterVersionIsRefused) {
  make(Existing::refuse);
  std::string manifest = read_text(out / "manifest.json");
  const std::string schema = "\"schema\": 1";
  ASSERT_NE(manifest.find(schema), std::string::npos);
  write_file_atomically(out / "manifest.json", manifest.replace(manifest.find(schema), schema.size(), "\"schema\": 2"));
  const std::string part = "manifest.json: schema 2 is newer than 1, the newest that this version reads";
  expect_error(ErrorCode::invalid_data, part, [&] { return run_times(out).has_value(); });
  expect_error(ErrorCode::invalid_data, part, [&] {
    make(Existing::resume);
    return 0;
  });
  make(Existing::overwrite);
}

TEST_F(RunDirectoryTest, TheManifestNamesTargetAndCpuFeatures) {
  make(Existing::refuse);
  const auto manifest = nlohmann::json::parse(read_text(out / "manifest.json"));
  EXPECT_EQ(manifest.at("simd"), std::string(name_of(simd_targets().front())));
  EXPECT_EQ(manifest.at("cpu_features"), nlohmann::json(cpu_features()));
}

TEST_F(RunDirectoryTest, ResumeNamesAKeyThatIsGone) {
  make(Existing::refuse);
  write_file_atomically(out / "config.toml", read_text(out / "config.toml") + "\n[extra]\nkey = 1\n");
  expect_refused(Existing::resume, "extra.key = 1 is gone");
}

TEST_F(RunDirectoryTest, ARunHasNoEndBeforeItFinishesAndKeepsItsStart) {
  { const RunDirectory first(out, Existing::refuse, experiment(), 2); }
  std::string manifest = read_text(out / "manifest.json");
  EXPECT_NE(manifest.find("\"ended\": null"), std::string::npos);
  const std::size_t at = manifest.find("\"started\": \"") + 12;
  manifest.replace(at, 4, "1999");
  write_file_atomically(out / "manifest.json", manifest);
  make(Existing::resume);
  EXPECT_NE(read_text(out / "manifest.json").find("\"started\": \"1999"), std::string::npos);
}

TEST_F(RunDirectoryTest, TwoProcessesCannotWriteOneRun) {
  const RunDirectory first(out, Existing::refuse, experiment(), 1);
  expect_refused(Existing::resume, "another process is writing this run");
}

TEST_F(RunDirectoryTest, AnUnwritablePlaceIsAnIoError) {
  std::ofstream(scratch.path() / "file") << "x";
  expect_error(ErrorCode::io, "file", [&] {
    RunDirectory(scratch.path() / "file" / "run", Existing::refuse, experiment(), 1).finish();
    return 0;
  });
}

}  // namespace
}  // namespace feroma
