#pragma once

#include <gtest/gtest.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "feroma/core/files.h"
#include "feroma/net/certificates.h"
#include "tests/core/temp_folder.h"

namespace feroma::test {

namespace fs = std::filesystem;

constexpr long kDay = 24 * 60 * 60;

struct Free {
  void operator()(X509* object) const { X509_free(object); }
  void operator()(EVP_PKEY* object) const { EVP_PKEY_free(object); }
  void operator()(BIO* object) const { BIO_free(object); }
  void operator()(X509_STORE* object) const { X509_STORE_free(object); }
  void operator()(X509_STORE_CTX* object) const { X509_STORE_CTX_free(object); }
  void operator()(BIGNUM* object) const { BN_free(object); }
};
template <class Object>
using Owned = std::unique_ptr<Object, Free>;

inline Owned<X509> load(const fs::path& path) {
  const Owned<BIO> in(BIO_new_file(path.c_str(), "r"));
  return Owned<X509>(PEM_read_bio_X509(in.get(), nullptr, nullptr, nullptr));
}

inline Owned<EVP_PKEY> load_key(const fs::path& path) {
  const Owned<BIO> in(BIO_new_file(path.c_str(), "r"));
  return Owned<EVP_PKEY>(PEM_read_bio_PrivateKey(in.get(), nullptr, nullptr, nullptr));
}

/// Gives a certificate other dates, in seconds from now, and signs it again.
inline void redate(const fs::path& path, const fs::path& signer, long begin, long end) {
  const Owned<X509> certificate = load(path);
  X509_gmtime_adj(X509_getm_notBefore(certificate.get()), begin);
  X509_gmtime_adj(X509_getm_notAfter(certificate.get()), end);
  ASSERT_GT(X509_sign(certificate.get(), load_key(signer).get(), EVP_sha256()), 0);
  const Owned<BIO> out(BIO_new_file(path.c_str(), "w"));
  ASSERT_EQ(PEM_write_bio_X509(out.get(), certificate.get()), 1);
}

inline void write(const fs::path& path, const std::string& text) { write_file_atomically(path, text); }

/// Made once, because every file waits for the disk.
inline const fs::path& original() {
  static const feroma::test::TempFolder folder;
  static const bool made = [] {
    make_authority(folder.path());
    issue_server(folder.path(), {"localhost", "127.0.0.1", "::1", "fl.example.org"});
    issue_client(folder.path(), "alice");
    issue_client(folder.path(), "bob");
    return true;
  }();
  static_cast<void>(made);
  return folder.path();
}

/// A copy of a folder with an authority, a server and the clients alice (0) and bob (1).
class Certificates : public ::testing::Test {
 protected:
  Certificates() { fs::copy(original(), path(), fs::copy_options::recursive); }
  [[nodiscard]] const fs::path& path() const { return folder_.path(); }
  [[nodiscard]] fs::path file(const std::string& name) const { return folder_ / name; }
  [[nodiscard]] ClientList list() const { return read_client_list(client_list_file(path())); }
  /// The only problem, without the folder's name in it.
  [[nodiscard]] std::string problem() const {
    std::vector<std::string> problems = check_certificates(path());
    EXPECT_EQ(problems.size(), 1U) << ::testing::PrintToString(problems);
    return problems.empty() ? "" : shortened(problems.front());
  }
  [[nodiscard]] std::string shortened(std::string text) const {
    const std::string prefix = path().string() + "/";
    for (std::size_t at = text.find(prefix); at != std::string::npos; at = text.find(prefix)) {
      text.erase(at, prefix.size());
    }
    return text;
  }
  [[nodiscard]] bool no_unfinished_files() const {
    const fs::recursive_directory_iterator all(path());
    return std::none_of(begin(all), end(all),
                        [](const auto& entry) { return is_unfinished_write(entry.path().filename().string()); });
  }

 private:
  feroma::test::TempFolder folder_;
};

}  // namespace feroma::test
