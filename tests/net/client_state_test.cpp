// What a client keeps between steps, rounds and starts.
#include "net/client_state.h"

#include <gtest/gtest.h>

#include "feroma/core/files.h"
#include "feroma/models/spec.h"
#include "feroma/store/checkpoint.h"
#include "tests/core/expect_error.h"
#include "tests/core/temp_folder.h"
#include "tests/net/log_lines.h"

namespace feroma::net::test {
namespace {

class ClientStateTest : public ::testing::Test {
 protected:
  ClientState open(const std::string& job = "job", std::uint32_t id = 2) {
    return {folder / "client", layout, job, ClientId{id}};
  }

  static TakenStep step(Round round, int phase, std::int64_t remembered) {
    TakenStep step;
    step.round = round;
    step.phase = phase;
    step.task = "task";
    step.answer = Bytes(3);
    step.after.state.values["value"] = Ints{remembered};
    step.after.window = 0;
    return step;
  }
  /// What the client remembers as it enters a round; -1 for nothing.
  static std::int64_t remembered(const ClientState& state, Round round) {
    const ClientMemory memory = state.before(round, 0);
    return memory.state.has("value") ? memory.state.integer("value") : -1;
  }

  feroma::test::TempFolder folder;
  std::shared_ptr<const ParamLayout> layout = initialise(make_model("mlp", {1, 3, 3}, 3), Rng(1)).shared_layout();
};

TEST_F(ClientStateTest, ANewcomerRemembersNothing) {
  const ClientState::Summary nobody = ClientState::peek(folder / "client");
  EXPECT_TRUE(nobody.job.empty() && nobody.committed == 0 && !nobody.remembers);
  { const ClientState state = open(); }
  const ClientState::Summary joined = ClientState::peek(folder / "client");
  EXPECT_EQ(joined.job, "job");
  EXPECT_FALSE(joined.remembers);
}

TEST_F(ClientStateTest, StepsSurviveARestart) {
  {
    ClientState state = open();
    state.keep(step(1, 0, 10));
    state.keep(step(1, 1, 11));
  }
  EXPECT_TRUE(ClientState::peek(folder / "client").remembers);
  const ClientState state = open();
  ASSERT_NE(state.find(1, 1, "task"), nullptr);
  EXPECT_EQ(state.find(1, 1, "task")->answer, Bytes(3));
  EXPECT_EQ(state.find(1, 1, "another"), nullptr) << "asked anew, it must be answered anew";
  EXPECT_EQ(state.before(1, 1).state.integer("value"), 10) << "what it remembered before the step";
}

// Files that were written before such steps were left out hold some.
TEST_F(ClientStateTest, AStepThatFailedIsTakenAgain) {
  {
    ClientState state = open();
    TakenStep failed = step(1, 0, 10);
    failed.answer.clear();
    failed.failed = "its data cannot be read";
    state.keep(failed);
  }
  EXPECT_EQ(open().find(1, 0, "task"), nullptr);
}

TEST_F(ClientStateTest, OnlyWhatCountedIsRemembered) {
  const auto after = [this](Counted counted) {
    std::filesystem::remove_all(folder / "client");
    ClientState state = open();
    state.keep(step(1, 0, 10));
    state.keep(step(1, 1, 11));
    state.commit(1, counted);
    EXPECT_EQ(state.committed(), 1);
    EXPECT_EQ(state.find(1, 0, "task"), nullptr) << "a finished round is not asked again";
    return remembered(state, 2);
  };
  EXPECT_EQ(after({1, 2}), 11);
  EXPECT_EQ(after({1, 1}), 10) << "the second answer came too late";
  EXPECT_EQ(after({1, 0}), -1);
  EXPECT_EQ(after({0, 0}), -1) << "another round was the last that it counted in";
}

TEST_F(ClientStateTest, RoundsAreFinishedOnce) {
  ClientState state = open();
  state.keep(step(1, 0, 10));
  state.commit(1, {1, 1});
  state.keep(step(2, 0, 20));
  state.commit(1, {1, 0});  // said again, or by an older server
  EXPECT_EQ(remembered(state, 2), 10);
  state.commit(4, {2, 1});  // it was away meanwhile
  EXPECT_EQ(remembered(state, 5), 20);
}

TEST_F(ClientStateTest, CountsReleases) {
  const ReleaseCounts counts{{"job", {3, 0.5, {}}}, {"another", {1, 0.25, 0.5}}};
  {
    ClientState state = open();
    EXPECT_TRUE(state.releases().empty()) << "a file of before says nothing";
    state.keep(step(1, 0, 10));
    state.count(counts);
  }
  ClientState state = open();
  EXPECT_EQ(state.releases(), counts);
  state.keep(step(1, 1, 11));
  state.commit(1, {1, 2});
  EXPECT_EQ(open().releases(), counts);
}

TEST_F(ClientStateTest, OneProcessHoldsAFolder) {
  {
    const detail::PosixFile held = hold_state_folder(folder / "client");
    const std::string error = feroma::test::error_of(
        ErrorCode::invalid_config, [&] { const detail::PosixFile second = hold_state_folder(folder / "client"); });
    EXPECT_TRUE(feroma::test::holds(error, "another client is running"));
  }
  const detail::PosixFile again = hold_state_folder(folder / "client");
}

TEST_F(ClientStateTest, AnotherFederationsStateIsRefused) {
  { const ClientState state = open(); }
  const std::string error =
      feroma::test::error_of(ErrorCode::invalid_data, [&] { const ClientState other = open("another"); });
  EXPECT_TRUE(feroma::test::holds(error, "federation job, this one is another"));
}

TEST_F(ClientStateTest, AnotherClientsStateIsRefused) {
  { const ClientState state = open(); }
  const std::string error =
      feroma::test::error_of(ErrorCode::invalid_data, [&] { const ClientState other = open("job", 3); });
  EXPECT_TRUE(feroma::test::holds(error, "client.state: is the state of client 2, this is client 3"));
}

// Earlier versions kept no id.
TEST_F(ClientStateTest, AnOlderStateIsAnyClients) {
  { const ClientState state = open(); }
  Bytes payload = read_checkpoint(folder / "client" / "client.state");
  payload.resize(payload.size() - sizeof(ClientId));
  write_checkpoint(folder / "client" / "client.state", payload);
  EXPECT_EQ(open("job", 3).committed(), 0);
}

TEST_F(ClientStateTest, AStateThatIsGoneIsMissed) {
  Lines lines;
  { const detail::PosixFile held = hold_state_folder(folder / "client"); }
  EXPECT_TRUE(lines.with("client.state").empty()) << "this one is new";
  { const ClientState state = open(); }
  { const detail::PosixFile held = hold_state_folder(folder / "client"); }
  EXPECT_TRUE(lines.with("client.state").empty());
  std::filesystem::remove(folder / "client" / "client.state");
  { const detail::PosixFile held = hold_state_folder(folder / "client"); }
  EXPECT_EQ(lines.with("client.state: is not there").size(), 1U);
}

// A server that refuses a client lets it begin no state.
TEST_F(ClientStateTest, AClientThatWasNeverLetInHasLostNothing) {
  Lines lines;
  for (int start = 0; start < 3; ++start) {
    const detail::PosixFile held = hold_state_folder(folder / "client");
  }
  EXPECT_TRUE(lines.with("client.state").empty());
}

// Earlier versions left the file of the lock empty.
TEST_F(ClientStateTest, AStateOfAnEarlierVersionIsMissedToo) {
  Lines lines;
  { const ClientState state = open(); }
  write_file_atomically(folder / "client" / "lock", std::string_view());
  { const detail::PosixFile held = hold_state_folder(folder / "client"); }
  std::filesystem::remove(folder / "client" / "client.state");
  { const detail::PosixFile held = hold_state_folder(folder / "client"); }
  EXPECT_EQ(lines.with("client.state: is not there, though there was one before").size(), 1U);
}

TEST_F(ClientStateTest, AFolderThatOthersMayReadIsNamed) {
  Lines lines;
  std::filesystem::create_directory(folder / "client");
  std::filesystem::permissions(folder / "client", std::filesystem::perms(0750));
  { const detail::PosixFile held = hold_state_folder(folder / "client"); }
  EXPECT_EQ(lines.with("client: is open to others than its owner (chmod 700").size(), 1U);
}

TEST_F(ClientStateTest, DamageIsFound) {
  {
    ClientState state = open();
    state.keep(step(1, 0, 10));
  }
  const Bytes whole = read_file(folder / "client" / "client.state");
  for (std::size_t cut = 0; cut < whole.size(); cut += 7) {
    write_file_atomically(folder / "client" / "client.state", std::span(whole).first(cut));
    const std::string error =
        feroma::test::error_of(ErrorCode::invalid_data, [&] { const ClientState state = open(); });
    EXPECT_TRUE(feroma::test::holds(error, "client.state: ") && feroma::test::holds(error, "or move it aside"))
        << error;
  }
}

}  // namespace
}  // namespace feroma::net::test
