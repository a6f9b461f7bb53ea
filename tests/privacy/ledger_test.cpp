#include "feroma/privacy/ledger.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <thread>

#include "feroma/core/rng.h"
#include "feroma/privacy/accountant.h"
#include "tests/core/temp_folder.h"
#include "tests/expect_error.h"

namespace feroma {
namespace {

using test::TempFolder;

Bytes bytes_of(std::string_view text) {
  const auto raw = std::as_bytes(std::span(text));
  return {raw.begin(), raw.end()};
}

ReleaseKey profile_of(std::int64_t version) { return {"profile", "study", version, 1}; }

const ReleaseCost kCost{0.02, {}};

std::optional<Bytes> release(Ledger& ledger, std::int64_t version, std::string_view text = "noisy") {
  return ledger.release(profile_of(version), kCost, [&] { return bytes_of(text); });
}

void write_text(const std::filesystem::path& path, std::string_view text) {
  std::ofstream(path, std::ios::binary).write(text.data(), static_cast<std::streamsize>(text.size()));
}

TEST(Ledger, AsksOnceAndAnswersTheSameForEver) {
  const TempFolder folder;
  {
    Ledger ledger(folder.path(), {});
    EXPECT_EQ(release(ledger, 1, "first"), bytes_of("first"));
    EXPECT_EQ(release(ledger, 1, "other noise"), bytes_of("first"));
    EXPECT_EQ(release(ledger, 2, "second"), bytes_of("second"));
  }
  Ledger again(folder.path(), {});
  EXPECT_EQ(release(again, 1, "yet other noise"), bytes_of("first"));
  ASSERT_EQ(again.lines().size(), 2U);
  EXPECT_EQ(again.lines()[1].key, profile_of(2));
  EXPECT_EQ(again.lines()[1].total_rho, 0.04);
}

TEST(Ledger, EpochJobAndKindAskAnew) {
  const TempFolder folder;
  Ledger ledger(folder.path(), {});
  for (const ReleaseKey& key : {ReleaseKey{"profile", "a", 1, 1},
                                {"profile", "b", 1, 1},
                                {"bounds", "a", 1, 1},
                                {"profile", "a", 1, 2},
                                {"profile", "a", 2, 1}}) {
    static_cast<void>(ledger.release(key, kCost, [] { return Bytes(1); }));
  }
  EXPECT_EQ(ledger.lines().size(), 5U);
}

TEST(Ledger, RefusesWhatTheBudgetDoesNotCover) {
  const TempFolder folder;
  const PrivacyBudget budget{1, 1e-5, 100, false};
  const ReleasePlan plan = plan_gaussian(budget.epsilon, budget.delta, 4);
  int made = 0;
  Ledger ledger(folder.path(), budget);
  const auto ask = [&](std::int64_t version) {
    return ledger.release(profile_of(version), {plan.release, {}}, [&] {
      made += 1;
      return Bytes(3);
    });
  };
  for (int version = 1; version <= 4; ++version) {
    EXPECT_TRUE(ask(version));
  }
  EXPECT_FALSE(ask(5));
  EXPECT_EQ(made, 4) << "noise that is not sent is not drawn";
  EXPECT_TRUE(ask(2)) << "what was told may be told again";
  EXPECT_NEAR(ledger.spent().epsilon, 1, 1e-6);
}

TEST(Ledger, CountsReleasesToo) {
  const TempFolder folder;
  Ledger ledger(folder.path(), {5, 1e-5, 2, false});
  EXPECT_TRUE(release(ledger, 1));
  EXPECT_TRUE(release(ledger, 2));
  EXPECT_FALSE(release(ledger, 3));
}

TEST(Ledger, PureReleasesAddUpPlainlyWhereThatIsLess) {
  std::vector<LedgerLine> lines{{1, profile_of(1), {0.005, 0.1}, "", 0}};
  EXPECT_DOUBLE_EQ(spent_by(lines, {}).epsilon, 0.1);
  lines.push_back({2, profile_of(2), {0.005, {}}, "", 0});
  EXPECT_DOUBLE_EQ(spent_by(lines, {}).epsilon, epsilon_of(0.01, 1e-5));
}

TEST(Ledger, DisjointVersionsDoNotAddUp) {
  std::vector<LedgerLine> lines;
  for (int version = 1; version <= 3; ++version) {
    lines.push_back({0, profile_of(version), {0.1 * version, {}}, "", 0});
  }
  EXPECT_DOUBLE_EQ(spent_by(lines, {}).rho, 0.6);
  const PrivacyBudget disjoint{5, 1e-5, 20, true};
  EXPECT_DOUBLE_EQ(spent_by(lines, disjoint).rho, 0.3);
}

class DamagedLedger : public ::testing::Test {
 protected:
  DamagedLedger() {
    Ledger ledger(folder.path(), {});
    for (int version = 1; version <= 3; ++version) {
      static_cast<void>(release(ledger, version));
    }
  }
  void refuses(std::string_view part) const {
    expect_error(ErrorCode::invalid_data, part, [&] { return Ledger(folder.path(), {}).lines().size(); });
  }

