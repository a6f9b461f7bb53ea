#include "feroma/net/certificates.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <span>

#include "core/posix_file.h"
#include "feroma/core/error.h"
#include "feroma/core/files.h"
#include "feroma/core/problems.h"
#include "net/x509.h"

namespace feroma {
namespace {

namespace fs = std::filesystem;

constexpr int kWarningDays = 14;
constexpr std::size_t kLongestAuthorityName = 64;
/// Part of an authority's name alone, so that no client's or server's name can be the same as its issuer's.
constexpr std::string_view kOrganisation = "Feroma";
/// Not a host's name: by which names the server is reached stands in a list of its own.
constexpr std::string_view kServerName = "Feroma server";

// ---- files ----

bool is_there(const fs::path& path) {
  std::error_code unknown;  // whoever reads or writes the file says why it cannot
  return fs::exists(path, unknown);
}

/// Keeps other writers out of the folder for as long as the result lives.
detail::PosixFile lock(const fs::path& folder) {
  detail::PosixFile file(folder / ".lock", O_RDWR | O_CREAT);
  require(file.try_lock(), ErrorCode::io, "{}: another process is writing here", folder.string());
  return file;
}

/// As write_file_atomically, but nobody else can read the file, not even before it has its name. Needs the lock.
void write_secret(const fs::path& path, std::string_view text) {
  const fs::path unfinished = path.parent_path() / fmt::format(".{}.unfinished", path.filename().string());
  std::error_code ignored;
  fs::remove(unfinished, ignored);  // of a writer that was killed
  const int created = ::open(unfinished.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, S_IRUSR | S_IWUSR);
  if (created < 0) {
    detail::fail_errno(path, "create", errno);
  }
  ::close(created);
  try {
    detail::PosixFile file(unfinished, O_WRONLY, path);
    file.write_all(std::as_bytes(std::span(text)));
    file.sync();
    file.close();
    if (::rename(unfinished.c_str(), path.c_str()) < 0) {
      detail::fail_errno(path, "replace", errno);
    }
  } catch (const Error&) {
    fs::remove(unfinished, ignored);
    throw;
  }
  detail::sync_folder(path.parent_path());
}

void write_identity(const CertificateFiles& files, const net::Identity& identity) {
  write_secret(files.key, net::pem_of(*identity.key));
  write_file_atomically(files.certificate, net::pem_of(*identity.certificate));
}

net::Certificate read_certificate(const fs::path& path) {
  return net::parse_certificate(read_text(path), path.string());
}

net::PrivateKey read_key(const fs::path& path) { return net::parse_key(read_text(path), path.string()); }

/// Without the list, numbers and names that were given to others would be given again.
ClientList known_clients(const fs::path& folder, std::string_view name) {
  const fs::path path = client_list_file(folder);
  if (is_there(path)) {
    return read_valid_client_list(path);
  }
  const fs::path certified = client_files(folder, name).certificate.parent_path();
  std::error_code unknown;
  for (const fs::directory_entry& entry : fs::directory_iterator(certified, unknown)) {
    require(entry.path().extension() != ".pem" || entry.path().stem() == name, ErrorCode::invalid_data,
            "{}: is missing, but {} was certified; restore the list from a backup or from the server, or move {} aside "
            "where nobody on it is to take part",
            path.string(), entry.path().string(), certified.string());
  }
  return {};
}

/// The folder's authority, fit to sign.
net::Identity read_authority(const fs::path& folder) {
  const CertificateFiles files = authority_files(folder);
  net::Identity authority{read_certificate(files.certificate), read_key(files.key)};
  require(net::belongs_to(*authority.key, *authority.certificate), ErrorCode::invalid_data, "{}: does not belong to {}",
          files.key.string(), files.certificate.string());
  const CertificateInfo info = net::info_of(*authority.certificate);
  require(info.is_authority, ErrorCode::invalid_data, "{}: is not the certificate of an authority",
          files.certificate.string());
  require(info.days_left >= 0, ErrorCode::invalid_config, "{}: expired on {}", files.certificate.string(),
          info.not_after);
  return authority;
}

net::Identity certify_client(const net::Identity& authority, const std::string& name, int days) {
  net::Wanted wanted{{}, name, days};
  wanted.purpose = "clientAuth";
  return net::certify(wanted, &authority);
}

/// Moves what is there beside itself, under a name that nothing has and that no client's files can have.
void set_aside(const CertificateFiles& files) {
  const auto aside = [](const fs::path& path, int count) {
    return path.parent_path() / fmt::format("{}.old-{}", path.filename().string(), count);
  };
  int count = 1;
  while (is_there(aside(files.certificate, count)) || is_there(aside(files.key, count))) {
    ++count;
  }
  for (const fs::path& path : {files.key, files.certificate}) {
    if (is_there(path)) {
      detail::rename_file(path, aside(path, count));
    }
  }
}

void require_authority(const fs::path& folder) {
  const CertificateFiles files = authority_files(folder);
  for (const fs::path& path : {files.certificate, files.key}) {
    require(is_there(path), ErrorCode::invalid_config,
            "{}: is missing; certificates are issued in the folder where `feroma cert authority` made the authority",
            path.string());
  }
}

std::string damaged_authority(const fs::path& path) {
  return fmt::format("{}: is damaged: its signature is not of what it says", path.string());
}

// ---- names ----

bool is_address(const std::string& name) {
  std::array<unsigned char, 16> bytes{};
  // The system's parser stops at a zero byte; what stands behind it must not pass unseen.
  return name.find('\0') == std::string::npos && (::inet_pton(AF_INET, name.c_str(), bytes.data()) == 1 ||
                                                  ::inet_pton(AF_INET6, name.c_str(), bytes.data()) == 1);
}

bool is_label(std::string_view label) {
  constexpr std::string_view kLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-";
  constexpr std::size_t kLongest = 63;
  return !label.empty() && label.size() <= kLongest && label.front() != '-' && label.back() != '-' &&
         label.find_first_not_of(kLetters) == std::string_view::npos;
}

bool is_host_name(std::string_view name) {
  constexpr std::size_t kLongest = 253;
  std::string_view rest = name;
  std::size_t dot = rest.find('.');
  for (; dot != std::string_view::npos; dot = rest.find('.')) {
    if (!is_label(rest.substr(0, dot))) {
      return false;
    }
    rest.remove_prefix(dot + 1);
  }
  // A last label of digits alone would be a mistyped address.
  return name.size() <= kLongest && is_label(rest) && rest.find_first_not_of("0123456789") != std::string_view::npos;
}

/// As OpenSSL's configuration writes alternative names. Names are checked, so none can smuggle in another.
std::string hosts_of(const std::vector<std::string>& names) {
  require(!names.empty(), ErrorCode::invalid_config,
          "a server needs at least one DNS name or IP address by which clients reach it");
  std::string hosts;
  for (const std::string& name : names) {
    const bool address = is_address(name);
    require(address || is_host_name(name), ErrorCode::invalid_config,
            "a server's name must be a DNS name or an IP address, got \"{}\"", name);
    hosts += fmt::format("{}{}:{}", hosts.empty() ? "" : ",", address ? "IP" : "DNS", name);
  }
  return hosts;
}

// ---- examination ----

/// Looks at everything in a folder and writes down what is wrong.
class Examination {
 public:
  explicit Examination(fs::path folder) : folder_(std::move(folder)) {}

