#include <fmt/core.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <regex>
#include <set>
#include <string>

#include "feroma/core/files.h"
#include "feroma/data/catalog.h"
#include "feroma/data/picture.h"
#include "tests/integration/cli_support.h"
#include "tests/places.h"

namespace feroma {
namespace {

using namespace test;

/// Two tiny runs of Fashion-MNIST, made once for all cases.
class CliReport : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    if (locate_dataset(find_dataset("fmnist"), {}).empty()) {
      return;
    }
    std::string name = (std::filesystem::temp_directory_path() / "feroma-report-XXXXXX").string();
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder() = name;
    std::ofstream(path("tiny.toml")) << "[scenario]\ndataset = \"fmnist\"\ndrifts = 2\nclients = 3\nrounds = 4\n"
                                        "samples_per_client = 32\ntest_clients = 3\n[training]\nlocal_epochs = 1\n"
                                        "[[algorithm]]\nname = \"fedavg\"\n[[algorithm]]\nname = \"feroma\"\n"
                                        "warmup_rounds = 1\n";
    for (const int seed : {1, 2}) {
      const Result run = feroma_cli(fmt::format("run {} --set scenario.seed={} --out {} --threads 1", path("tiny.toml"),
                                                seed, path(fmt::format("runs/s{}", seed))),
                                    Stream::err);
      ASSERT_EQ(run.exit_code, 0) << run.output;
    }
  }
  static void TearDownTestSuite() {
    if (!folder().empty()) {
      std::filesystem::remove_all(folder());
    }
  }
  void SetUp() override {
    if (folder().empty()) {
      GTEST_SKIP() << "Fashion-MNIST is not installed: reports of real runs are NOT tested";
    }
  }
  static std::filesystem::path& folder() {
    static std::filesystem::path made;
    return made;
  }
  static std::string path(const std::string& name) { return (folder() / name).string(); }
};

TEST_F(CliReport, GroupsSeedsAndWritesEveryForm) {
  const Result result = feroma_cli(fmt::format("report {} --html {} --csv {} --latex {} --svg {}", path("runs"),
                                               path("r.html"), path("r.csv"), path("r.tex"), path("figures")));
  ASSERT_EQ(result.exit_code, 0);
  EXPECT_TRUE(contains(result.output, "feroma-auto")) << result.output;
  EXPECT_TRUE(contains(result.output, " ± ")) << "two seeds have a spread\n" << result.output;
  EXPECT_FALSE(contains(result.output, "\033[")) << "a pipe has no colours";
  for (const char* file : {"r.html", "r.csv", "r.tex"}) {
    EXPECT_TRUE(contains(result.output, "wrote " + path(file)));
  }
  const std::string page = text_of(path("r.html"));
  for (const char* part : {"http:", "https:", "src=", "<link", "@import", "url("}) {
    EXPECT_FALSE(contains(page, part)) << part;
  }
  EXPECT_TRUE(contains(text_of(path("r.csv")), "results,fmnist,")) << text_of(path("r.csv"));
  EXPECT_TRUE(contains(text_of(path("r.tex")), "\\bottomrule"));
  for (const char* figure :
       {"ranks", "fmnist-covariate-medium-accuracy-fedavg", "fmnist-covariate-medium-profiles-feroma-auto",
        "fmnist-covariate-medium-mixing-rounds-feroma-auto", "fmnist-covariate-medium-mixing-clients-feroma-auto"}) {
    EXPECT_TRUE(contains(text_of(path(fmt::format("figures/{}.svg", figure))), "</svg>")) << figure;
  }
}

TEST_F(CliReport, JsonHasTheGroups) {
  const Result result = feroma_cli(fmt::format("report {} {} --format json", path("runs/s1"), path("runs/s2")));
  ASSERT_EQ(result.exit_code, 0);
  const auto json = nlohmann::json::parse(result.output);
  ASSERT_EQ(json["groups"].size(), 1U);
  EXPECT_EQ(json["groups"][0]["results"][0]["seeds"], 2);
  EXPECT_EQ(json["comparison"]["blocks"], 2);
  const auto versus =
      nlohmann::json::parse(feroma_cli(fmt::format("report {} --versus fedavg --format json", path("runs"))).output);
  EXPECT_EQ(versus["comparison"]["reference"], "fedavg");
}

