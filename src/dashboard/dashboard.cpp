// The only file of the page that knows HTTP's library: it reads requests and writes answers, connections are ours.
#include "feroma/dashboard/dashboard.h"

#include <httplib.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "core/endpoint.h"
#include "core/entrance.h"
#include "core/http_connection.h"
#include "dashboard/json.h"
#include "dashboard/peer_places.h"
#include "dashboard/run_watch.h"
#include "dashboard/site.h"
#include "dashboard/token.h"
#include "feroma/core/error.h"
#include "feroma/core/fault_point.h"
#include "feroma/core/log.h"

namespace feroma {
namespace dashboard {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

/// Connections that are served at once; others wait at the door. A stream of events holds one for as long as it lasts.
constexpr int kWorkers = 24;
constexpr int kStreams = 12;
/// Of one address elsewhere: every stream and some requests beside them, and a quarter is left for others.
constexpr int kOfOneAddress = 18;
constexpr auto kRequestTime = seconds(5);
/// Who connects from elsewhere and says nothing waits so long at the door, where no worker waits with it.
constexpr int kSilentSeconds = 5;
constexpr auto kAnswerTime = seconds(10);
/// Streams tell no more often than this, and say that they are there at least so often.
constexpr auto kBetweenMessages = milliseconds(400);
constexpr auto kHeartbeat = seconds(10);

/// A place among the streams, given back with the object.
class StreamPlace {
 public:
  explicit StreamPlace(std::atomic<int>& taken) : taken_(taken), has_(++taken <= kStreams) {}
  ~StreamPlace() { --taken_; }
  StreamPlace(const StreamPlace&) = delete;
  StreamPlace& operator=(const StreamPlace&) = delete;
  [[nodiscard]] bool has() const { return has_; }

 private:
  std::atomic<int>& taken_;
  bool has_;
};

class Pages final : public httplib::Server {
 public:
  /// `end` becomes readable when nobody is to be waited for any more.
  Pages(RunWatch& watch, std::string token, int end)
      : watch_(watch), site_(watch, std::move(token)), patience_{kRequestTime, kAnswerTime, end} {
    svr_sock_ = STDIN_FILENO;  // the library takes a server without a socket for one that is shutting down
    set_payload_max_length(0);
    // Before the library's own routing, whose patterns take stack with every character of an address.
    set_pre_routing_handler([this](const httplib::Request& request, httplib::Response& response) {
      handle(request, response);
      return HandlerResponse::Handled;
    });
    // By default the library tells the peer what went wrong inside.
    set_exception_handler([](const httplib::Request&, httplib::Response& response, const std::exception_ptr&) {
      log::warning("the dashboard could not answer a request");
      response.status = 500;
      response.set_content(text_of({{"error", "this could not be answered"}}), "application/json");
    });
  }

  void answer(net::Descriptor descriptor) {
    net::HttpConnection connection(std::move(descriptor), patience_);
    bool closed = false;
    // Whatever a stranger sent must not end the server.
    try {
      // Ranges are for others: the library takes those of a provider's bytes without looking how many there are.
      process_request(connection, /*close_connection=*/true, closed, [](httplib::Request& r) { r.ranges.clear(); });
    } catch (const std::exception& error) {
      log::debug("a request to the dashboard failed: {}", error.what());
    }
  }

 private:
  void handle(const httplib::Request& request, httplib::Response& response) {
    Asked asked;
    asked.method = request.method;
    asked.path = request.path;
    asked.query = {request.params.begin(), request.params.end()};
    asked.host = request.get_header_value("Host");
    asked.cookie = request.get_header_value("Cookie");
    asked.authorization = request.get_header_value("Authorization");
    asked.accept_encoding = request.get_header_value("Accept-Encoding");
    Answer answer = site_.answer(asked);
    response.status = answer.status;
    for (const auto& [name, value] : answer.headers) {
      response.set_header(name.c_str(), value);
    }
    if (answer.stream && request.method == "GET") {
      stream(request.get_header_value("Last-Event-ID"), response);
      return;
    }
    if (answer.body.empty()) {
      response.set_content("", answer.type.c_str());
      return;
    }
    // As a provider the library leaves the bytes as they are.
    const auto body = std::make_shared<const std::string>(std::move(answer.body));
    response.set_content_provider(
        body->size(), answer.type.c_str(), [body](std::size_t offset, std::size_t length, httplib::DataSink& sink) {
          return offset < body->size() && sink.write(body->data() + offset, std::min(length, body->size() - offset));
        });
  }

