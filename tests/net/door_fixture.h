#pragma once

#include <algorithm>
#include <mutex>
#include <string>
#include <vector>

#include "feroma/core/log.h"
#include "net/front_door.h"
#include "tests/net/tls_tools.h"

namespace feroma::net::test {

/// A door whose hand-over keeps what it gets, as a server would, and lines of the log.
class Door : public ::testing::Test {
 protected:
  Door() {
    log::set_sink([this](const log::Entry& entry) {
      const std::lock_guard lock(mutex);
      lines.emplace_back(entry.message);
    });
  }
  ~Door() override {
    door.reset();
    log::set_sink({});
  }

  void open(bool tls = true, const std::string& address = "127.0.0.1:0") {
    door = std::make_unique<FrontDoor>(address, limits, tls);
    door->open([this](int descriptor) {
      const std::lock_guard lock(mutex);
      inside.emplace_back(descriptor);
    });
  }
  [[nodiscard]] int port() const { return door->port(); }
  [[nodiscard]] std::size_t let_in() {
    const std::lock_guard lock(mutex);
    return inside.size();
  }
  [[nodiscard]] std::uint64_t refused(const std::string& reason) const { return door->counts().refused.at(reason); }
  [[nodiscard]] std::size_t lines_with(std::string_view text) {
    const std::lock_guard lock(mutex);
    return static_cast<std::size_t>(std::count_if(
        lines.begin(), lines.end(), [&](const std::string& line) { return line.find(text) != std::string::npos; }));
  }
  /// Ends everything that was handed over the way gRPC does.
  void end_all() {
    const std::lock_guard lock(mutex);
    for (const Descriptor& one : inside) {
      ::shutdown(one.get(), SHUT_RDWR);
    }
    inside.clear();
  }
  /// Says something and expects the connection to be ended for this reason, with one line.
  std::string turned_away(std::span<const std::byte> bytes, const std::string& reason) {
    const std::uint64_t before = refused(reason);
    RawConnection client(port());
    EXPECT_TRUE(client.say(bytes));
    std::string heard = client.until_closed();
    EXPECT_TRUE(eventually([&] { return refused(reason) == before + 1; })) << reason;
    EXPECT_EQ(let_in(), 0U);
    return heard;
  }
  std::string turned_away(std::string_view text, const std::string& reason) {
    return turned_away(std::as_bytes(std::span(text)), reason);
  }

  DoorLimits limits;
  std::mutex mutex;
  std::vector<std::string> lines;
  std::vector<Descriptor> inside;
  std::unique_ptr<FrontDoor> door;
};

inline const HelloBytes& modern() {
  static const HelloBytes hello = hello_of(TLS1_2_VERSION, TLS1_3_VERSION);
  return hello;
}

}  // namespace feroma::net::test
