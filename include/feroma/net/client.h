#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "feroma/core/clock.h"
#include "feroma/core/stop.h"
#include "feroma/net/client_data.h"
#include "feroma/net/note.h"
#include "feroma/privacy/options.h"

namespace feroma {

/// How a client reaches its federation, and where it keeps what it must not lose.
struct ClientPlan {
  std::string server = "127.0.0.1:7443";
  std::filesystem::path authority;    ///< the federation's ca.pem; empty: no encryption, on loopback only
  std::filesystem::path certificate;  ///< its own, and the key to it
  std::filesystem::path key;
  std::filesystem::path state;
  /// Which client this is: claimed where there are no certificates, else compared with what they say. Absent: whatever
  /// the certificate says.
  std::optional<std::uint32_t> id = {};
  PrivacyOptions privacy = {};         ///< the least that this client asks for
  std::filesystem::path witness = {};  ///< the file that counts what is told of the data; empty: there is none
  std::string data_name = {};          ///< of a visitor: what its data are called before the server, which counts by it
  double connect_seconds = 5;
  double first_pause_seconds = 0.5;  ///< between connections; doubles up to the longest, with full jitter
  double longest_pause_seconds = 20;
  const Clock* clock = &Clock::machine();  ///< every time above is by it, and what else a client waits for
  Note note = {};

  /// All three files by which a client and its server know each other.
  [[nodiscard]] bool has_certificates() const { return !authority.empty() && !certificate.empty() && !key.empty(); }
};

/// Works for the federation until it is finished; lost connections are made again. What the server or the client cannot
/// agree to is an error that says so, and being told to stop an `interrupted` one.
void run_client(const ClientPlan& plan, ClientData& data, const Stop& stop);

}  // namespace feroma