  void stream(const std::string& last_event_id, httplib::Response& response) {
    // Shared: the library copies what it calls.
    const auto place = std::make_shared<StreamPlace>(streams_);
    if (!place->has()) {
      response.status = 503;
      response.set_header("Retry-After", "10");
      response.set_content(text_of({{"error", "too many pages are open"}}), "application/json");
      return;
    }
    const auto seen = std::make_shared<std::uint64_t>(
        watch_.see([&](const Sight& sight) { return version_seen(sight, last_event_id); }));
    const auto beat = std::make_shared<Clock::time_point>(Clock::machine().now());
    response.set_header("X-Accel-Buffering", "no");
    response.set_chunked_content_provider("text/event-stream", [=, this](std::size_t, httplib::DataSink& sink) {
      return !watch_.ended() && tell(*seen, *beat, sink) && place->has();
    });
  }

  /// One message, or after a while without one a sign of life; false where the reader is gone.
  bool tell(std::uint64_t& seen, Clock::time_point& beat, httplib::DataSink& sink) {
    std::string text;
    if (watch_.wait_beyond(seen, kBetweenMessages) > seen) {
      const std::shared_ptr<const RunMessage> message = site_.run_message();
      seen = message->version;
      text = stream_message(*message);
    } else if (Clock::machine().now() - beat >= kHeartbeat) {
      text = ": still here\n\n";
    }
    if (text.empty()) {
      return sink.is_writable();
    }
    beat = Clock::machine().now();
    if (!sink.write(text.data(), text.size())) {
      return false;
    }
    // What changes meanwhile is told together.
    watch_.wait_beyond(std::numeric_limits<std::uint64_t>::max(), kBetweenMessages);
    return true;
  }

  RunWatch& watch_;
  Site site_;
  net::Patience patience_;
  std::atomic<int> streams_ = 0;
};

/// A name under which others find this machine.
std::string shown_host(const std::string& address) {
  std::string host = address.substr(0, address.rfind(':'));
  if (host == "0.0.0.0" || host == "[::]") {
    std::array<char, 256> name{};
    host = ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "localhost";
  }
  return host;
}

std::string token_for(const DashboardOptions& options) {
  if (!options.token_file.empty()) {
    return read_token(options.token_file);
  }
  return net::is_loopback(options.address) ? "" : random_token();
}

}  // namespace
}  // namespace dashboard

class Dashboard::Parts {
 public:
  explicit Parts(const DashboardOptions& options)
      : token(dashboard::token_for(options)),
        entrance_(options.address),
        url(fmt::format("http://{}:{}/{}", dashboard::shown_host(options.address), port(),
                        token.empty() || !options.token_file.empty() ? "" : "?token=" + token)),
        watch_(options.folder, options.live),
        pages_(watch_, token, entrance_.over()) {
    if (!net::is_loopback(options.address)) {
      leave_silent_ones_outside();
    }
    try {
      for (int i = 0; i < dashboard::kWorkers; ++i) {
        workers_.emplace_back([this] { work(); });
        fault_point("dashboard.worker_began");
      }
    } catch (...) {
      end();  // or those that began would wait at the door for ever, and we for them
      throw;
    }
  }
  ~Parts() { end(); }
  Parts(const Parts&) = delete;
  Parts& operator=(const Parts&) = delete;

  [[nodiscard]] int port() const { return entrance_.port(); }

  const std::string token;

 private:
  /// Wakes everybody who waits, for good.
  void end() {
    watch_.end();
    entrance_.end();
  }
  /// Browsers speak first. Without this a page works all the same.
  void leave_silent_ones_outside() {
    for (const net::Descriptor& listener : entrance_.listeners()) {
      static_cast<void>(::setsockopt(listener.get(), IPPROTO_TCP, TCP_DEFER_ACCEPT, &dashboard::kSilentSeconds,
                                     sizeof(dashboard::kSilentSeconds)));
    }
  }
  void work() {
    while (std::optional<net::Entrance::Caller> caller = entrance_.next()) {
      const dashboard::PeerPlaces::Place place(places_, caller->peer);
      if (place.has()) {
        pages_.answer(std::move(caller->connection));
      }
      // Otherwise it is closed at once.
    }
  }

  net::Entrance entrance_;

 public:
  const std::string url;

 private:
  dashboard::RunWatch watch_;
  dashboard::Pages pages_;
  dashboard::PeerPlaces places_{dashboard::kOfOneAddress};
  std::vector<std::jthread> workers_;  // last: they use all of the above
};

bool has_dashboard() { return true; }
std::string_view why_no_dashboard() { return ""; }

Dashboard::Dashboard(const DashboardOptions& options) : parts_(std::make_unique<Parts>(options)) {}
Dashboard::~Dashboard() = default;
int Dashboard::port() const { return parts_->port(); }
std::string Dashboard::url() const { return parts_->url; }
const std::string& Dashboard::token() const { return parts_->token; }

}  // namespace feroma
