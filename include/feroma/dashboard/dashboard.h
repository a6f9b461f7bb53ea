#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>

namespace feroma {

/// What a server that is running can add to its files.
struct LiveStatus {
  std::string health;                                    ///< a JSON object, shown as it is
  std::map<std::uint32_t, double> heard;                 ///< seconds since each connected client was heard, by id
  std::map<std::uint32_t, std::uint64_t> refusals = {};  ///< how often a client was refused something, by id
};

struct DashboardOptions {
  std::filesystem::path folder;            ///< of a run, or the state of a server; its files may come later
  std::string address = "127.0.0.1:7490";  ///< port 0 takes a free one
  std::filesystem::path token_file;        ///< whoever asks must know its first line; empty: see Dashboard::token
  std::function<LiveStatus()> live = {};   ///< called about once a second, from one thread
};

/// Whether this build has the page.
[[nodiscard]] bool has_dashboard();
/// Why it has not; empty where it has.
[[nodiscard]] std::string_view why_no_dashboard();

/**
 * The live page over a run's folder: reads what is written there and shows it over HTTP, on threads of its own. Nothing
 * is ever written. An `unsupported` error where this build has no page.
 */
class Dashboard {
 public:
  explicit Dashboard(const DashboardOptions& options);
  ~Dashboard();
  Dashboard(const Dashboard&) = delete;
  Dashboard& operator=(const Dashboard&) = delete;

  [[nodiscard]] int port() const;
  /// Where people find it, with the token where it was made up: one from a file is known, and should stand in no log.
  [[nodiscard]] std::string url() const;
  /// What must be known to read the page; empty on loopback without a token file. Random where no file was given.
  [[nodiscard]] const std::string& token() const;

 private:
  class Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace feroma
