#include "feroma/privacy/witness.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <thread>

#include "feroma/core/files.h"
#include "feroma/core/log.h"
#include "feroma/privacy/disclosure.h"
#include "tests/core/end_before.h"
#include "tests/core/temp_folder.h"
#include "tests/expect_error.h"

namespace feroma {
namespace {

namespace fs = std::filesystem;

const SumShape kShape{.coordinates = 2, .classes = 1};
const std::vector<std::int64_t> kSums(kShape.size(), 1000);
constexpr int kBudget = 4;

class Witness : public ::testing::Test {
 protected:
  [[nodiscard]] Disclosure open(const std::string& ledger = "ledger", const std::string& job = "study") const {
    PrivacyOptions options;
    options.mode = mode;
    options.max_releases = kBudget;
    return {options, {folder / ledger, file}, job};
  }
  void refuses(std::string_view part, const std::string& ledger = "ledger", const std::string& job = "study") const {
    expect_error(ErrorCode::invalid_data, part, [&] { return open(ledger, job).spent().releases; });
  }
  std::optional<std::vector<std::int64_t>> tell(std::int64_t version, const std::string& ledger = "ledger",
                                                const std::string& job = "study") const {
    return open(ledger, job).profile(version, 0, kShape, kSums);
  }
  [[nodiscard]] ReleaseCount counted(const std::string& ledger = "ledger", const std::string& job = "study") const {
    return WitnessFile(file).known(folder / ledger, job, false)[job];
  }

