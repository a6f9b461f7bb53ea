#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "dashboard/array_answers.h"

namespace feroma::dashboard {

/// A request, as far as it matters.
struct Asked {
  std::string method = "GET";
  std::string path = "/";
  Query query = {};
  std::string host = {};  ///< headers, empty where absent
  std::string cookie = {};
  std::string authorization = {};
  std::string accept_encoding = {};
};

/// What is said to it.
struct Answer {
  int status = 200;
  std::string type = "application/json";
  std::string body = {};
  std::vector<std::pair<std::string, std::string>> headers = {};
  bool stream = false;  ///< of events, without end, instead of a body
};

/// A run as everybody is told of it at one version.
struct RunMessage {
  std::uint64_t epoch = 0;
  std::uint64_t version = 0;
  std::string body = {};  ///< the answer of `run`
};

/// What is at which address of the page, and who may see it; knows nothing of connections. From any thread.
class Site {
 public:
  /// With a token, whoever does not know it sees nothing. Without, only who calls this machine by its own name:
  /// another name may be a page elsewhere that was pointed here.
  Site(const RunWatch& watch, std::string token) : watch_(watch), token_(std::move(token)) {}

  [[nodiscard]] Answer answer(const Asked& asked);
  /// What is known now, written once for all who ask. Shared: who sends it may be slower than the next change.
  [[nodiscard]] std::shared_ptr<const RunMessage> run_message();

 private:
  [[nodiscard]] Answer routed(const Asked& asked);
  [[nodiscard]] Answer data(const Asked& asked);
  [[nodiscard]] bool knows_token(const Asked& asked) const;

  const RunWatch& watch_;
  std::string token_;
  ProfileMap profiles_;
  std::shared_ptr<const RunMessage> message_;  ///< the last one; the watch's lock guards it
};

/// One message of a stream of events.
[[nodiscard]] std::string stream_message(const RunMessage& message);
/// The version that a page has seen, from the id of the last message it got; 0 where that says nothing here.
[[nodiscard]] std::uint64_t version_seen(const Sight& sight, const std::string& last_event_id);

}  // namespace feroma::dashboard
