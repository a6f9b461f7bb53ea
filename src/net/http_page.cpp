#include "net/http_page.h"

#include "feroma/core/error.h"

#ifdef FEROMA_HTTP

#include <httplib.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <stop_token>
#include <thread>
#include <vector>

#include "core/http_connection.h"
#include "core/listener.h"
#include "feroma/core/log.h"
#include "net/metrics_page.h"

namespace feroma::net {
namespace {

constexpr int kWorkers = 4;
/// Scrapers send a few hundred bytes and read what they get at once.
constexpr Patience kPatience{std::chrono::seconds(3), std::chrono::seconds(3)};
/// How often a worker looks whether the page is to end.
constexpr int kGlanceMilliseconds = 200;

/// A connection that came within a glance, or none; several threads may ask at once.
Descriptor next_connection(const std::vector<Descriptor>& listeners) {
  std::vector<pollfd> waiting;
  for (const Descriptor& listener : listeners) {
    waiting.push_back({listener.get(), POLLIN, 0});
  }
  ::poll(waiting.data(), waiting.size(), kGlanceMilliseconds);
  for (const pollfd& one : waiting) {
    Descriptor connection;
    if (one.revents != 0) {
      connection = Descriptor(::accept4(one.fd, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    }
    if (connection) {
      return connection;
    }
    // Somebody else may have been faster, or the peer may be gone. Where descriptors or memory ran out, the connection
    // goes on waiting, and so do we.
    if (one.revents != 0 && (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM)) {
      std::this_thread::sleep_for(std::chrono::milliseconds(kGlanceMilliseconds));
    }
  }
  return {};
}

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
      : pages_(std::move(status)), listeners_(listen_at(address)) {
    for (int i = 0; i < kWorkers; ++i) {
      workers_.emplace_back([this](const std::stop_token& end) { work(end); });
    }
  }
  // All are told before any is waited for.
  ~Parts() {
    for (std::jthread& worker : workers_) {
      worker.request_stop();
    }
  }

  [[nodiscard]] int port() const { return port_of(listeners_.front()); }

 private:
  void work(const std::stop_token& end) {
    while (!end.stop_requested()) {
      Descriptor connection = next_connection(listeners_);
      if (connection) {
        pages_.answer(std::move(connection));
      }
    }
  }

  Pages pages_;
  std::vector<Descriptor> listeners_;
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
