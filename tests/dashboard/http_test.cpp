#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "dashboard/assets.h"
#include "dashboard/site.h"
#include "dashboard/token.h"
#include "feroma/core/files.h"
#include "tests/clocks.h"
#include "tests/core/expect_error.h"
#include "tests/dashboard/caller.h"
#include "tests/dashboard/sample_folder.h"

namespace feroma::dashboard {
namespace {

using test::Caller;
using test::error_of;
using test::get;
using test::holds;
using test::TempFolder;
using test::wait_until;
using test::write_sample;

constexpr const char* kToken = "0123456789abcdef";

Asked ask_for(const std::string& path) {
  Asked asked;
  asked.path = path;
  asked.host = "localhost:7490";
  return asked;
}

std::string header(const Answer& answer, const std::string& name) {
  for (const auto& [key, value] : answer.headers) {
    if (key == name) {
      return value;
    }
  }
  return "";
}

class Pages : public ::testing::Test {
 protected:
  Pages() {
    write_sample(folder_.path(), 3, 4);
    EXPECT_TRUE(wait_until(watch_, [](const Sight& s) { return s.read > 0 && s.read == s.size; }));
  }
  TempFolder folder_;
  RunWatch watch_{folder_.path(), {}, test::fast_clock()};
};

TEST_F(Pages, EveryAnswerForbidsWhatThePageDoesNotNeed) {
  Site site(watch_, "");
  for (const char* path : {"/", "/api/v1/run", "/nowhere", "/api/v1/mixing?x"}) {
    const Answer answer = site.answer(ask_for(path));
    const std::string policy = header(answer, "Content-Security-Policy");
    EXPECT_TRUE(holds(policy, "default-src 'none'")) << path;
    EXPECT_TRUE(holds(policy, "frame-ancestors 'none'"));
    EXPECT_EQ(policy.find("unsafe"), std::string::npos);
    EXPECT_EQ(policy.find("http"), std::string::npos);
    EXPECT_EQ(header(answer, "X-Content-Type-Options"), "nosniff");
    EXPECT_EQ(header(answer, "X-Frame-Options"), "DENY");
  }
}

TEST_F(Pages, ThePageAndItsFilesHaveTheirTypesAndAreKeptAsLongAsTheyAreTrue) {
  Site site(watch_, "");
  Answer page = site.answer(ask_for("/"));
  EXPECT_EQ(page.type, "text/html; charset=utf-8");
  EXPECT_TRUE(holds(page.body, "<!doctype html>"));
  EXPECT_EQ(header(page, "Cache-Control"), "no-cache");
  bool script = false;
  for (const Asset& asset : assets()) {
    if (asset.path.ends_with(".js")) {
      script = true;
      Asked asked = ask_for(std::string(asset.path));
      EXPECT_TRUE(holds(page.body, asset.path));
      EXPECT_TRUE(holds(header(site.answer(asked), "Cache-Control"), "immutable"));
      EXPECT_GT(site.answer(asked).body.size(), 2 * asset.gzip.size());
      asked.accept_encoding = "br, gzip";
      EXPECT_EQ(site.answer(asked).body, asset.gzip);
      EXPECT_EQ(header(site.answer(asked), "Content-Encoding"), "gzip");
    }
  }
  EXPECT_TRUE(script);
}

TEST_F(Pages, OnlyReadingIsPossible) {
  Site site(watch_, "");
  for (const char* method : {"POST", "PUT", "DELETE", "PATCH", "OPTIONS"}) {
    Asked asked = ask_for("/api/v1/run");
    asked.method = method;
    EXPECT_EQ(site.answer(asked).status, 405) << method;
    EXPECT_EQ(header(site.answer(asked), "Allow"), "GET, HEAD");
  }
}

TEST_F(Pages, WhatCannotBeAnsweredSaysWhy) {
  Site site(watch_, "");
  EXPECT_EQ(site.answer(ask_for("/etc/passwd")).status, 404);
  EXPECT_EQ(site.answer(ask_for("/../manifest.json")).status, 404);
  Asked asked = ask_for("/api/v1/clients");
  asked.query = {{"sort", "x"}};
  EXPECT_EQ(site.answer(asked).status, 400);
  EXPECT_TRUE(holds(site.answer(asked).body, "sort must be one of"));
  std::filesystem::remove(folder_ / "mixing/feroma-auto-3.npy");
  EXPECT_EQ(site.answer(ask_for("/api/v1/mixing")).status, 404);
}

TEST_F(Pages, WithoutATokenOnlyThisMachinesOwnNamesAreAnsweredTo) {
  Site site(watch_, "");
  for (const char* host : {"localhost", "localhost:1", "127.0.0.1:7490", "[::1]:7490", "[::1]", ""}) {
    Asked asked = ask_for("/");
    asked.host = host;
    EXPECT_EQ(site.answer(asked).status, 200) << host;
  }
  for (const char* host : {"evil.example", "evil.example:7490", "127.evil.example", "localhost.evil.example:1"}) {
    Asked asked = ask_for("/");
    asked.host = host;
    EXPECT_EQ(site.answer(asked).status, 421) << host;
  }
}

TEST_F(Pages, WithATokenNothingIsShownToWhoDoesNotKnowIt) {
  Site site(watch_, kToken);
  for (const char* path : {"/", "/api/v1/run", "/api/v1/stream", "/nowhere"}) {
    EXPECT_EQ(site.answer(ask_for(path)).status, 401) << path;
  }
  Asked wrong = ask_for("/");
  wrong.query = {{"token", "0123456789abcdeX"}};
  EXPECT_EQ(site.answer(wrong).status, 401);

  Asked first = ask_for("/");
  first.query = {{"token", kToken}};
  first.host = "machine.example:7490";
  const Answer answer = site.answer(first);
  EXPECT_EQ(answer.status, 303);
  EXPECT_EQ(header(answer, "Location"), "/");
  const std::string cookie = header(answer, "Set-Cookie");
  EXPECT_TRUE(holds(cookie, "HttpOnly; SameSite=Lax"));

  Asked again = ask_for("/");
  again.cookie = "other=1; " + cookie.substr(0, cookie.find(';'));
  EXPECT_EQ(site.answer(again).status, 200);
  again.host = "localhost:7491";  // another page on this machine, whose cookies come along
  EXPECT_EQ(site.answer(again).status, 401);
  Asked bearer = ask_for("/api/v1/run");
  bearer.authorization = std::string("Bearer ") + kToken;
  EXPECT_EQ(site.answer(bearer).status, 200);
  bearer.authorization = std::string("Basic ") + kToken;
  EXPECT_EQ(site.answer(bearer).status, 401);
}

TEST_F(Pages, WhatIsKnownIsWrittenOnceForAllWhoAsk) {
  Site site(watch_, "");
  const std::shared_ptr<const RunMessage> first = site.run_message();
  EXPECT_EQ(site.run_message(), first);
  EXPECT_EQ(site.answer(ask_for("/api/v1/run")).body, first->body);
  EXPECT_EQ(stream_message(*first),
            fmt::format("id: {}-{}\nevent: run\ndata: {}\n\n", first->epoch, first->version, first->body));
  test::append(folder_ / "events.jsonl", "{\"event\":\"run_finished\",\"seconds\":1}\n");
  ASSERT_TRUE(wait_until(watch_, [](const Sight& s) { return s.run.finished; }));
  EXPECT_GT(site.run_message()->version, first->version);
  EXPECT_TRUE(holds(site.run_message()->body, "\"state\":\"finished\""));
  EXPECT_TRUE(holds(first->body, "\"state\":\"running\"")) << "who still sends it has it whole";
}

TEST(Token, IsRandomAndComparedWhole) {
  EXPECT_EQ(random_token().size(), 32U);
  EXPECT_NE(random_token(), random_token());
  EXPECT_TRUE(same_token(kToken, kToken));
  for (const char* other : {"", "0", "0123456789abcde", "0123456789abcdef0", "0123456789abcdeX", "X123456789abcdef"}) {
    EXPECT_FALSE(same_token(kToken, other)) << other;
  }
  EXPECT_EQ(cookie_value("a=1;b=2; c=3", "b"), "2");
  EXPECT_EQ(cookie_value("ab=1", "b"), "");
  EXPECT_EQ(cookie_value("", "b"), "");
}

TEST(Token, AFileMustHoldOneThatIsWorthIt) {
  const TempFolder folder;
  const auto read = [&](std::string_view text) {
    write_file_atomically(folder / "token", text);
    return read_token(folder / "token");
  };
  EXPECT_EQ(read("0123456789abcdef\nmore"), kToken);
  for (const char* text : {"", "short\n", "with a space in it\n", "semicolon;semicolon\n"}) {
    const std::string said = error_of(ErrorCode::invalid_config, [&] { static_cast<void>(read(text)); });
    EXPECT_TRUE(holds(said, "must be 16 to 256 letters"));
    EXPECT_EQ(said.find("semicolon;"), std::string::npos);  // it is a secret even if it is a bad one
  }
  EXPECT_TRUE(holds(error_of(ErrorCode::io, [&] { static_cast<void>(read_token(folder / "none")); }), "none"));
}

class Http : public ::testing::Test {
 protected:
  Http() { write_sample(folder_.path(), 3, 4); }
  [[nodiscard]] DashboardOptions options() const { return {folder_.path(), "127.0.0.1:0", {}, {}}; }
  TempFolder folder_;
};

TEST_F(Http, ServesThePageAndItsDataAndSaysWhere) {
  const Dashboard dashboard(options());
  EXPECT_EQ(dashboard.url(), fmt::format("http://127.0.0.1:{}/", dashboard.port()));
  EXPECT_EQ(dashboard.token(), "");
  EXPECT_TRUE(holds(get(dashboard.port(), "/"), "HTTP/1.1 200 OK"));
  EXPECT_TRUE(holds(get(dashboard.port(), "/api/v1/run"), "Content-Type: application/json"));
  Caller head(dashboard.port());
  head.say("HEAD / HTTP/1.1\r\nHost: localhost\r\n\r\n");
  const std::string answer = head.hear();
  EXPECT_TRUE(answer.ends_with("\r\n\r\n")) << answer;
}

TEST_F(Http, WhatIsNoRequestEndsNothing) {
  const Dashboard dashboard(options());
  for (const std::string& text : {std::string("\r\n\r\n"), std::string("GET\r\n\r\n"), std::string("\x16\x03\x01\x02"),
                                  "GET /" + std::string(9000, 'a') + " HTTP/1.1\r\n\r\n",
                                  "GET / HTTP/1.1\r\n" + std::string(20000, 'h') + "\r\n\r\n",
                                  std::string("POST / HTTP/1.1\r\nContent-Length: 99999999\r\n\r\nx")}) {
    Caller caller(dashboard.port());
    caller.say(text);
  }
  EXPECT_TRUE(holds(get(dashboard.port(), "/api/v1/run"), "200 OK"));
}

/// What comes behind the headers.
std::string body_of(const std::string& answer) {
  const std::size_t end = answer.find("\r\n\r\n");
  return end == std::string::npos ? "" : answer.substr(end + 4);
}

TEST_F(Http, NobodyGetsMoreThanTheAnswerByAskingForARangeOfIt) {
  DashboardOptions open = options();
  open.address = "0.0.0.0:0";
  const Dashboard dashboard(open);
  const std::string refusal = body_of(get(dashboard.port(), "/"));
  EXPECT_TRUE(holds(refusal, "a token is needed"));
  std::string many = "bytes=0-1";
  while (many.size() < 8000) {
    many += ",0-9999";
  }
  for (const std::string& range : {std::string("bytes=0-100000"), std::string("bytes=500-600"),
                                   std::string("bytes=0-9999,0-9999"), std::string("bytes=-5"), many}) {
    const std::string answer = get(dashboard.port(), "/", "Range: " + range + "\r\n");
    EXPECT_TRUE(holds(answer, "401")) << range.substr(0, 40);
    EXPECT_EQ(body_of(answer), refusal) << range.substr(0, 40);
  }
  const std::string hostile = "Range: bytes=" + std::string(8000, '-') + "\r\n";
  EXPECT_LE(body_of(get(dashboard.port(), "/", hostile)).size(), refusal.size());
}

TEST_F(Http, AStreamTellsOfChangesAndGoesOnWhereItWasLeft) {
  const Dashboard dashboard(options());
  std::string id;
  {
    Caller page(dashboard.port());
    page.say("GET /api/v1/stream HTTP/1.1\r\nHost: localhost\r\n\r\n");
    std::string heard = page.hear("\"rounds\":3");
    EXPECT_TRUE(holds(heard, "text/event-stream"));
    const std::size_t at = heard.rfind("id: ") + 4;
    id = heard.substr(at, heard.find('\n', at) - at);
    test::append(folder_ / "events.jsonl", "{\"event\":\"run_finished\",\"seconds\":1}\n");
    EXPECT_TRUE(holds(page.hear("\"state\":\"finished\""), "\"state\":\"finished\""));
  }
  // One that missed the change is told at once; one that knows it is left in peace.
  Caller late(dashboard.port());
  late.say("GET /api/v1/stream HTTP/1.1\r\nHost: localhost\r\nLast-Event-ID: " + id + "\r\n\r\n");
  const std::string heard = late.hear("\n\n");
  EXPECT_TRUE(holds(heard, "finished"));
  const std::size_t at = heard.rfind("id: ") + 4;
  Caller up_to_date(dashboard.port());
  up_to_date.say("GET /api/v1/stream HTTP/1.1\r\nHost: localhost\r\nLast-Event-ID: " +
                 heard.substr(at, heard.find('\n', at) - at) + "\r\n\r\n");
  EXPECT_EQ(up_to_date.hear("\ndata:", 1200).find("\ndata:"), std::string::npos);
}

TEST_F(Http, ThereAreOnlySoManyStreamsAndOthersAreStillServed) {
  const Dashboard dashboard(options());
  std::vector<std::unique_ptr<Caller>> pages;
  for (int i = 0; i < 12; ++i) {
    pages.push_back(std::make_unique<Caller>(dashboard.port()));
    pages.back()->say("GET /api/v1/stream HTTP/1.1\r\nHost: localhost\r\n\r\n");
    EXPECT_TRUE(holds(pages.back()->hear("\ndata:"), "200 OK"));
  }
  const std::string full = get(dashboard.port(), "/api/v1/stream");
  EXPECT_TRUE(holds(full, "503"));
  EXPECT_TRUE(holds(full, R"({"error":"too many pages are open"})"));
  EXPECT_TRUE(holds(get(dashboard.port(), "/api/v1/run"), "200 OK"));
  pages.clear();  // their places are free again once it is noticed
  std::string again;
  for (int i = 0; i < 50 && again.find("200 OK") == std::string::npos; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    Caller page(dashboard.port());
    page.say("GET /api/v1/stream HTTP/1.1\r\nHost: localhost\r\n\r\n");
    again = page.hear("\r\n\r\n");
  }
  EXPECT_TRUE(holds(again, "200 OK"));
}

TEST_F(Http, ElsewhereThanOnLoopbackATokenIsMadeUp) {
  DashboardOptions open = options();
  open.address = "0.0.0.0:0";
  const Dashboard dashboard(open);
  EXPECT_EQ(dashboard.token().size(), 32U);
  EXPECT_TRUE(holds(dashboard.url(), "/?token=" + dashboard.token()));
  EXPECT_TRUE(holds(get(dashboard.port(), "/api/v1/run"), "401"));
  EXPECT_TRUE(
      holds(get(dashboard.port(), "/api/v1/run", "Authorization: Bearer " + dashboard.token() + "\r\n"), "200"));
}

TEST_F(Http, ABadAddressOrOneThatIsTakenIsAnError) {
  DashboardOptions bad = options();
  bad.address = "nonsense";
  EXPECT_TRUE(
      holds(error_of(ErrorCode::invalid_config, [&] { const Dashboard page(bad); }), "an address must be HOST:PORT"));
  const Dashboard first(options());
  bad.address = fmt::format("127.0.0.1:{}", first.port());
  EXPECT_TRUE(holds(error_of(ErrorCode::io, [&] { const Dashboard page(bad); }), "in use"));
}

TEST_F(Http, EndsAtOnceWhileSomebodyDoesNotReadTheAnswer) {
  write_sample(folder_ / "large", 3, 2);
  for (int i = 0; i < 200; ++i) {
    test::append(folder_ / "large/events.jsonl", "{\"event\":\"run_started\",\"config\":{\"" + std::to_string(i) +
                                                     "\":\"" + std::string(100'000, 'x') + "\"}}\n");
  }
  DashboardOptions large = options();
  large.folder = folder_ / "large";
  auto dashboard = std::make_unique<Dashboard>(large);
  while (get(dashboard->port(), "/api/v1/run").size() < 15'000'000) {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  Caller stalled(dashboard->port());
  stalled.say("GET /api/v1/run HTTP/1.1\r\nHost: localhost\r\n\r\n");
  std::this_thread::sleep_for(std::chrono::milliseconds(100));  // until the buffers are full
  const auto began = std::chrono::steady_clock::now();
  dashboard.reset();
  EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(5));
}

TEST_F(Http, EndsAtOnceWhileStreamsAreOpen) {
  auto dashboard = std::make_unique<Dashboard>(options());
  Caller page(dashboard->port());
  page.say("GET /api/v1/stream HTTP/1.1\r\nHost: localhost\r\n\r\n");
  EXPECT_TRUE(holds(page.hear("\ndata:"), "data:"));
  const auto began = std::chrono::steady_clock::now();
  dashboard.reset();
  EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(5));
}

/// Streams that have nothing to tell say every ten seconds that they are there.
class HttpSlow : public Http {};

TEST_F(HttpSlow, AQuietStreamShowsThatItLives) {
  test::append(folder_ / "events.jsonl",
               "{\"event\":\"run_finished\",\"seconds\":1}\n");  // or it will be found stopped
  const Dashboard dashboard(options());
  Caller page(dashboard.port());
  page.say("GET /api/v1/stream HTTP/1.1\r\nHost: localhost\r\n\r\n");
  EXPECT_TRUE(holds(page.hear("\n: still here\n", 15000), ": still here"));
}

}  // namespace
}  // namespace feroma::dashboard