  std::vector<std::string> run() {
    examine_authority();
    examine_server();
    examine_clients();
    return problems_.messages();
  }

 private:
  /// What `read` gives for a file that is there; nothing, and a problem, if it cannot be read.
  template <class Read>
  auto attempt(Read read, const fs::path& path) -> std::optional<decltype(read(path))> {
    try {
      return read(path);
    } catch (const Error& error) {
      problems_.add("{}", error.what());
      return std::nullopt;
    }
  }

  bool found(const fs::path& path) {
    std::error_code why;
    if (fs::exists(path, why)) {
      return true;
    }
    why ? problems_.add("{}: cannot read: {}", path.string(), why.message())
        : problems_.add("{}: is missing", path.string());
    return false;
  }

  net::Certificate certificate(const fs::path& path) {
    auto read = attempt(read_certificate, path);
    if (!read) {
      return nullptr;
    }
    const CertificateInfo info = net::info_of(**read);
    if (!net::has_begun(**read)) {
      problems_.add("{}: is not valid before {}; is the clock right?", path.string(), info.not_before);
    }
    if (info.days_left < 0) {
      problems_.add("{}: expired on {}", path.string(), info.not_after);
    } else if (info.days_left < kWarningDays) {
      problems_.add("{}: expires in {} days, on {}", path.string(), info.days_left, info.not_after);
    }
    return std::move(*read);
  }

