#include "net/x509.h"

#include <arpa/inet.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <array>
#include <ctime>
#include <limits>
#include <span>

#include "feroma/core/error.h"
#include "feroma/core/files.h"
#include "feroma/privacy/entropy_source.h"

namespace feroma::net {
namespace {

constexpr int kMostDays = 36500;
/// Clocks of a federation's machines may differ a little.
constexpr long kSecondsBefore = -300;

struct Free {
  void operator()(X509_EXTENSION* object) const { X509_EXTENSION_free(object); }
  void operator()(BIO* object) const { BIO_free(object); }
  void operator()(BIGNUM* object) const { BN_free(object); }
  void operator()(GENERAL_NAMES* object) const { GENERAL_NAMES_free(object); }
  void operator()(unsigned char* bytes) const { OPENSSL_free(bytes); }
};

template <class Object>
using Owned = std::unique_ptr<Object, Free>;

/// Empties OpenSSL's list of errors at the end of a scope: connections on this thread read it too.
struct ClearErrors {
  ClearErrors() = default;
  ClearErrors(const ClearErrors&) = delete;
  ClearErrors& operator=(const ClearErrors&) = delete;
  ~ClearErrors() { ERR_clear_error(); }
};

/// Throws if OpenSSL could not do what it should always be able to do.
void check(bool success, std::string_view action) {
  if (!success) {
    const ClearErrors clear;
    const char* reason = ERR_reason_error_string(ERR_peek_error());
    fail(ErrorCode::io, "cannot {}: {}", action, reason == nullptr ? "OpenSSL does not say why" : reason);
  }
}

template <class Object>
Owned<Object> owned(Object* object, std::string_view action) {
  check(object != nullptr, action);
  return Owned<Object>(object);
}

// ---- texts ----

Owned<BIO> reader_of(std::string_view text, std::string_view what) {
  require(text.size() <= static_cast<std::size_t>(std::numeric_limits<int>::max()), ErrorCode::invalid_data,
          "{}: is too large", what);
  return owned(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())), "read a text");
}

/// What `write` writes; it returns whether it could.
template <class Write>
std::string text_of(Write write) {
  const Owned<BIO> out = owned(BIO_new(BIO_s_mem()), "write a text");
  check(write(out.get()), "write a text");
  char* data = nullptr;
  const long size = BIO_get_mem_data(out.get(), &data);
  return {data, static_cast<std::size_t>(size)};
}

std::string subject_of(const X509& certificate) {
  // As in RFC 2253, but from the general to the special and with letters outside ASCII as they are.
  constexpr unsigned long kStyle = (ASN1_STRFLGS_RFC2253 & ~static_cast<unsigned long>(ASN1_STRFLGS_ESC_MSB)) |
                                   XN_FLAG_SEP_CPLUS_SPC | XN_FLAG_FN_SN;
  return text_of([&](BIO* out) {
    return X509_NAME_print_ex(out, X509_get_subject_name(&certificate), /*indent=*/0, kStyle) >= 0;
  });
}

std::string time_text(const ASN1_TIME& time) {
  std::tm parts{};
  check(ASN1_TIME_to_tm(&time, &parts) == 1, "read the dates of a certificate");
  return fmt::format("{:04}-{:02}-{:02} {:02}:{:02}:{:02} UTC", parts.tm_year + 1900, parts.tm_mon + 1, parts.tm_mday,
                     parts.tm_hour, parts.tm_min, parts.tm_sec);
}

/// Whole days from now, rounded towards the past.
int days_until(const ASN1_TIME& time) {
  int days = 0;
  int seconds = 0;
  check(ASN1_TIME_diff(&days, &seconds, /*from now*/ nullptr, &time) == 1, "read the dates of a certificate");
  return seconds < 0 ? days - 1 : days;
}

std::string address_text(std::span<const unsigned char> bytes) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  const int family = bytes.size() == 4 ? AF_INET : AF_INET6;
  if ((bytes.size() != 4 && bytes.size() != 16) ||
      ::inet_ntop(family, bytes.data(), text.data(), static_cast<socklen_t>(text.size())) == nullptr) {
    return "not an address";
  }
  return text.data();
}

