#include "dashboard/site.h"

#include <zlib.h>

#include "core/endpoint.h"
#include "dashboard/assets.h"
#include "dashboard/json.h"
#include "dashboard/token.h"
#include "feroma/core/error.h"

namespace feroma::dashboard {
namespace {

/// Browsers keep one cookie of a name for all ports of a machine, and there may be several pages on it.
std::string cookie_name(const std::string& host) {
  const std::size_t colon = host.rfind(':');
  const std::string port = colon == std::string::npos ? "" : host.substr(colon + 1);
  return "feroma_token" + (port.find_first_not_of("0123456789") == std::string::npos ? port : "");
}

Answer refusal(int status, const std::string& why) {
  Answer answer;
  answer.status = status;
  answer.body = text_of({{"error", why}});
  return answer;
}

std::string unzipped(std::string_view gzip) {
  z_stream stream{};
  require(::inflateInit2(&stream, 15 + 16) == Z_OK, ErrorCode::internal, "zlib does not start");
  std::string out;
  std::string piece(std::size_t{1} << 16, '\0');
  // zlib reads through a pointer that could write.
  stream.next_in = const_cast<Bytef*>(reinterpret_cast<const Bytef*>(gzip.data()));
  stream.avail_in = static_cast<uInt>(gzip.size());
  int state = Z_OK;
  while (state == Z_OK) {
    stream.next_out = reinterpret_cast<Bytef*>(piece.data());
    stream.avail_out = static_cast<uInt>(piece.size());
    state = ::inflate(&stream, Z_NO_FLUSH);
    out.append(piece, 0, piece.size() - stream.avail_out);
  }
  ::inflateEnd(&stream);
  require(state == Z_STREAM_END, ErrorCode::internal, "a built-in file of the page is damaged");
  return out;
}

Answer asset_answer(const Asset& asset, const Asked& asked) {
  Answer answer;
  answer.type = asset.type;
  // Names of all but the page itself change with their content.
  answer.headers.emplace_back("Cache-Control", asset.path == "/" ? "no-cache" : "private, max-age=31536000, immutable");
  answer.headers.emplace_back("Vary", "Accept-Encoding");
  if (asked.accept_encoding.find("gzip") != std::string::npos) {
    answer.headers.emplace_back("Content-Encoding", "gzip");
    answer.body = asset.gzip;
  } else {
    answer.body = unzipped(asset.gzip);
  }
  return answer;
}

bool is_own_name(const std::string& host) {
  return host.empty() ||
         net::is_loopback(host.back() == ']' || host.find(':') == std::string::npos ? host + ":0" : host);
}

}  // namespace

bool Site::knows_token(const Asked& asked) const {
  constexpr std::string_view kBearer = "Bearer ";
  const std::string_view header = asked.authorization;
  return same_token(token_, cookie_value(asked.cookie, cookie_name(asked.host))) ||
         (header.starts_with(kBearer) && same_token(token_, header.substr(kBearer.size())));
}

Answer Site::routed(const Asked& asked) {
  if (asked.method != "GET" && asked.method != "HEAD") {
    Answer answer = refusal(405, "this page is read only");
    answer.headers.emplace_back("Allow", "GET, HEAD");
    return answer;
  }
  if (token_.empty() && !is_own_name(asked.host)) {
    return refusal(421, "this page answers to localhost only");
  }
  if (!token_.empty()) {
    const auto given = asked.query.find("token");
    if (given != asked.query.end() && same_token(token_, given->second)) {
      // It becomes a cookie, so that it stands in no address that is kept or shown.
      Answer answer = refusal(303, "go on without the token");
      answer.headers.emplace_back("Location", "/");
      answer.headers.emplace_back(
          "Set-Cookie", fmt::format("{}={}; Path=/; HttpOnly; SameSite=Lax", cookie_name(asked.host), token_));
      return answer;
    }
    if (!knows_token(asked)) {
      Answer answer = refusal(401, "a token is needed: open the address that was printed at the start");
      answer.headers.emplace_back("WWW-Authenticate", "Bearer");
      return answer;
    }
  }
  for (const Asset& asset : assets()) {
    if (asset.path == asked.path) {
      return asset_answer(asset, asked);
    }
  }
  return data(asked);
}

Answer Site::data(const Asked& asked) {
  Answer answer;
  if (asked.path == "/api/v1/run") {
    answer.body = run_message()->body;
  } else if (asked.path == "/api/v1/history") {
    answer.body = watch_.see([&](const Sight& sight) { return history_answer(sight, asked.query); });
  } else if (asked.path == "/api/v1/clients") {
    answer.body = watch_.see([&](const Sight& sight) { return clients_answer(sight, asked.query); });
  } else if (asked.path == "/api/v1/mixing") {
    answer.body = mixing_answer(watch_, asked.query);
  } else if (asked.path == "/api/v1/profiles") {
    answer.body = profiles_.answer(watch_, asked.query);
  } else if (asked.path == "/api/v1/stream") {
    answer.type = "text/event-stream";
    answer.stream = true;
  } else {
    return refusal(404, "there is nothing here; the page is at /");
  }
  return answer;
}

Answer Site::answer(const Asked& asked) {
  Answer answer;
  try {
    answer = routed(asked);
  } catch (const BadRequest& error) {
    answer = refusal(400, error.what());
  } catch (const Error& error) {
    // Files that are gone or damaged; the page shows why.
    answer = refusal(error.code() == ErrorCode::internal ? 500 : 404, error.what());
  }
  if (answer.type == "application/json" || answer.stream) {
    answer.headers.emplace_back("Cache-Control", "no-store");
  }
  answer.headers.insert(
      answer.headers.end(),
      {{"Content-Security-Policy",
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"},
       {"X-Content-Type-Options", "nosniff"},
       {"X-Frame-Options", "DENY"},
       {"Referrer-Policy", "no-referrer"},
       {"Cross-Origin-Opener-Policy", "same-origin"},
       {"Cross-Origin-Resource-Policy", "same-origin"}});
  return answer;
}

std::shared_ptr<const RunMessage> Site::run_message() {
  return watch_.see([this](const Sight& sight) {
    if (message_ == nullptr || message_->epoch != sight.epoch || message_->version != sight.version) {
      message_ = std::make_shared<const RunMessage>(RunMessage{sight.epoch, sight.version, run_answer(sight)});
    }
    return message_;
  });
}

std::string stream_message(const RunMessage& message) {
  return fmt::format("id: {}-{}\nevent: run\ndata: {}\n\n", message.epoch, message.version, message.body);
}

std::uint64_t version_seen(const Sight& sight, const std::string& last_event_id) {
  // Anything that is not the present state is answered with it: there is nothing older to send again.
  return last_event_id == fmt::format("{}-{}", sight.epoch, sight.version) ? sight.version : 0;
}

}  // namespace feroma::dashboard
