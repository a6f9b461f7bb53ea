#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "feroma/core/ids.h"
#include "feroma/net/client_list.h"

namespace feroma {

// A federation's certificates in one folder: those of its authority (ca), its server and its clients, and the list of
// clients. Keys are ECDSA P-256 and readable by their owner alone; every file is written whole or not at all. One
// process at a time may write in a folder, another one gets an io error.

/// A certificate and the private key to it.
struct CertificateFiles {
  std::filesystem::path certificate;
  std::filesystem::path key;
};

/// Where things lie in a folder, whether they are there or not.
[[nodiscard]] CertificateFiles authority_files(const std::filesystem::path& folder);
[[nodiscard]] CertificateFiles server_files(const std::filesystem::path& folder);
[[nodiscard]] CertificateFiles client_files(const std::filesystem::path& folder, std::string_view name);
[[nodiscard]] std::filesystem::path client_list_file(const std::filesystem::path& folder);

constexpr int kAuthorityDays = 3650;
/// Of servers and clients. None outlives its authority, however many days it is given.
constexpr int kCertificateDays = 365;

struct AuthorityOptions {
  std::string name = "Feroma federation";
  int days = kAuthorityDays;
};

/// Makes the folder and the authority in it; one that is there is never overwritten.
void make_authority(const std::filesystem::path& folder, const AuthorityOptions& options = {});

/// Certifies the server under the DNS names and IP addresses by which clients reach it, in place of the one before.
void issue_server(const std::filesystem::path& folder, const std::vector<std::string>& names,
                  int days = kCertificateDays);

/// Certifies a client and adds it to the list. Without an id it gets the lowest free one; a name or an id that was ever
/// given to a client of the list is refused.
ClientEntry issue_client(const std::filesystem::path& folder, const std::string& name, std::optional<ClientId> id = {},
                         int days = kCertificateDays);

/// Certifies a client of the list anew, with another key, under its name and number: from then on the list has the new
/// certificate and not the old one. The old files stay beside the new ones as NAME.pem.old-COUNT and
/// NAME.key.old-COUNT. Who was revoked is refused. The list comes last: after a crash it has the old certificate, and
/// one says it again.
ClientEntry renew_client(const std::filesystem::path& folder, const std::string& name, int days = kCertificateDays);

/// Marks a client in the list; its certificate stays valid, but servers that read the list refuse it.
void revoke_client(const std::filesystem::path& folder, const std::string& name);

/// SHA-256 of the DER form of the first certificate in `pem`, as 64 lower-case hex digits.
[[nodiscard]] std::string fingerprint_of_pem(std::string_view pem);

/// What a certificate says.
struct CertificateInfo {
  std::string subject;             ///< for example "O=Feroma, CN=Feroma federation"
  std::vector<std::string> names;  ///< DNS names and IP addresses
  std::string fingerprint;
  std::string not_before;  ///< for example "2026-01-31 12:00:00 UTC"
  std::string not_after;
  int days_left = 0;  ///< whole days; negative once it has expired
  bool is_authority = false;
};

[[nodiscard]] CertificateInfo describe_certificate(const std::filesystem::path& path);

/// Refuses what no connection can be made with: files that cannot be read, a key to another certificate.
void require_usable(const std::filesystem::path& authority, const CertificateFiles& own);

/// What would keep a server with this folder from working, or will within 14 days; one sentence each, none if all is
/// well. The authority's key and clients' files need not be there, but those that are there are examined too.
[[nodiscard]] std::vector<std::string> check_certificates(const std::filesystem::path& folder);

}  // namespace feroma