  void examine_key(const CertificateFiles& files, const X509* certificate) {
    const auto key = attempt(read_key, files.key);
    if (key && certificate != nullptr && !net::belongs_to(**key, *certificate)) {
      problems_.add("{}: does not belong to {}", files.key.string(), files.certificate.string());
    }
    if (is_open_to_others(files.key)) {
      problems_.add("{}: must be open to its owner alone (chmod 600), but has mode {:04o}", files.key.string(),
                    static_cast<unsigned>(fs::status(files.key).permissions()));
    }
  }

  void examine_signature(const fs::path& path, X509& certificate) {
    if (authority_ != nullptr && !net::is_signed_by(certificate, *authority_)) {
      problems_.add("{}: is not signed by {}", path.string(), authority_files(folder_).certificate.string());
    }
  }

  void examine_authority() {
    const CertificateFiles files = authority_files(folder_);
    if (found(files.certificate)) {
      authority_ = certificate(files.certificate);
    }
    // What others are measured by must be right itself, or all of them would be called wrong.
    if (authority_ != nullptr && !net::info_of(*authority_).is_authority) {
      problems_.add("{}: is not the certificate of an authority", files.certificate.string());
      authority_ = nullptr;
    }
    if (authority_ != nullptr && !net::keeps_own_signature(*authority_)) {
      problems_.add("{}", damaged_authority(files.certificate));
      authority_ = nullptr;
    }
    if (is_there(files.key)) {  // it should not be on the server's machine, but may
      examine_key(files, authority_.get());
    }
  }

  void examine_server() {
    const CertificateFiles files = server_files(folder_);
    net::Certificate server;
    if (found(files.certificate)) {
      server = certificate(files.certificate);
    }
    if (server != nullptr) {
      examine_signature(files.certificate, *server);
      if (!net::is_for_servers(*server)) {
        problems_.add("{}: is not the certificate of a server", files.certificate.string());
      }
    }
    if (found(files.key)) {
      examine_key(files, server.get());
    }
  }

  void examine_clients() {
    const fs::path path = client_list_file(folder_);
    if (!found(path)) {
      return;
    }
    const std::optional<ClientList> list = attempt(read_valid_client_list, path);
    if (!list) {
      return;
    }
    std::size_t allowed = 0;
    for (const ClientEntry& entry : list->entries()) {
      if (!entry.revoked) {
        ++allowed;
        examine_client(entry);
      }
    }
    if (allowed == 0) {
      problems_.add("{}: names no client that may take part", path.string());
    }
  }

  void examine_client(const ClientEntry& entry) {
    const CertificateFiles files = client_files(folder_, entry.name);
    net::Certificate client;
    if (is_there(files.certificate)) {
      client = certificate(files.certificate);
    }
    if (client != nullptr) {
      examine_signature(files.certificate, *client);
      if (!net::is_for_clients(*client)) {
        problems_.add("{}: is not the certificate of a client", files.certificate.string());
      }
      if (net::info_of(*client).fingerprint != entry.fingerprint) {
        problems_.add("{}: has another fingerprint than in {}", files.certificate.string(),
                      client_list_file(folder_).string());
      }
    }
    if (is_there(files.key)) {
      examine_key(files, client.get());
    }
  }

