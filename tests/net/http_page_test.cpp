#include "net/http_page.h"

#include <arpa/inet.h>
#include <fmt/core.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "tests/core/expect_error.h"

namespace feroma::net::test {
namespace {

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::machine().now() - start).count();
}

/// A connection on which anything can be said.
class Visitor {
 public:
  explicit Visitor(int port) : descriptor_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<in_port_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(::connect(descriptor_, reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
  }
  ~Visitor() { ::close(descriptor_); }
  Visitor(const Visitor&) = delete;
  Visitor& operator=(const Visitor&) = delete;

  /// False once the other side has hung up.
  bool say(std::string_view text) const {
    return ::send(descriptor_, text.data(), text.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(text.size());
  }
  /// Everything up to the end of the connection.
  [[nodiscard]] std::string hear() const {
    std::string text;
    std::array<char, 4096> buffer{};
    for (ssize_t got = 0; (got = ::recv(descriptor_, buffer.data(), buffer.size(), 0)) > 0;) {
      text.append(buffer.data(), static_cast<std::size_t>(got));
    }
    return text;
  }

 private:
  int descriptor_;
};

std::string ask(int port, std::string_view request) {
  const Visitor visitor(port);
  visitor.say(request);
  return visitor.hear();
}

std::string get(int port, const std::string& path) {
  return ask(port, fmt::format("GET {} HTTP/1.1\r\nHost: here\r\n\r\n", path));
}

class OverHttp : public ::testing::Test {
 protected:
  void SetUp() override {
    try {
      page_.emplace("127.0.0.1:0", [this] {
        if (broken_) {
          throw std::runtime_error("a secret of the inside");
        }
        ServerStatus status;
        status.round = 4;
        status.clients = 5;
        status.draining = draining_;
        status.healthy = !stuck_;
        status.reason = stuck_ ? "no progress" : "";
        return status;
      });
    } catch (const Error& error) {
      ASSERT_EQ(static_cast<int>(error.code()), static_cast<int>(ErrorCode::unsupported)) << error.what();
      GTEST_SKIP() << error.what() << ": /metrics and /healthz are NOT tested";
    }
  }

  [[nodiscard]] int port() const { return page_->port(); }

  std::atomic<bool> draining_ = false;
  std::atomic<bool> stuck_ = false;
  std::atomic<bool> broken_ = false;
  std::optional<HttpPage> page_;
};

TEST_F(OverHttp, ShowsMetricsAsText) {
  const std::string answer = get(port(), "/metrics");
  EXPECT_TRUE(answer.starts_with("HTTP/1.1 200 ")) << answer;
  EXPECT_TRUE(feroma::test::holds(answer, "Content-Type: text/plain; version=0.0.4; charset=utf-8\r\n"));
  EXPECT_TRUE(feroma::test::holds(answer, "\nferoma_clients_connected 5\n"));
}

TEST_F(OverHttp, HealthIsTheStatusCode) {
  const std::string well = get(port(), "/healthz");
  EXPECT_TRUE(well.starts_with("HTTP/1.1 200 ")) << well;
  EXPECT_TRUE(feroma::test::holds(well, R"({"status":"ok","round":4,"clients":5})"));
  draining_ = true;
  const std::string draining = get(port(), "/healthz");
  EXPECT_TRUE(draining.starts_with("HTTP/1.1 503 ")) << draining;
  EXPECT_TRUE(feroma::test::holds(draining, R"("status":"draining")"));
  draining_ = false;
  stuck_ = true;
  const std::string stuck = get(port(), "/healthz");
  EXPECT_TRUE(stuck.starts_with("HTTP/1.1 503 ")) << stuck;
  EXPECT_TRUE(feroma::test::holds(stuck, R"("reason":"no progress")"));
}

TEST_F(OverHttp, HasNothingElse) {
  for (const std::string path : {"/", "/metrics/", "/metrics/../etc/passwd", "/healthz2", "/%2e%2e/etc/passwd"}) {
    EXPECT_TRUE(get(port(), path).starts_with("HTTP/1.1 404 ")) << path;
  }
  const std::string posted = ask(port(), "POST /metrics HTTP/1.1\r\nContent-Length: 0\r\n\r\n");
  EXPECT_TRUE(posted.starts_with("HTTP/1.1 404 ")) << posted;
}

TEST_F(OverHttp, TellsNobodyWhatBrokeInside) {
  broken_ = true;
  const std::string answer = get(port(), "/metrics");
  EXPECT_TRUE(answer.starts_with("HTTP/1.1 500 ")) << answer;
  EXPECT_EQ(answer.find("secret"), std::string::npos) << answer;
}

TEST_F(OverHttp, SurvivesWhatIsNoRequest) {
  const std::string digits(8000, '1');
  const std::vector<std::string> requests = {
      "",
      "\r\n\r\n",
      "GET\r\n\r\n",
      "GET /metrics HTTP/9.9\r\n\r\n",
      std::string("GET /met\0rics HTTP/1.1\r\n\r\n", 27),
      "GET /" + std::string(30000, 'a') + " HTTP/1.1\r\n\r\n",
      "GET /metrics HTTP/1.1\r\nX: " + std::string(30000, 'a') + "\r\n\r\n",
      "GET /metrics HTTP/1.1\r\nRange: bytes=" + digits + "-" + digits.substr(100) + "\r\n\r\n",
      "GET /metrics HTTP/1.1\r\nRange: bytes=0-1,0-1,0-1,0-1,5-2,-\r\n\r\n",
      "POST /metrics HTTP/1.1\r\nContent-Length: 99999999999999999999\r\n\r\n",
      "POST /metrics HTTP/1.1\r\nContent-Length: 10000000\r\n\r\n" + std::string(40000, 'b'),
      "POST /metrics HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nfffffffffffffff0\r\n" + std::string(40000, 'c'),
      "PUT /metrics HTTP/1.1\r\nContent-Type: multipart/form-data; boundary=\"\"\r\nContent-Length: 9\r\n\r\n123456789",
  };
  for (const std::string& request : requests) {
    SCOPED_TRACE(request.substr(0, 60));
    Visitor visitor(port());
    visitor.say(request);
    // What comes back does not matter, but the page does afterwards.
    EXPECT_TRUE(get(port(), "/healthz").starts_with("HTTP/1.1 200 "));
  }
}

TEST_F(OverHttp, ManyAtOnceAreAllAnswered) {
  std::atomic<int> answered = 0;
  std::vector<std::jthread> scrapers;
  for (int i = 0; i < 16; ++i) {
    scrapers.emplace_back([&] {
      for (int k = 0; k < 25; ++k) {
        answered += get(port(), "/metrics").starts_with("HTTP/1.1 200 ") ? 1 : 0;
      }
    });
  }
  scrapers.clear();
  EXPECT_EQ(answered, 16 * 25);
}

TEST_F(OverHttp, EndsAtOnceWhenNobodyAsks) {
  const auto start = Clock::machine().now();
  page_.reset();
  EXPECT_LT(seconds_since(start), 1);
}

TEST_F(OverHttp, NeedsAHostAndAPortOfItsOwn) {
  for (const std::string address : {"7480", ":7480", "127.0.0.1"}) {
    const std::string error = feroma::test::error_of(ErrorCode::invalid_config,
                                                     [&] { HttpPage another(address, [] { return ServerStatus{}; }); });
    EXPECT_TRUE(feroma::test::holds(error, "an address must be HOST:PORT"));
  }
  const std::string error = feroma::test::error_of(
      ErrorCode::io, [&] { HttpPage another(fmt::format("127.0.0.1:{}", port()), [] { return ServerStatus{}; }); });
  EXPECT_TRUE(feroma::test::holds(error, "in use"));
}

/// Takes as long as the page gives a request.
class OverHttpSlow : public OverHttp {};

TEST_F(OverHttpSlow, WhoDripsIsCutOff) {
  const auto start = Clock::machine().now();
  std::vector<std::unique_ptr<Visitor>> drips;
  for (int i = 0; i < 6; ++i) {
    drips.push_back(std::make_unique<Visitor>(port()));
  }
  std::jthread dripping([&](const std::stop_token& end) {
    while (!end.stop_requested()) {
      for (const auto& drip : drips) {
        drip->say("G");
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
  });
  // All workers are held by drips, two more wait; each is given three seconds.
  EXPECT_TRUE(get(port(), "/healthz").starts_with("HTTP/1.1 200 "));
  EXPECT_LT(seconds_since(start), 8);
  page_.reset();
  EXPECT_LT(seconds_since(start), 12);
}

}  // namespace
}  // namespace feroma::net::test
