#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "feroma/core/ids.h"

namespace feroma {

/// One line of the list: which certificate speaks for which client.
struct ClientEntry {
  ClientId id{};
  std::string name;
  std::string fingerprint;  ///< SHA-256 of the DER certificate, 64 lower-case hex digits
  bool revoked = false;
};

/// The clients that a server knows; ids, names and fingerprints are each unique.
class ClientList {
 public:
  ClientList() = default;
  explicit ClientList(std::vector<ClientEntry> entries);

  /// In the order of the file, with those that were revoked.
  [[nodiscard]] const std::vector<ClientEntry>& entries() const& { return entries_; }
  [[nodiscard]] std::vector<ClientEntry> entries() && { return std::move(entries_); }  // outlives a list just read
  /// Whose certificate this is. A revoked one is found too, so that it can be told from an unknown one: ask `revoked`.
  [[nodiscard]] std::optional<ClientEntry> find(std::string_view fingerprint) const;
  [[nodiscard]] std::optional<ClientEntry> find_name(std::string_view name) const;
  [[nodiscard]] std::optional<ClientEntry> find_id(ClientId id) const;
  /// The lowest id that nobody has or had.
  [[nodiscard]] ClientId free_id() const;

 private:
  std::vector<ClientEntry> entries_;
  std::map<std::string, std::size_t, std::less<>> by_fingerprint_;
};

/// Whether a client may have this name: 1 to 64 of A-Z, a-z, 0-9, dot, underscore and hyphen, no dot at the beginning.
[[nodiscard]] bool is_client_name(std::string_view name);

/// Reads lines of `ID NAME FINGERPRINT [revoked]`, where `#` begins a comment. A bad line is an invalid_data error that
/// names file, line, rule and value. A list that `feroma cert` wrote says in its first line how many clients are on it
/// and which SHA-256 the rest has; one that is not so is refused. Lists without that line are read as they are.
[[nodiscard]] ClientList read_client_list(const std::filesystem::path& path);
/// The same for whoever goes by the list: one on which nobody is was emptied or cut, and is refused too.
[[nodiscard]] ClientList read_valid_client_list(const std::filesystem::path& path);
/// Adds a line, or begins the list; comments and the order of lines stay. The caller keeps other writers out.
void add_to_client_list(const std::filesystem::path& path, const ClientEntry& entry);
/// Marks a client's line; one that is marked stays as it is, a name that is not there is an invalid_config error.
void revoke_in_client_list(const std::filesystem::path& path, std::string_view name);
/// Gives a client's line another fingerprint, and returns it as it is then; a name that is not there is an
/// invalid_config error.
ClientEntry renew_in_client_list(const std::filesystem::path& path, std::string_view name,
                                 std::string_view fingerprint);

}  // namespace feroma
