// Who is let in, and that nobody holds the door for others.
#include <gtest/gtest.h>
#include <ifaddrs.h>
#include <net/if.h>

#include <chrono>
#include <cstring>
#include <memory>
#include <optional>
#include <system_error>
#include <vector>

#include "dashboard/peer_places.h"
#include "feroma/dashboard/dashboard.h"
#include "tests/core/expect_error.h"
#include "tests/core/temp_folder.h"
#include "tests/dashboard/caller.h"
#include "tests/net/once.h"

namespace feroma::dashboard {
namespace {

using test::Caller;
using test::get;
using test::holds;
using test::TempFolder;

TEST(PeerPlaces, OneAddressElsewhereHasOnlySoMany) {
  PeerPlaces places(2);
  const auto has_place = [&](const char* peer) {
    return PeerPlaces::Place(places, net::parse_peer(peer).value()).has();
  };
  const PeerPlaces::Place first(places, net::parse_peer("ipv4:192.0.2.7:1").value());
  std::optional<PeerPlaces::Place> second(std::in_place, places, net::parse_peer("ipv4:192.0.2.7:2").value());
  EXPECT_TRUE(first.has());
  EXPECT_TRUE(second->has());
  EXPECT_FALSE(has_place("ipv4:192.0.2.7:3"));
  EXPECT_FALSE(has_place("ipv4:192.0.2.7:3")) << "one that was refused gives nothing back";
  EXPECT_TRUE(has_place("ipv4:192.0.2.8:1")) << "others are not touched";
  second.reset();
  EXPECT_TRUE(has_place("ipv4:192.0.2.7:3"));
  const PeerPlaces::Place six(places, net::parse_peer("ipv6:%5B2001:db8::1%5D:1").value());
  const PeerPlaces::Place neighbour(places, net::parse_peer("ipv6:%5B2001:db8::2%5D:1").value());
  EXPECT_FALSE(has_place("ipv6:%5B2001:db8::3%5D:1")) << "of IPv6 one household has many addresses";
}

TEST(PeerPlaces, ThisMachineItselfIsNotCounted) {
  PeerPlaces places(1);
  for (const char* peer :
       {"ipv4:127.0.0.1:1", "ipv4:127.0.0.2:1", "ipv6:%5B::1%5D:1", "ipv6:%5B::ffff:127.0.0.1%5D:1"}) {
    const PeerPlaces::Place first(places, net::parse_peer(peer).value());
    const PeerPlaces::Place second(places, net::parse_peer(peer).value());
    EXPECT_TRUE(first.has() && second.has()) << peer;
  }
}

class Door : public ::testing::Test {
 protected:
  [[nodiscard]] DashboardOptions options(const std::string& address) const { return {folder_.path(), address, {}, {}}; }
  TempFolder folder_;
};

/// An address under which this machine is elsewhere, too; none where it has no network.
std::optional<in_addr_t> own_address() {
  ifaddrs* list = nullptr;
  if (::getifaddrs(&list) != 0) {
    return std::nullopt;
  }
  std::optional<in_addr_t> found;
  for (const ifaddrs* one = list; one != nullptr; one = one->ifa_next) {
    if (one->ifa_addr != nullptr && one->ifa_addr->sa_family == AF_INET && (one->ifa_flags & IFF_UP) != 0 &&
        (one->ifa_flags & IFF_LOOPBACK) == 0) {
      sockaddr_in address{};
      std::memcpy(&address, one->ifa_addr, sizeof(address));
      found = address.sin_addr.s_addr;
    }
  }
  ::freeifaddrs(list);
  return found;
}

/// How long the page needs for an answer; a worker that is held is held for five seconds.
std::chrono::steady_clock::duration time_to_answer(const Dashboard& dashboard) {
  const auto began = std::chrono::steady_clock::now();
  EXPECT_TRUE(holds(get(dashboard.port(), "/"), "401"));
  return std::chrono::steady_clock::now() - began;
}

TEST_F(Door, WhoSaysNothingHoldsNoWorker) {
  const Dashboard dashboard(options("0.0.0.0:0"));
  std::vector<std::unique_ptr<Caller>> silent;
  for (int i = 0; i < 24; ++i) {
    silent.push_back(std::make_unique<Caller>(dashboard.port()));
  }
  EXPECT_LT(time_to_answer(dashboard), std::chrono::seconds(3));
}

TEST_F(Door, OneAddressElsewhereDoesNotHoldAllWorkers) {
  const std::optional<in_addr_t> own = own_address();
  if (!own) {
    GTEST_SKIP() << "this machine has no address beside loopback";
  }
  const Dashboard dashboard(options("0.0.0.0:0"));
  std::vector<std::unique_ptr<Caller>> slow;
  for (int i = 0; i < 24; ++i) {
    slow.push_back(std::make_unique<Caller>(dashboard.port(), *own));
    slow.back()->say("G");
  }
  EXPECT_LT(time_to_answer(dashboard), std::chrono::seconds(3));
}

TEST_F(Door, APageWhoseThreadsCannotStartIsAnErrorAndWaitsForNobody) {
  {
    const net::test::Once fails("dashboard.worker_began", [] {
      throw std::system_error(std::make_error_code(std::errc::resource_unavailable_try_again));
    });
    EXPECT_THROW(const Dashboard page(options("127.0.0.1:0")), std::system_error);
  }
  const Dashboard dashboard(options("127.0.0.1:0"));
  EXPECT_TRUE(holds(get(dashboard.port(), "/"), "200 OK"));
}

}  // namespace
}  // namespace feroma::dashboard
