#include "net/http_page.h"

#include "feroma/core/error.h"

#ifdef FEROMA_HTTP

#include <httplib.h>

#include <chrono>
#include <thread>
#include <vector>

#include "core/entrance.h"
#include "core/http_connection.h"
#include "feroma/core/log.h"
#include "net/metrics_page.h"

namespace feroma::net {
namespace {

constexpr int kWorkers = 4;
/// Scrapers send a few hundred bytes and read what they get at once.
constexpr Patience kPatience{std::chrono::seconds(3), std::chrono::seconds(3)};

/// What is answered to whom; the library reads requests and writes answers, connections are ours.
class Pages final : public httplib::Server {
 public:
  explicit Pages(std::function<ServerStatus()> status) {
    set_payload_max_length(0);
    Get("/metrics", [status](const httplib::Request&, httplib::Response& response) {
      response.set_content(metrics_page(status()), kMetricsType);
    });
    Get("/healthz", [status](const httplib::Request&, httplib::Response& response) {
      const ServerStatus now = status();
      response.status = is_serving(now) ? 200 : 503;
      response.set_content(health_page(now), "application/json");
    });
    set_error_handler([](const httplib::Request&, httplib::Response& response) {
      if (response.body.empty()) {
        response.set_content("there are /metrics and /healthz\n", "text/plain");
      }
    });
    // By default the library tells the peer what went wrong inside.
    set_exception_handler([](const httplib::Request&, httplib::Response& response, const std::exception_ptr&) {
      log::warning("the status could not be shown");
      response.status = 500;
    });
  }

  void answer(Descriptor descriptor) {
    HttpConnection connection(std::move(descriptor), kPatience);
    bool closed = false;
    // Whatever a stranger sent must not end the server.
    try {
      process_request(connection, /*close_connection=*/true, closed, nullptr);
    } catch (const std::exception& error) {
      log::debug("a request to the status page failed: {}", error.what());
    }
  }
};

}  // namespace

class HttpPage::Parts {
 public:
  Parts(const std::string& address, std::function<ServerStatus()> status)
      : pages_(std::move(status)), entrance_(address) {
    try {
      for (int i = 0; i < kWorkers; ++i) {
        workers_.emplace_back([this] { work(); });
      }
    } catch (...) {
      entrance_.end();  // or those that began would wait for connections for ever, and we for them
      throw;
    }
  }
  ~Parts() { entrance_.end(); }

  [[nodiscard]] int port() const { return entrance_.port(); }

 private:
  void work() {
    while (std::optional<Entrance::Caller> caller = entrance_.next()) {
      pages_.answer(std::move(caller->connection));
    }
  }

  Pages pages_;
  Entrance entrance_;
  std::vector<std::jthread> workers_;
};

HttpPage::HttpPage(const std::string& address, std::function<ServerStatus()> status)
    : parts_(std::make_unique<Parts>(address, std::move(status))) {}

int HttpPage::port() const { return parts_->port(); }

#else

namespace feroma::net {

class HttpPage::Parts {};

HttpPage::HttpPage(const std::string& /*address*/, std::function<ServerStatus()> /*status*/) {
  fail(ErrorCode::unsupported,
       "this build has no HTTP, so it cannot show /metrics: cpp-httplib (Debian: libcpp-httplib-dev) was not found");
}

int HttpPage::port() const { return 0; }

#endif

HttpPage::~HttpPage() = default;

}  // namespace feroma::net
