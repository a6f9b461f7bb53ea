#include "feroma/drift/membership.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "tests/expect_error.h"

namespace feroma {
namespace {

constexpr int kMembers = 8;
constexpr int kRounds = 6;

std::vector<std::uint32_t> present(const Membership& membership, Round round) {
  std::vector<std::uint32_t> numbers;
  for (const ClientId client : membership.present(round)) {
    numbers.push_back(to_index(client));
  }
  return numbers;
}

Membership members(const MembershipOptions& options, std::uint64_t seed = 1, int clients = kMembers) {
  Problems problems;
  options.check(clients, kRounds, problems);
  problems.raise();
  return {options, clients, kRounds, Rng(seed)};
}

std::string complaint(const MembershipOptions& options) {
  Problems problems;
  options.check(kMembers, kRounds, problems);
  return problems.messages().empty() ? "" : problems.messages().front();
}

TEST(Membership, IsEverybodyByDefault) {
  const Membership all = members({});
  for (Round round = 1; round <= kRounds + 3; ++round) {
    EXPECT_EQ(all.present(round).size(), std::size_t{kMembers});
  }
  EXPECT_EQ(all.first_round(ClientId{3}), 1);
  EXPECT_EQ(all.changes(), 0);
}

TEST(Membership, FollowsTheEventsToTheLetter) {
  MembershipOptions options;
  options.initial = 3;
  options.events = "2:+5+6 4:-0-5\n5:+0";
  const Membership membership = members(options);
  EXPECT_EQ(present(membership, 1), (std::vector<std::uint32_t>{0, 1, 2}));
  EXPECT_EQ(present(membership, 2), (std::vector<std::uint32_t>{0, 1, 2, 5, 6}));
  EXPECT_EQ(present(membership, 3), present(membership, 2));
  EXPECT_EQ(present(membership, 4), (std::vector<std::uint32_t>{1, 2, 6}));
  EXPECT_EQ(present(membership, 5), (std::vector<std::uint32_t>{0, 1, 2, 6}));
  EXPECT_EQ(present(membership, kRounds + 1), present(membership, kRounds));
  EXPECT_EQ(membership.first_round(ClientId{5}), 2);
  EXPECT_EQ(membership.first_round(ClientId{0}), 1);
  EXPECT_EQ(membership.first_round(ClientId{7}), 0);
  EXPECT_EQ(membership.changes(), 5);
}

TEST(Membership, TestOnlyClientsNeverTrain) {
  MembershipOptions options;
  options.test_only = 3;
  const Membership membership = members(options);
  EXPECT_EQ(present(membership, 1), (std::vector<std::uint32_t>{0, 1, 2, 3, 4}));
  EXPECT_EQ(membership.first_round(ClientId{5}), 0);
  EXPECT_EQ(membership.first_round(ClientId{4}), 1);
}

TEST(Membership, RatesHoldOnAverage) {
  constexpr int kMany = 20'000;
  MembershipOptions options;
  options.initial = kMany / 2;
  options.arrival_rate = 0.3;
  options.departure_rate = 0.2;
  options.return_rate = 0.5;
  const Membership membership = members(options, 7, kMany);
  const std::vector<std::uint32_t> first = present(membership, 1);
  const std::vector<std::uint32_t> second = present(membership, 2);
  const auto arrived = std::count_if(second.begin(), second.end(), [](auto c) { return c >= kMany / 2; });
  const auto stayed = static_cast<std::ptrdiff_t>(second.size()) - arrived;
  // Four standard deviations of a binomial of 10 000.
  EXPECT_NEAR(static_cast<double>(arrived), 3000, 4 * std::sqrt(10'000 * 0.3 * 0.7));
  EXPECT_NEAR(static_cast<double>(stayed), 8000, 4 * std::sqrt(10'000 * 0.2 * 0.8));
  // Who left in round 2 comes back in round 3 with chance one half.
  const std::vector<std::uint32_t> third = present(membership, 3);
  std::ptrdiff_t back = 0;
  for (const std::uint32_t client : first) {
    back += !std::binary_search(second.begin(), second.end(), client) &&
                    std::binary_search(third.begin(), third.end(), client)
                ? 1
                : 0;
  }
  const auto left = 10'000 - stayed;
  EXPECT_NEAR(static_cast<double>(back), static_cast<double>(left) / 2, 4 * std::sqrt(static_cast<double>(left) / 4));
}

TEST(Membership, DependsOnTheSeedAloneAndNotOnOtherClients) {
  MembershipOptions options;
  options.initial = 4;
  options.arrival_rate = 0.5;
  options.departure_rate = 0.5;
  const auto history = [&](std::uint64_t seed, int clients) {
    std::vector<bool> all;
    const Membership membership = members(options, seed, clients);
    for (Round round = 1; round <= kRounds; ++round) {
      const std::vector<std::uint32_t> now = present(membership, round);
      for (std::uint32_t client = 0; client < 6; ++client) {
        all.push_back(std::binary_search(now.begin(), now.end(), client));
      }
    }
    return all;
  };
  EXPECT_EQ(history(3, 8), history(3, 8));
  EXPECT_EQ(history(3, 8), history(3, 200));
  EXPECT_NE(history(3, 8), history(4, 8));
}

TEST(Membership, TheLastClientStays) {
  MembershipOptions options;
  options.departure_rate = 1;
  const Membership membership = members(options);
  for (Round round = 1; round <= kRounds; ++round) {
    EXPECT_GE(membership.present(round).size(), 1U);
  }
  MembershipOptions exodus;
  exodus.initial = 1;
  exodus.events = "2:-0";
  expect_error(ErrorCode::invalid_config, "at least one client in every round, got none in round 2",
               [&] { (void)members(exodus); });
}

TEST(Membership, SaysWhatIsWrong) {
  const auto says = [](const std::string& part, const std::function<void(MembershipOptions&)>& change) {
    MembershipOptions options;
    change(options);
    EXPECT_NE(complaint(options).find(part), std::string::npos) << complaint(options);
  };
  says("test_only must be < scenario.clients (8), got 8", [](auto& o) { o.test_only = 8; });
  says("initial must be <= the 6 clients that train, got 7", [](auto& o) {
    o.test_only = 2;
    o.initial = 7;
  });
  says("return_rate must be 0 where nobody leaves", [](auto& o) { o.return_rate = 0.1; });
  says("arrival_rate must be 0 where everybody", [](auto& o) { o.arrival_rate = 0.1; });
  for (const char* word : {"3", "3:", "3:5", "x:+1", "3:+", "3:+1x", ":+1", "3:+-1", "-1:+2"}) {
    says("got \"" + std::string(word) + "\"", [&](auto& o) { o.events = word; });
  }
  says("rounds in 1..6, got 7", [](auto& o) { o.events = "7:+1"; });
  says("clients in 0..7, got 8", [](auto& o) { o.events = "2:+8"; });
}

}  // namespace
}  // namespace feroma