TEST_F(CliReport, ATableOfThePaperShowsWhatIsMissing) {
  const Result result = feroma_cli(fmt::format("report {} --table main_table_2", path("runs")));
  ASSERT_EQ(result.exit_code, 0);
  EXPECT_TRUE(contains(result.output, "0 of 99 figures are there")) << result.output;
  EXPECT_TRUE(contains(result.output, "90.6")) << result.output;
  const Result several = feroma_cli(fmt::format("report {} --table comm_cost --table eps_R1", path("runs")));
  EXPECT_TRUE(contains(several.output, "ViT-B/16 86M") && contains(several.output, "requirement R1")) << several.output;
}

TEST_F(CliReport, PublishedFiguresMayComeFromAFile) {
  std::ofstream(path("other.csv")) << "table,dataset,shift,level,drift,clients,method,variant,metric,mean,std\n"
                                      "mine,FMNIST,P(X),low,5/20,,FedAvg,,accuracy,12.34,0.5\n";
  const Result result = feroma_cli(fmt::format("report {} --results {} --table mine", path("runs"), path("other.csv")));
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_TRUE(contains(result.output, "12.34 ± 0.50")) << result.output;
}

TEST_F(CliReport, DamageStopsAndNamesTheFileOrIsLeftOutLoudly) {
  std::filesystem::create_directories(path("mixed"));
  std::filesystem::copy(path("runs"), path("mixed"), std::filesystem::copy_options::recursive);
  std::ofstream(path("mixed/s1/summary.json")) << "{";
  const Result stopped = feroma_cli("report " + path("mixed"), Stream::err);
  EXPECT_EQ(stopped.exit_code, 1);
  EXPECT_TRUE(contains(stopped.output, path("mixed/s1/summary.json"))) << stopped.output;
  const Result loud = feroma_cli(fmt::format("report {} --keep-going", path("mixed")), Stream::err);
  EXPECT_EQ(loud.exit_code, 0);
  EXPECT_TRUE(contains(loud.output, "summary.json")) << loud.output;
  std::filesystem::remove(path("mixed/s2/events.jsonl"));  // its results are there, its curves are not
  const std::string command = fmt::format("report {} --html {}", path("mixed/s2"), path("mixed.html"));
  EXPECT_EQ(feroma_cli(command, Stream::err).exit_code, 1);
  const Result drawn = feroma_cli(command + " --keep-going", Stream::err);
  EXPECT_EQ(drawn.exit_code, 0);
  EXPECT_TRUE(contains(drawn.output, "is not drawn") && contains(drawn.output, "events.jsonl")) << drawn.output;
  EXPECT_TRUE(contains(text_of(path("mixed.html")), "is not drawn")) << "the page says so too";
}

TEST_F(CliReport, TheDatabaseOfASweepStandsForItsFolder) {
  std::ofstream(path("runs/results.db")) << "read by others";
  const Result result = feroma_cli("report " + path("runs/results.db"));
  std::filesystem::remove(path("runs/results.db"));
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_TRUE(contains(result.output, "feroma-auto")) << result.output;
  EXPECT_TRUE(contains(feroma_cli("report --help").output, "results.db"));
}

TEST_F(CliReport, PngNeedsABrowser) {
  const Result result =
      shell(fmt::format("PATH=/nowhere {} report {} --png {} 2>&1", kProgram, path("runs/s1"), path("png")));
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_TRUE(contains(result.output, "apt install chromium")) << result.output;
  EXPECT_FALSE(std::filesystem::exists(path("png")));
}