std::vector<std::string> names_of(const X509& certificate) {
  std::vector<std::string> names;
  const Owned<GENERAL_NAMES> all(
      static_cast<GENERAL_NAMES*>(X509_get_ext_d2i(&certificate, NID_subject_alt_name, nullptr, nullptr)));
  for (int i = 0; all != nullptr && i < sk_GENERAL_NAME_num(all.get()); ++i) {
    int kind = 0;
    const auto* value =
        static_cast<const ASN1_STRING*>(GENERAL_NAME_get0_value(sk_GENERAL_NAME_value(all.get(), i), &kind));
    if (kind == GEN_DNS || kind == GEN_IPADD) {
      const std::span bytes(ASN1_STRING_get0_data(value), static_cast<std::size_t>(ASN1_STRING_length(value)));
      names.push_back(kind == GEN_DNS ? std::string(bytes.begin(), bytes.end()) : address_text(bytes));
    }
  }
  return names;
}

std::string fingerprint_of(const X509& certificate) {
  unsigned char* der = nullptr;
  const int size = i2d_X509(&certificate, &der);
  const Owned<unsigned char> bytes(der);
  check(size > 0, "write a certificate in DER form");
  return sha256(std::as_bytes(std::span(der, static_cast<std::size_t>(size))));
}

// ---- parts of a new certificate ----

void set_serial(X509& certificate) {
  std::array<std::byte, 16> bytes{};
  SystemEntropy().fill(bytes);
  const Owned<BIGNUM> number =
      owned(BN_bin2bn(reinterpret_cast<const unsigned char*>(bytes.data()), static_cast<int>(bytes.size()), nullptr),
            "make a serial number");
  check(BN_to_ASN1_INTEGER(number.get(), X509_get_serialNumber(&certificate)) != nullptr, "make a serial number");
}

void set_subject(X509& certificate, const Wanted& wanted) {
  const auto add = [&](const char* field, std::string_view value) {
    check(X509_NAME_add_entry_by_txt(X509_get_subject_name(&certificate), field, MBSTRING_UTF8,
                                     reinterpret_cast<const unsigned char*>(value.data()),
                                     static_cast<int>(value.size()), /*loc=*/-1, /*set=*/0) == 1,
          fmt::format("certify the name \"{}\"", value));
  };
  if (!wanted.organisation.empty()) {
    add("O", wanted.organisation);
  }
  add("CN", wanted.name);
}

void set_dates(X509& certificate, int days, const X509& issuer) {
  constexpr std::string_view kAction = "write the dates of a certificate";
  check(X509_gmtime_adj(X509_getm_notBefore(&certificate), kSecondsBefore) != nullptr, kAction);
  check(X509_time_adj_ex(X509_getm_notAfter(&certificate), days, 0, nullptr) != nullptr, kAction);
  const ASN1_TIME* limit = X509_get0_notAfter(&issuer);
  if (&issuer != &certificate && ASN1_TIME_compare(X509_get0_notAfter(&certificate), limit) > 0) {
    check(X509_set1_notAfter(&certificate, limit) == 1, kAction);
  }
}

void add_extensions(X509& certificate, const Wanted& wanted, X509& issuer) {
  X509V3_CTX context;
  X509V3_set_ctx(&context, &issuer, &certificate, nullptr, nullptr, 0);
  const auto add = [&](int kind, const char* value) {
    const Owned<X509_EXTENSION> extension =
        owned(X509V3_EXT_conf_nid(nullptr, &context, kind, value), "write an extension of a certificate");
    check(X509_add_ext(&certificate, extension.get(), /*loc=*/-1) == 1, "write an extension of a certificate");
  };
  add(NID_basic_constraints, wanted.constraints);
  add(NID_key_usage, wanted.usage);
  add(NID_subject_key_identifier, "hash");
  add(NID_authority_key_identifier, "keyid:always");  // after the line above, of which an authority's own is a copy
  if (wanted.purpose != nullptr) {
    add(NID_ext_key_usage, wanted.purpose);
  }
  if (!wanted.hosts.empty()) {
    add(NID_subject_alt_name, wanted.hosts.c_str());
  }
}

}  // namespace