  feroma::test::TempFolder folder;
  fs::path file = folder / "data-releases";
  PrivacyMode mode = PrivacyMode::gaussian;
};

TEST_F(Witness, SaysWhatItIsInItsFirstLine) {
  EXPECT_TRUE(tell(0));
  const std::string text = read_text(file);
  EXPECT_TRUE(text.starts_with("feroma-releases 1: counts what was told of these data")) << text;
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 2);
  EXPECT_EQ(counted().releases, 1U);
  EXPECT_GT(counted().rho, 0);
}

TEST_F(Witness, ALedgerThatIsLostOrOlderIsRefusedByName) {
  EXPECT_TRUE(tell(0));
  fs::copy(folder / "ledger", folder / "older", fs::copy_options::recursive);
  EXPECT_TRUE(tell(1));
  fs::rename(folder / "ledger", folder / "moved");
  refuses("has 0 releases to federation study, " + file.string() + " knows of 2");
  fs::rename(folder / "older", folder / "ledger");
  refuses("has 1 releases to federation study, " + file.string() + " knows of 2");
  refuses("feroma privacy vouch " + fs::canonical(folder / "ledger").string() + " --job study --releases 2 --rho");
  refuses("study", "another-folder");
  fs::remove_all(folder / "ledger");
  fs::rename(folder / "moved", folder / "ledger");
  EXPECT_TRUE(tell(2)) << "the newest one is as good as ever";
}

TEST_F(Witness, WhatIsLostMeanwhileIsMissedBeforeAnythingIsTold) {
  for (const bool has_file : {true, false}) {
    SCOPED_TRACE(has_file);
    fs::remove_all(folder / "ledger");
    fs::remove(file);
    PrivacyOptions options;
    options.mode = mode;
    Disclosure client(options, {folder / "ledger", has_file ? file : ""}, "study");
    EXPECT_TRUE(client.profile(0, 0, kShape, kSums));
    fs::remove_all(folder / "ledger");
    // No round may sit it out as bad data.
    expect_error(ErrorCode::io, "has 0 releases to federation study",
                 [&] { return client.profile(1, 0, kShape, kSums).has_value(); });
  }
}

TEST_F(Witness, ASecondLedgerOfTheSameDataNeedsAWord) {
  EXPECT_TRUE(tell(0));
  refuses("study", "second", "another");
  refuses("took part in another federation before, a new ledger is expected to know nothing of it, and --rho 0",
          "second", "another");
  Ledger(folder / "second", {}).vouch("study", 1, {0, {}}, "a budget of its own, as was agreed");
  EXPECT_TRUE(tell(0, "second", "another"));
  EXPECT_TRUE(tell(1)) << "and the first goes on";
  EXPECT_TRUE(tell(1, "second", "another")) << "as does the second";
  EXPECT_TRUE(tell(2, "ledger", "third")) << "a ledger that has told of them before is no second one";
  // The older copy of a ledger, for a federation that has nothing to say of it yet.
  fs::remove_all(folder / "ledger");
  refuses("0 releases to federation third", "ledger", "fourth");
}

TEST_F(Witness, WhatIsVouchedForCountsAsSpentOrDoesNot) {
  for (const bool is_spent : {true, false}) {
    SCOPED_TRACE(is_spent);
    fs::remove_all(folder / "ledger");
    fs::remove(file);
    for (int version = 0; version < 3; ++version) {
      EXPECT_TRUE(tell(version));
    }
    const ReleaseCount before = counted();
    fs::remove_all(folder / "ledger");
    Ledger(folder / "ledger", {}).vouch("study", 3, {is_spent ? before.rho : 0, {}}, "the disk broke");
    EXPECT_EQ(open().spent().releases, is_spent ? 3 : 0);
    EXPECT_TRUE(tell(10));
    EXPECT_EQ(tell(11).has_value(), !is_spent);
    EXPECT_EQ(counted().releases, is_spent ? 4U : 5U);
    const std::vector<LedgerLine> lines = audit_ledger(folder / "ledger");
    EXPECT_TRUE(lines.front().is_vouched());
    EXPECT_EQ(read_text(released_path(folder / "ledger", 1)), "the disk broke");
    EXPECT_GT(lines.front().key.epoch, 1'700'000'000) << "the time";
  }
}

TEST_F(Witness, PureReleasesStayPureWhenTheyAreVouchedFor) {
  mode = PrivacyMode::pure;
  for (int version = 0; version < 3; ++version) {
    EXPECT_TRUE(tell(version));
  }
  const ReleaseCount before = counted();
  ASSERT_TRUE(before.epsilon);
  EXPECT_NEAR(*before.epsilon, 5.0 * 3 / kBudget, 1e-9);
  fs::remove_all(folder / "ledger");
  refuses(fmt::format("--epsilon {}", *before.epsilon));
  Ledger(folder / "ledger", {}).vouch("study", 3, {before.rho, before.epsilon}, "the disk broke");
  EXPECT_TRUE(tell(10));
  EXPECT_FALSE(tell(11));
}

TEST_F(Witness, OfDisjointVersionsWhatIsVouchedForCountsWithEach) {
  const PrivacyBudget disjoint{5, 1e-5, 20, true};
  const std::vector<LedgerLine> lines{{1, {"profile", "study", 1, 0}, {0.1, {}}, "", 0},
                                      {2, {std::string(kVouched), "study", 3, 0}, {0.2, {}}, "", 0},
                                      {3, {"profile", "study", 2, 0}, {0.3, {}}, "", 0}};
  EXPECT_DOUBLE_EQ(spent_by(lines, disjoint).rho, 0.5);
  EXPECT_EQ(spent_by(lines, disjoint).releases, 4);
  EXPECT_EQ(counts_of(lines).at("study").releases, 4U);
}

TEST_F(Witness, AWordMustSaySomething) {
  EXPECT_TRUE(tell(0));
  Ledger ledger(folder / "ledger", {});
  const auto refused = [&](const std::string& job, std::uint64_t releases, double rho, std::string_view reason) {
    expect_error(ErrorCode::invalid_config, "vouch", [&] {
      ledger.vouch(job, releases, {rho, {}}, reason);
      return 0;
    });
  };
  refused("study", 1, 0.1, "as many are there");
  refused("study", 2'000'000, 0.1, "too many");
  refused("study", 2, -0.1, "less than nothing");
  refused("study", 2, 0.1, "");
  refused("two words", 2, 0.1, "no federation");
  EXPECT_EQ(ledger.lines().size(), 1U);
}

TEST_F(Witness, DamageIsFoundAndAnUnfinishedLineIsNot) {
  EXPECT_TRUE(tell(0));
  EXPECT_TRUE(tell(1));
  const std::string text = read_text(file);
  for (std::size_t i = 0; i < text.size(); ++i) {
    std::string changed = text;
    changed[i] = static_cast<char>(changed[i] ^ 1);
    if (i < text.find('\n') && i >= text.find(':')) {
      continue;  // words for people
    }
    write_file_unsynced(file, std::as_bytes(std::span(changed)));
    EXPECT_THROW(WitnessFile(file).known(folder / "ledger", "study", false), Error) << "byte " << i;
  }
  // Cut, it is an older witness, or none; the ledger brings it up.
  for (std::size_t size = 0; size < text.size(); size += 3) {
    write_file_unsynced(file, std::as_bytes(std::span(text)).first(size));
    EXPECT_EQ(open().spent().releases, 2) << size;
    EXPECT_EQ(counted().releases, 2U) << size;
  }
}

TEST_F(Witness, WhatWasCutIsNamedOnceAndClaimsLess) {
  std::vector<std::string> warnings;
  log::set_sink([&](const log::Entry& entry) {
    if (entry.severity == log::Severity::warning) {
      warnings.emplace_back(entry.message);
    }
  });
  EXPECT_TRUE(tell(0));
  EXPECT_TRUE(tell(1));
  EXPECT_TRUE(warnings.empty()) << "a file that is begun has lost nothing";
  const std::string text = read_text(file);
  const std::size_t last_line = text.rfind('\n', text.size() - 2) + 1;
  const auto warning_of = [&](std::size_t size) {
    fs::resize_file(file, size);
    warnings.clear();
    static_cast<void>(counted());
    static_cast<void>(counted());
    return warnings.size() == 1 ? warnings.front() : fmt::format("{} warnings", warnings.size());
  };
  EXPECT_TRUE(warning_of(text.size() - 1).starts_with(file.string() + ": line 3 is not whole"));
  EXPECT_EQ(read_text(file), text.substr(0, last_line));
  EXPECT_EQ(counted().releases, 1U);
  EXPECT_TRUE(warning_of(10).starts_with(file.string() + ": is empty or cut in its first line"));
  EXPECT_TRUE(warning_of(0).starts_with(file.string() + ": is empty or cut in its first line"));
  EXPECT_EQ(counted().releases, 0U);
  log::set_sink({});
}

TEST_F(Witness, CannotBeWritten) {
  fs::create_directory(file);
  expect_error(ErrorCode::io, file.string(), [&] { return open().spent().releases; });
}

TEST_F(Witness, ClientsOfTheSameDataWaitForOneAnother) {
  std::vector<std::jthread> clients;
  for (int client = 0; client < 4; ++client) {
    clients.emplace_back([&, client] {
      for (int line = 1; line <= 20; ++line) {
        const std::string job = fmt::format("job-{}", client);
        WitnessFile(file).note(folder / job, {{job, {static_cast<std::uint64_t>(line), 0.1 * line, {}}}});
      }
    });
  }
  clients.clear();
  for (int client = 0; client < 4; ++client) {
    const std::string job = fmt::format("job-{}", client);
    EXPECT_EQ(counted(job, job).releases, 20U);
  }
}

// Before every call that changes a file: never behind afterwards, and what was told is told again.
TEST_F(Witness, AKillBeforeAnyCallLeavesTheLedgerAhead) {
  EXPECT_TRUE(tell(0));
  int code = 9;
  for (int last = 0; code == 9; ++last) {
    ASSERT_LT(last, 200);
    const feroma::test::TempFolder copy;
    fs::copy(folder / "ledger", copy / "ledger", fs::copy_options::recursive);
    fs::copy(file, copy / "data-releases");
    PrivacyOptions options;
    options.mode = mode;
    options.max_releases = kBudget;
    const auto open_copy = [&] { return Disclosure(options, {copy / "ledger", copy / "data-releases"}, "study"); };
    const pid_t child = ::fork();
    if (child == 0) {
      const feroma::test::EndBefore hook(last);
      ::_exit(open_copy().profile(1, 0, kShape, kSums) ? 0 : 1);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    code = WEXITSTATUS(status);
    const auto first = open_copy().profile(1, 0, kShape, kSums);
    EXPECT_TRUE(first) << last;
    EXPECT_EQ(open_copy().profile(1, 0, kShape, kSums), first) << last;
    const std::size_t lines = audit_ledger(copy / "ledger").size();
    EXPECT_LE(lines, 3U) << last << ": one line may be wasted";
    EXPECT_EQ(WitnessFile(copy / "data-releases").known(copy / "ledger", "study", false)["study"].releases, lines);
  }
  EXPECT_EQ(code, 0);
}

}  // namespace
}  // namespace feroma