TEST_F(CliReport, PngIsTheSvgAtTwiceItsSize) {
  if (shell("command -v chromium || command -v chromium-browser || command -v google-chrome").exit_code != 0) {
    GTEST_SKIP() << "Chromium is not installed (Debian: chromium): figures as PNG are NOT tested";
  }
  const Result result =
      feroma_cli(fmt::format("report {} --svg {} --png {}", path("runs/s1"), path("svgs"), path("pngs")), Stream::err);
  ASSERT_EQ(result.exit_code, 0) << result.output;
  const std::regex size(R"re(<svg [^>]*width="(\d+)" height="(\d+)")re");
  int figures = 0;
  for (const auto& entry : std::filesystem::directory_iterator(path("svgs"))) {
    const std::filesystem::path png = path("pngs/" + entry.path().stem().string() + ".png");
    ASSERT_TRUE(std::filesystem::exists(png)) << png;
    const Picture picture = decode_png(read_file(png), png.string());
    const std::string svg = text_of(entry.path().string());
    std::smatch found;
    ASSERT_TRUE(std::regex_search(svg, found, size)) << entry.path();
    EXPECT_EQ(picture.width, 2 * std::stoi(found[1])) << png;
    EXPECT_EQ(picture.height, 2 * std::stoi(found[2])) << png;
    EXPECT_GT(std::set<std::uint8_t>(picture.pixels.begin(), picture.pixels.end()).size(), 10U) << png << ": is empty";
    ++figures;
  }
  EXPECT_GT(figures, 2);
}

TEST_F(CliReport, ThePythonExampleReadsARun) {
  if (shell("/usr/bin/python3 -c 'import numpy' 2>&1").exit_code != 0) {
    GTEST_SKIP() << "python3-numpy is not installed: examples/read_run.py is NOT tested";
  }
  const Result result =
      shell(fmt::format("/usr/bin/python3 {} {} 2>&1", source_file("examples/read_run.py").string(), path("runs/s1")));
  EXPECT_EQ(result.exit_code, 0) << result.output;
  EXPECT_TRUE(contains(result.output, "2 algorithms, 8 rounds in metrics.csv, 24 lines in clients.csv"))
      << result.output;
  EXPECT_TRUE(contains(result.output, "feroma-auto: accuracy ")) << result.output;
  EXPECT_TRUE(contains(result.output, "mixing of round 4: 3 x 3, rows sum to 1")) << result.output;
  EXPECT_TRUE(contains(result.output, "profiles of round 4: 3 x ")) << result.output;
  const Result none =
      shell(fmt::format("/usr/bin/python3 {} {} 2>&1", source_file("examples/read_run.py").string(), path("runs")));
  EXPECT_EQ(none.exit_code, 1);
  EXPECT_TRUE(contains(none.output, "runs cannot be read as a run: ")) << none.output;
  EXPECT_FALSE(contains(none.output, "Traceback")) << none.output;
}

TEST(CliReportUsage, ListsTheTablesOfThePaper) {
  const Result result = feroma_cli("report --list-tables");
  EXPECT_EQ(result.exit_code, 0);
  for (const char* name : {"main_table_1", "main_appe_cifar100_pxy", "n_client_all", "eps_R1", "comm_cost"}) {
    EXPECT_TRUE(contains(result.output, name)) << name;
  }
  EXPECT_EQ(nlohmann::json::parse(feroma_cli("report --list-tables --format json").output).size(), 48U);
}

TEST(CliReportUsage, BadUsageSaysWhatIsWrong) {
  const Result none = feroma_cli("report", Stream::err);
  EXPECT_EQ(none.exit_code, 2);
  EXPECT_TRUE(contains(none.output, "name at least one folder")) << none.output;
  const Result gone = feroma_cli("report /nowhere/at/all", Stream::err);
  EXPECT_EQ(gone.exit_code, 2);
  EXPECT_TRUE(contains(gone.output, "/nowhere/at/all: must be a folder")) << gone.output;
  const Result against = feroma_cli("report /tmp --against others", Stream::err);
  EXPECT_EQ(against.exit_code, 2);
  EXPECT_TRUE(contains(against.output, "paper")) << against.output;
}

}  // namespace
}  // namespace feroma
