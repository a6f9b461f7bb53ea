// The folder that a federation lives in.
#include <unistd.h>

#include "tests/net/server_check_fixture.h"

namespace feroma::net::test {
namespace {

TEST_F(ServerCheck, AFolderThatCannotBe) {
  write_file_atomically(folder_ / "file", std::string_view("no folder"));
  FederationPlan what = plan();
  what.state = folder_ / "file" / "federation";
  const std::vector<CheckLine> lines = check(what);
  EXPECT_TRUE(holds(check_table(lines), "file: is not a folder\n                       -> name another folder"));
  EXPECT_TRUE(has_problem(lines));
}

TEST_F(ServerCheck, AFolderThatIsSomebodyElses) {
  constexpr uid_t kNobody = 65534;
  const bool is_root = ::getuid() == 0;  // who may write everywhere
  make_writable_folder(folder_ / "theirs");
  fs::permissions(folder_ / "theirs", fs::perms(0500));
  fs::permissions(folder_.path(), fs::perms(0555));
  FederationPlan theirs = plan();
  theirs.state = folder_ / "theirs";
  if (is_root && ::setresuid(kNobody, kNobody, 0) != 0) {
    GTEST_SKIP() << "this root may not be somebody else: folders that may not be written are NOT tested";
  }
  const std::vector<CheckLine> lines = check_server(theirs, {"127.0.0.1:0", {}});
  const std::vector<CheckLine> absent = check_server(plan(), {"127.0.0.1:0", {}});
  ASSERT_EQ(is_root ? ::setresuid(0, 0, 0) : 0, 0);
  fs::permissions(folder_.path(), fs::perms(0700));
  fs::permissions(folder_ / "theirs", fs::perms(0700));
  EXPECT_TRUE(has_problem(lines));
  EXPECT_TRUE(holds(check_table(lines),
                    "cannot write in this folder: Permission denied\n                       -> let the user that the "
                    "server runs as read and write there"))
      << check_table(lines);
  // Nobody should be told to take /var/lib over for the sake of /var/lib/feroma.
  EXPECT_TRUE(has_problem(absent));
  EXPECT_TRUE(holds(check_table(absent), "federation: is not there, and cannot be made in")) << check_table(absent);
  EXPECT_FALSE(holds(check_table(absent), "chown")) << check_table(absent);
}

TEST_F(ServerCheck, AFederationThatGoesOn) {
  {
    RoundLog log = begin(plan());
    finish_round(log, 1, plan());
  }
  const std::vector<CheckLine> lines = check(plan());
  EXPECT_FALSE(has_problem(lines)) << check_table(lines);
  EXPECT_TRUE(holds(check_table(lines), "holds this federation, 1 of 5 rounds are finished"));
}

TEST_F(ServerCheck, AFederationOfScaledModelsThatKeptNoScale) {
  const FederationPlan scaled = plan({"training.standardise=true"});
  {
    RoundLog log = begin(scaled);
    log.commit(1, [](ModelWriter&) {});
  }
  EXPECT_TRUE(holds(problem(check(scaled), "state"), "journal: has no scale of the inputs"));
  EXPECT_TRUE(holds(advice(check(scaled)), "begin a new federation")) << "no copy of the folder has one";
}

TEST_F(ServerCheck, AFederationThatIsFinished) {
  {
    RoundLog log = begin(plan());
    for (Round round = 1; round <= 5; ++round) {
      finish_round(log, round, plan());
    }
  }
  EXPECT_TRUE(holds(check_table(check(plan())), "holds this federation, 5 of 5 rounds are finished"));
}

TEST_F(ServerCheck, AFederationThatPlaysMoreRoundsThanItsConfigHas) {
  const FederationPlan what = plan({}, "name = 'atp'\nrate_rounds = 7\n");
  {
    RoundLog log = begin(what);
    finish_round(log, 1, what);
  }
  EXPECT_TRUE(holds(check_table(check(what)), "holds this federation, 1 of 12 rounds are finished"));
}

TEST_F(ServerCheck, AFederationWithAnotherConfig) {
  static_cast<void>(begin(plan()));
  const std::string text =
      "holds a federation with another config (scenario.drifts was 5, is 6; scenario.rounds was 5, is 6)";
  const FederationPlan other = plan({"scenario.rounds=6"});
  EXPECT_TRUE(holds(problem(check(other), "state"), text));
  const Stop stop;
  const std::string error = feroma::test::error_of(ErrorCode::invalid_config, [&] {
    const FederationServer never(other, {"127.0.0.1:0", certs_}, stop);
  });
  EXPECT_TRUE(holds(error, text + "; choose another folder"));
}

TEST_F(ServerCheck, AFederationWhoseMethodBehavesOtherwise) {
  {
    fs::create_directory(state_);
    fs::permissions(state_, fs::perms::owner_all);
    const std::string config = to_toml(plan().experiment.resolved()) + "[version]\nstandardise = 2\n";
    const RoundLog begun(state_, [&] { return JobRecord{"job", config}; });
  }
  const std::string text =
      "holds a federation with another config (standardise was in version 2, is in version 1: begin anew)";
  EXPECT_TRUE(holds(problem(check(plan()), "state"), text));
  const Stop stop;
  EXPECT_TRUE(holds(feroma::test::error_of(ErrorCode::invalid_config,
                                           [&] {
                                             const FederationServer never(plan(), {"127.0.0.1:0", certs_}, stop);
                                           }),
                    text));
}

TEST_F(ServerCheck, AFederationFromAMachineWithOtherInstructions) {
  const auto begin_with = [this](SimdTarget target) {
    Settings config = plan().experiment.resolved();
    config["training.simd"] = {std::string(name_of(target)), "elsewhere"};
    std::filesystem::remove_all(state_);
    fs::create_directory(state_);
    fs::permissions(state_, fs::perms::owner_all);
    const RoundLog begun(state_, [&] { return JobRecord{"job", to_toml(config)}; });
  };
  const Stop stop;
  const bool fused = has_fused_products(plan().experiment.simd());
  for (const auto& [target, name] : enum_names(SimdTarget())) {
    SCOPED_TRACE(name);
    begin_with(target);
    if (has_fused_products(target) == fused) {
      EXPECT_TRUE(holds(check_table(check(plan())), "holds this federation, 0 of 5 rounds are finished"));
      EXPECT_NO_THROW(FederationServer(plan(), {"127.0.0.1:0", certs_}, stop)) << "the server agrees";
    } else {
      EXPECT_TRUE(holds(problem(check(plan()), "state"), "holds a federation with another config (training.simd was "));
      EXPECT_THROW(FederationServer(plan(), {"127.0.0.1:0", certs_}, stop), Error) << "its bits are others";
    }
  }
}

TEST_F(ServerCheck, AServerThatIsAtWork) {
  const RoundLog held = begin(plan());
  EXPECT_TRUE(holds(problem(check(plan()), "state"), "another server is at work here"));
}

TEST_F(ServerCheck, ADamagedJournal) {
  {
    RoundLog log = begin(plan());
    log.start({1, {ClientId{0}}});
  }
  Bytes bytes = read_file(state_ / "journal");
  bytes[40] ^= std::byte{1};  // in the first record, with another one behind it
  write_file_atomically(state_ / "journal", bytes);
  EXPECT_TRUE(holds(problem(check(plan()), "state"), "journal: is damaged"));
  EXPECT_TRUE(holds(problem(check(plan()), "state"), "restore the folder from a backup"));
  EXPECT_TRUE(holds(advice(check(plan())), "see \"Going back\" in docs/operations-reference.md"));
}

TEST_F(ServerCheck, AModelThatIsDamaged) {
  {
    RoundLog log = begin(plan());
    finish_round(log, 1, plan());
  }
  for (const auto& entry : fs::directory_iterator(state_ / "models")) {
    const Bytes whole = read_file(entry.path());
    Bytes bytes = whole;
    bytes[bytes.size() / 2] ^= std::byte{1};
    write_file_atomically(entry.path(), bytes);
    EXPECT_TRUE(holds(problem(check(plan()), "state"), entry.path().filename().string() + ": is damaged"));
    write_file_atomically(entry.path(), whole);
  }
  EXPECT_FALSE(has_problem(check(plan())));
}

TEST_F(ServerCheck, AFolderThatOthersMayRead) {
  static_cast<void>(begin(plan()));
  fs::permissions(state_, fs::perms(0755));
  EXPECT_TRUE(holds(warning(check(plan()), "state"), "federation: is open to others than its owner"));
  EXPECT_EQ(advice(check(plan())), fmt::format("chmod 700 {}", state_.string()));
}

}  // namespace
}  // namespace feroma::net::test
