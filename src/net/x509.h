#pragma once

#include <openssl/evp.h>
#include <openssl/x509.h>

#include <memory>
#include <string>
#include <string_view>

#include "feroma/net/certificates.h"

namespace feroma::net {

struct FreeX509 {
  void operator()(X509* certificate) const { X509_free(certificate); }
  void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
};
using Certificate = std::unique_ptr<X509, FreeX509>;
using PrivateKey = std::unique_ptr<EVP_PKEY, FreeX509>;

struct Identity {
  Certificate certificate;
  PrivateKey key;
};

/// What a new certificate is to say; the words are those of OpenSSL's configuration.
struct Wanted {
  std::string_view organisation;  ///< may be empty
  std::string_view name;
  int days = 0;
  const char* constraints = "critical,CA:FALSE";
  const char* usage = "critical,digitalSignature";
  const char* purpose = nullptr;  ///< serverAuth or clientAuth
  std::string hosts = {};         ///< may be empty
};

/// Makes a P-256 key and a certificate for it that ends with its issuer's at the latest. Without an issuer it is signed
/// with its own key.
[[nodiscard]] Identity certify(const Wanted& wanted, const Identity* issuer);

/// Errors begin with `what`. The first certificate of several counts.
[[nodiscard]] Certificate parse_certificate(std::string_view pem, std::string_view what);
/// A key with a pass phrase is an error: nobody sits in front of a server.
[[nodiscard]] PrivateKey parse_key(std::string_view pem, std::string_view what);
[[nodiscard]] std::string pem_of(const X509& certificate);
[[nodiscard]] std::string pem_of(const EVP_PKEY& key);

[[nodiscard]] CertificateInfo info_of(X509& certificate);
[[nodiscard]] bool belongs_to(const EVP_PKEY& key, const X509& certificate);
[[nodiscard]] bool is_signed_by(X509& certificate, X509& authority);
/// False where a certificate that signed itself was changed since; nothing else looks at that signature.
[[nodiscard]] bool keeps_own_signature(X509& certificate);
[[nodiscard]] bool is_for_servers(X509& certificate);
[[nodiscard]] bool is_for_clients(X509& certificate);
[[nodiscard]] bool has_begun(const X509& certificate);

}  // namespace feroma::net