  fs::path folder_;
  net::Certificate authority_;
  Problems problems_;
};

}  // namespace

CertificateFiles authority_files(const fs::path& folder) { return {folder / "ca.pem", folder / "ca.key"}; }

CertificateFiles server_files(const fs::path& folder) { return {folder / "server.pem", folder / "server.key"}; }

CertificateFiles client_files(const fs::path& folder, std::string_view name) {
  return {folder / "clients" / fmt::format("{}.pem", name), folder / "clients" / fmt::format("{}.key", name)};
}

fs::path client_list_file(const fs::path& folder) { return folder / "clients.list"; }

void make_authority(const fs::path& folder, const AuthorityOptions& options) {
  const std::string& name = options.name;
  const bool printable = std::none_of(name.begin(), name.end(),
                                      [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == '\x7f'; });
  require(printable && !name.empty() && name.size() <= kLongestAuthorityName, ErrorCode::invalid_config,
          "an authority's name must be 1 to {} bytes of printable text, got \"{}\"", kLongestAuthorityName, name);
  make_writable_folder(folder);
  const detail::PosixFile held = lock(folder);
  const CertificateFiles files = authority_files(folder);
  for (const fs::path& path : {files.certificate, files.key}) {
    require(!is_there(path), ErrorCode::invalid_config,
            "{}: is there already, and an authority is never overwritten; choose another folder", path.string());
  }
  net::Wanted wanted{kOrganisation, name, options.days};
  wanted.constraints = "critical,CA:TRUE,pathlen:0";
  wanted.usage = "critical,keyCertSign,cRLSign";
  write_identity(files, net::certify(wanted, /*issuer=*/nullptr));
}

void issue_server(const fs::path& folder, const std::vector<std::string>& names, int days) {
  const std::string hosts = hosts_of(names);
  require_authority(folder);
  const detail::PosixFile held = lock(folder);
  const net::Identity authority = read_authority(folder);
  net::Wanted wanted{{}, kServerName, days};
  wanted.purpose = "serverAuth";
  wanted.hosts = hosts;
  write_identity(server_files(folder), net::certify(wanted, &authority));
}

ClientEntry issue_client(const fs::path& folder, const std::string& name, std::optional<ClientId> id, int days) {
  require(is_client_name(name), ErrorCode::invalid_config,
          "a client's name must be 1 to 64 letters, digits, dots, underscores and hyphens and not begin with a dot, "
          "got \"{}\"",
          name);
  require_authority(folder);
  const detail::PosixFile held = lock(folder);
  const net::Identity authority = read_authority(folder);
  const fs::path list_path = client_list_file(folder);
  const ClientList list = known_clients(folder, name);
  if (const std::optional<ClientEntry> known = list.find_name(name)) {
    fail(ErrorCode::invalid_config, "{}: has a client {} already, {}", list_path.string(), name,
         known->revoked ? std::string("who was revoked; choose another name")
                        : fmt::format("and `feroma cert renew {}` gives it a new certificate under its number", name));
  }
  if (id) {
    const std::optional<ClientEntry> other = list.find_id(*id);
    require(!other, ErrorCode::invalid_config, "{}: the id {} is that of {}", list_path.string(), to_index(*id),
            other ? other->name : "");
  }
  const net::Identity identity = certify_client(authority, name, days);
  const CertificateFiles files = client_files(folder, name);
  make_writable_folder(files.key.parent_path());
  // The line comes last: whoever is in the list has both files, and what a crash left behind counts for nothing.
  write_identity(files, identity);
  ClientEntry entry{id.value_or(list.free_id()), name, net::info_of(*identity.certificate).fingerprint};
  add_to_client_list(list_path, entry);
  return entry;
}

ClientEntry renew_client(const fs::path& folder, const std::string& name, int days) {
  require_authority(folder);
  const fs::path list_path = client_list_file(folder);
  require(is_there(list_path), ErrorCode::invalid_config, "{}: is missing, so there is no client to renew",
          list_path.string());
  const detail::PosixFile held = lock(folder);
  const net::Identity authority = read_authority(folder);
  const std::optional<ClientEntry> known = read_valid_client_list(list_path).find_name(name);
  require(known.has_value(), ErrorCode::invalid_config, "{}: names no client {}; `feroma cert client` adds one",
          list_path.string(), name);
  require(!known->revoked, ErrorCode::invalid_config, "{}: {} was revoked, and gets no new certificate",
          list_path.string(), name);
  const net::Identity identity = certify_client(authority, name, days);
  const CertificateFiles files = client_files(folder, name);
  make_writable_folder(files.key.parent_path());
  // The line comes last, as for a new client: until then the list has the certificate that the client still uses.
  set_aside(files);
  write_identity(files, identity);
  return renew_in_client_list(list_path, name, net::info_of(*identity.certificate).fingerprint);
}

void revoke_client(const fs::path& folder, const std::string& name) {
  const fs::path path = client_list_file(folder);
  require(is_there(path), ErrorCode::invalid_config, "{}: is missing, so there is no client to revoke", path.string());
  const detail::PosixFile held = lock(folder);
  revoke_in_client_list(path, name);
}

std::string fingerprint_of_pem(std::string_view pem) {
  return net::info_of(*net::parse_certificate(pem, "a client's certificate")).fingerprint;
}

CertificateInfo describe_certificate(const fs::path& path) { return net::info_of(*read_certificate(path)); }

void require_usable(const fs::path& authority, const CertificateFiles& own) {
  require(net::keeps_own_signature(*read_certificate(authority)), ErrorCode::invalid_data, "{}",
          damaged_authority(authority));
  const net::Certificate certificate = read_certificate(own.certificate);
  require(net::belongs_to(*read_key(own.key), *certificate), ErrorCode::invalid_data, "{}: does not belong to {}",
          own.key.string(), own.certificate.string());
}

std::vector<std::string> check_certificates(const fs::path& folder) { return Examination(folder).run(); }

}  // namespace feroma