  TempFolder folder;
  std::filesystem::path path = folder / "ledger";
};

TEST_F(DamagedLedger, IsRefusedWhereAnyByteWasChanged) {
  const std::string text = read_text(path);
  for (std::size_t i = 0; i < text.size(); ++i) {
    std::string changed = text;
    changed[i] = static_cast<char>(changed[i] ^ 1);
    write_text(path, changed);
    EXPECT_THROW(Ledger(folder.path(), {}), Error) << "byte " << i;
  }
}

TEST_F(DamagedLedger, IsRefusedWhereItWasCut) {
  const std::string text = read_text(path);
  for (std::size_t size = 0; size < text.size(); ++size) {
    write_text(path, text.substr(0, size));
    EXPECT_THROW(Ledger(folder.path(), {}), Error) << "after " << size << " bytes";
  }
  std::filesystem::remove(path);
  refuses("cut or lost");
}

TEST_F(DamagedLedger, IsRefusedWhereALineIsMissing) {
  const std::string text = read_text(path);
  const std::size_t second = text.find("\n2 ");
  const std::size_t third = text.find("\n3 ");
  write_text(path, text.substr(0, second) + text.substr(third));
  refuses("line 3: its checksum");
}

TEST_F(DamagedLedger, DoesNotSendBytesThatWereChanged) {
  {
    Ledger ledger(folder.path(), {});
    write_text(folder / "released/2.bin", "other");
    expect_error(ErrorCode::invalid_data, "2.bin: is damaged: its SHA-256", [&] { return release(ledger, 2); });
  }
  expect_error(ErrorCode::invalid_data, "2.bin: is damaged: its SHA-256", [&] { return audit_ledger(folder.path()); });
  refuses("2.bin: is damaged: its SHA-256");
}

// A line was begun when the power failed: no bytes are there, so none left.
TEST_F(DamagedLedger, GoesOnWhereALineWasNeverFinished) {
  const std::string text = read_text(path);
  write_text(path, text + "4 profile stu");
  EXPECT_THROW(static_cast<void>(audit_ledger(folder.path())), Error);
  Ledger ledger(folder.path(), {});
  EXPECT_EQ(ledger.lines().size(), 3U);
  EXPECT_TRUE(release(ledger, 4));
  EXPECT_EQ(audit_ledger(folder.path()).size(), 4U);
}

// The line is there and its bytes are not: the noise is lost, and what it cost is.
TEST_F(DamagedLedger, AWastedReleaseIsPaidFor) {
  std::filesystem::remove(folder / "released/3.bin");
  Ledger ledger(folder.path(), {});
  EXPECT_EQ(release(ledger, 3, "again"), bytes_of("again"));
  EXPECT_EQ(ledger.lines().size(), 4U);
  EXPECT_EQ(release(ledger, 3, "and again"), bytes_of("again"));
}

TEST_F(DamagedLedger, IsHeldByOneProcess) {
  const Ledger first(folder.path(), {});
  expect_error(ErrorCode::io, "another process holds", [&] { return Ledger(folder.path(), {}).lines().size(); });
}

/// Releases with fresh noise every time it is asked, reporting what it would have sent.
[[noreturn]] void client(const std::filesystem::path& folder, int pipe, std::uint64_t seed) {
  Rng rng(seed);
  Ledger ledger(folder, {1e6, 1e-5, 1 << 30, false});
  // Begins with what an earlier one may have told already.
  for (std::int64_t version = std::max<std::int64_t>(0, 2 * static_cast<std::int64_t>(seed) - 3);; ++version) {
    const std::int64_t asked = version % 3 == 2 ? version - 1 : version;  // some are retries
    const auto bytes = ledger.release(profile_of(asked), kCost, [&] {
      Bytes noise(16);
      for (std::byte& byte : noise) {
        byte = static_cast<std::byte>(rng.below(256));
      }
      return noise;
    });
    std::array<std::byte, 24> sent{};
    std::memcpy(sent.data(), &asked, 8);
    std::memcpy(sent.data() + 8, bytes->data(), 16);
    if (::write(pipe, sent.data(), sent.size()) != static_cast<ssize_t>(sent.size())) {
      ::_exit(1);
    }
  }
}

/// Kills a client at a random moment, `times` times, and checks what came out against what is on disk.
void survives_kills(int times) {
  const TempFolder folder;
  Rng rng(11);
  std::map<std::int64_t, Bytes> told;
  std::size_t lines = 0;
  for (int round = 0; round < times; ++round) {
    std::array<int, 2> ends{};
    ASSERT_EQ(::pipe(ends.data()), 0);
    const pid_t child = ::fork();
    if (child == 0) {
      ::close(ends[0]);
      client(folder.path(), ends[1], static_cast<std::uint64_t>(round));
    }
    ::close(ends[1]);
    if (round % 2 == 0) {  // on a busy machine, too, some are killed in the middle of their work
      pollfd first{ends[0], POLLIN, 0};
      static_cast<void>(::poll(&first, 1, 10000));
    }
    std::this_thread::sleep_for(std::chrono::microseconds(rng.below(6000)));
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    std::array<std::byte, 24> sent{};
    while (::read(ends[0], sent.data(), sent.size()) == static_cast<ssize_t>(sent.size())) {
      std::int64_t version = 0;
      std::memcpy(&version, sent.data(), 8);
      const Bytes bytes(sent.begin() + 8, sent.end());
      const auto [place, fresh] = told.emplace(version, bytes);
      ASSERT_EQ(place->second, bytes) << "version " << version << " was told twice with different noise";
    }
    ::close(ends[0]);
    Ledger ledger(folder.path(), {1e6, 1e-5, 1 << 30, false});
    ASSERT_GE(ledger.lines().size(), lines) << "totals never fall";
    lines = ledger.lines().size();
    for (const auto& [version, bytes] : told) {
      ASSERT_EQ(release(ledger, version, "would be new noise"), bytes);
    }
    ASSERT_EQ(ledger.lines().size(), lines) << "everything that was told has its line";
  }
  EXPECT_GT(told.size(), static_cast<std::size_t>(times) / 20);
}

TEST(LedgerUnderKill, TellsNothingThatItDoesNotRemember) { survives_kills(30); }
TEST(LedgerUnderKillSlow, TellsNothingThatItDoesNotRemember) { survives_kills(500); }

}  // namespace
}  // namespace feroma