Identity certify(const Wanted& wanted, const Identity* issuer) {
  require(wanted.days >= 1 && wanted.days <= kMostDays, ErrorCode::invalid_config, "days must be 1 to {}, got {}",
          kMostDays, wanted.days);
  Identity identity{Certificate(X509_new()), PrivateKey(EVP_PKEY_Q_keygen(nullptr, nullptr, "EC", "P-256"))};
  check(identity.certificate != nullptr && identity.key != nullptr, "make a key");
  X509& certificate = *identity.certificate;
  X509& signer = issuer == nullptr ? certificate : *issuer->certificate;
  check(X509_set_version(&certificate, X509_VERSION_3) == 1, "make a certificate");
  set_serial(certificate);
  set_subject(certificate, wanted);
  set_dates(certificate, wanted.days, signer);
  check(X509_set_issuer_name(&certificate, X509_get_subject_name(&signer)) == 1, "make a certificate");
  check(X509_set_pubkey(&certificate, identity.key.get()) == 1, "make a certificate");
  add_extensions(certificate, wanted, signer);
  EVP_PKEY* signing = issuer == nullptr ? identity.key.get() : issuer->key.get();
  check(X509_sign(&certificate, signing, EVP_sha256()) > 0, "sign a certificate");
  return identity;
}

Certificate parse_certificate(std::string_view pem, std::string_view what) {
  const ClearErrors clear;
  Certificate certificate(PEM_read_bio_X509(reader_of(pem, what).get(), nullptr, nullptr, nullptr));
  require(certificate != nullptr, ErrorCode::invalid_data, "{}: must be a certificate in PEM form", what);
  try {
    static_cast<void>(info_of(*certificate));
  } catch (const Error& error) {
    fail(ErrorCode::invalid_data, "{}: is damaged: {}", what, error.what());
  }
  return certificate;
}

PrivateKey parse_key(std::string_view pem, std::string_view what) {
  const ClearErrors clear;
  // Without this OpenSSL would ask the terminal for a pass phrase.
  const auto no_pass_phrase = [](char*, int, int, void*) { return -1; };
  PrivateKey key(PEM_read_bio_PrivateKey(reader_of(pem, what).get(), nullptr, no_pass_phrase, nullptr));
  require(key != nullptr, ErrorCode::invalid_data, "{}: must be a private key in PEM form without a pass phrase", what);
  return key;
}

std::string pem_of(const X509& certificate) {
  return text_of([&](BIO* out) { return PEM_write_bio_X509(out, &certificate) == 1; });
}

std::string pem_of(const EVP_PKEY& key) {
  return text_of([&](BIO* out) {
    return PEM_write_bio_PrivateKey(out, &key, /*enc=*/nullptr, nullptr, 0, nullptr, nullptr) == 1;
  });
}

CertificateInfo info_of(X509& certificate) {
  const ClearErrors clear;
  return {subject_of(certificate),
          names_of(certificate),
          fingerprint_of(certificate),
          time_text(*X509_get0_notBefore(&certificate)),
          time_text(*X509_get0_notAfter(&certificate)),
          days_until(*X509_get0_notAfter(&certificate)),
          X509_check_ca(&certificate) == 1};
}

bool belongs_to(const EVP_PKEY& key, const X509& certificate) {
  const ClearErrors clear;
  return X509_check_private_key(&certificate, &key) == 1;
}

bool is_signed_by(X509& certificate, X509& authority) {
  const ClearErrors clear;
  return X509_check_issued(&authority, &certificate) == X509_V_OK &&
         X509_verify(&certificate, X509_get0_pubkey(&authority)) == 1;
}

bool keeps_own_signature(X509& certificate) {
  const ClearErrors clear;
  return X509_check_issued(&certificate, &certificate) != X509_V_OK ||
         X509_verify(&certificate, X509_get0_pubkey(&certificate)) == 1;
}

bool is_for_servers(X509& certificate) {
  return X509_check_purpose(&certificate, X509_PURPOSE_SSL_SERVER, /*ca=*/0) == 1;
}

bool is_for_clients(X509& certificate) {
  return X509_check_purpose(&certificate, X509_PURPOSE_SSL_CLIENT, /*ca=*/0) == 1;
}

bool has_begun(const X509& certificate) { return days_until(*X509_get0_notBefore(&certificate)) < 0; }

}  // namespace feroma::net
