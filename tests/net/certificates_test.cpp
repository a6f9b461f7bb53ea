#include "feroma/net/certificates.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <set>

#include "tests/core/end_before.h"
#include "tests/core/expect_error.h"
#include "tests/net/certificate_folder.h"

namespace feroma::test {
namespace {

using feroma::test::error_of;
using feroma::test::holds;
using feroma::test::TempFolder;

// ---- OpenSSL's own view ----

/// OpenSSL's verdict on a certificate: X509_V_OK or what is wrong. Strict: every rule of RFC 5280 counts.
int verdict(const fs::path& certificate, const fs::path& authority, int purpose) {
  const Owned<X509> leaf = load(certificate);
  const Owned<X509> root = load(authority);
  const Owned<X509_STORE> store(X509_STORE_new());
  X509_STORE_add_cert(store.get(), root.get());
  const Owned<X509_STORE_CTX> context(X509_STORE_CTX_new());
  X509_STORE_CTX_init(context.get(), store.get(), leaf.get(), nullptr);
  X509_STORE_CTX_set_purpose(context.get(), purpose);
  X509_STORE_CTX_set_flags(context.get(), X509_V_FLAG_X509_STRICT | X509_V_FLAG_CHECK_SS_SIGNATURE);
  return X509_verify_cert(context.get()) == 1 ? X509_V_OK : X509_STORE_CTX_get_error(context.get());
}

bool is_critical(X509* certificate, int kind) {
  const int at = X509_get_ext_by_NID(certificate, kind, -1);
  return at >= 0 && X509_EXTENSION_get_critical(X509_get_ext(certificate, at)) == 1;
}

bool has(X509* certificate, int kind) { return X509_get_ext_by_NID(certificate, kind, -1) >= 0; }

std::string serial_of(X509* certificate) {
  const Owned<BIGNUM> number(ASN1_INTEGER_to_BN(X509_get_serialNumber(certificate), nullptr));
  EXPECT_FALSE(BN_is_negative(number.get()) != 0 || BN_is_zero(number.get()) != 0);
  EXPECT_LE(BN_num_bits(number.get()), 128);
  EXPECT_GT(BN_num_bits(number.get()), 64);  // fails once in 2^64 runs
  std::string bytes(static_cast<std::size_t>(BN_num_bytes(number.get())), '\0');
  BN_bn2bin(number.get(), reinterpret_cast<unsigned char*>(bytes.data()));
  return bytes;
}

mode_t mode_of(const fs::path& path) {
  struct stat info {};
  EXPECT_EQ(::stat(path.c_str(), &info), 0) << path;
  return info.st_mode & 07777;
}

/// Whole days left of a certificate that was just made; a second may have gone by.
::testing::AssertionResult lasts(const fs::path& path, int days) {
  const int left = describe_certificate(path).days_left;
  return left == days || left == days - 1 ? ::testing::AssertionSuccess()
                                          : ::testing::AssertionFailure() << path << " lasts " << left << " days";
}

// ---- what is issued ----

TEST_F(Certificates, VerifyForTheirPurposeAlone) {
  const fs::path authority = file("ca.pem");
  EXPECT_EQ(verdict(file("server.pem"), authority, X509_PURPOSE_SSL_SERVER), X509_V_OK);
  EXPECT_EQ(verdict(file("clients/alice.pem"), authority, X509_PURPOSE_SSL_CLIENT), X509_V_OK);
  EXPECT_EQ(verdict(file("server.pem"), authority, X509_PURPOSE_SSL_CLIENT), X509_V_ERR_INVALID_PURPOSE);
  EXPECT_EQ(verdict(file("clients/alice.pem"), authority, X509_PURPOSE_SSL_SERVER), X509_V_ERR_INVALID_PURPOSE);
}

TEST_F(Certificates, DoNotVerifyWithAnotherAuthority) {
  const TempFolder other;
  make_authority(other.path());  // of the same name
  EXPECT_NE(verdict(file("server.pem"), other / "ca.pem", X509_PURPOSE_SSL_SERVER), X509_V_OK);
  EXPECT_NE(verdict(file("clients/bob.pem"), other / "ca.pem", X509_PURPOSE_SSL_CLIENT), X509_V_OK);
}

// A client cannot act as an authority, even for a client of its own.
TEST_F(Certificates, OfClientsCannotSign) {
  EXPECT_FALSE(describe_certificate(file("clients/alice.pem")).is_authority);
  redate(file("clients/bob.pem"), file("clients/alice.key"), -kDay, kDay);
  EXPECT_NE(verdict(file("clients/bob.pem"), file("clients/alice.pem"), X509_PURPOSE_SSL_CLIENT), X509_V_OK);
  EXPECT_NE(verdict(file("clients/bob.pem"), file("ca.pem"), X509_PURPOSE_SSL_CLIENT), X509_V_OK);
}

// A client whose name is the authority's must not look as if it had signed itself.
TEST_F(Certificates, VerifyUnderTheNameOfTheAuthority) {
  const TempFolder folder;
  make_authority(folder.path(), {.name = "same", .days = 100});
  issue_client(folder.path(), "same");
  EXPECT_EQ(verdict(folder / "clients/same.pem", folder / "ca.pem", X509_PURPOSE_SSL_CLIENT), X509_V_OK);
}

TEST_F(Certificates, HaveExtensionsAndKeysOfOurTime) {
  std::set<std::string> serials;
  for (const char* name : {"ca.pem", "server.pem", "clients/alice.pem", "clients/bob.pem"}) {
    SCOPED_TRACE(name);
    const Owned<X509> certificate = load(file(name));
    X509* const raw = certificate.get();
    EXPECT_EQ(X509_get_version(raw), X509_VERSION_3);
    EXPECT_EQ(X509_get_signature_nid(raw), NID_ecdsa_with_SHA256);
    EXPECT_TRUE(is_critical(raw, NID_basic_constraints));
    EXPECT_TRUE(is_critical(raw, NID_key_usage));
    EXPECT_TRUE(has(raw, NID_subject_key_identifier));
    EXPECT_TRUE(has(raw, NID_authority_key_identifier));
    EXPECT_EQ(has(raw, NID_ext_key_usage), std::string(name) != "ca.pem");
    EXPECT_EQ(EVP_PKEY_get_bits(X509_get0_pubkey(raw)), 256);
    EXPECT_EQ(EVP_PKEY_get_base_id(X509_get0_pubkey(raw)), EVP_PKEY_EC);
    serials.insert(serial_of(raw));
  }
  EXPECT_EQ(serials.size(), 4U);
  EXPECT_EQ(X509_get_key_usage(load(file("ca.pem")).get()), static_cast<unsigned>(KU_KEY_CERT_SIGN | KU_CRL_SIGN));
  EXPECT_EQ(X509_get_pathlen(load(file("ca.pem")).get()), 0);
  EXPECT_EQ(X509_get_key_usage(load(file("server.pem")).get()), static_cast<unsigned>(KU_DIGITAL_SIGNATURE));
}

TEST_F(Certificates, BeginFiveMinutesAgo) {
  int days = 0;
  int seconds = 0;
  issue_server(path(), {"localhost"});
  ASSERT_EQ(ASN1_TIME_diff(&days, &seconds, X509_get0_notBefore(load(file("server.pem")).get()), nullptr), 1);
  EXPECT_EQ(days, 0);
  EXPECT_GE(seconds, 300);
  EXPECT_LT(seconds, 360);
}

TEST_F(Certificates, AreDescribed) {
  const CertificateInfo authority = describe_certificate(file("ca.pem"));
  EXPECT_EQ(authority.subject, "O=Feroma, CN=Feroma federation");
  EXPECT_TRUE(authority.is_authority);
  EXPECT_TRUE(lasts(file("ca.pem"), 3650));
  const CertificateInfo server = describe_certificate(file("server.pem"));
  EXPECT_EQ(server.names, (std::vector<std::string>{"localhost", "127.0.0.1", "::1", "fl.example.org"}));
  EXPECT_FALSE(server.is_authority);
  const CertificateInfo client = describe_certificate(file("clients/alice.pem"));
  EXPECT_EQ(client.subject, "CN=alice");
  EXPECT_TRUE(client.names.empty());
  EXPECT_TRUE(lasts(file("server.pem"), 365));
  EXPECT_TRUE(lasts(file("clients/alice.pem"), 365));
  EXPECT_TRUE(holds(client.not_before, " UTC"));
  EXPECT_LT(client.not_before, client.not_after);
}

TEST_F(Certificates, AreMatchedToTheServersNames) {
  const Owned<X509> server = load(file("server.pem"));
  EXPECT_EQ(X509_check_host(server.get(), "fl.example.org", 0, 0, nullptr), 1);
  EXPECT_EQ(X509_check_ip_asc(server.get(), "127.0.0.1", 0), 1);
  EXPECT_EQ(X509_check_ip_asc(server.get(), "::1", 0), 1);
  EXPECT_EQ(X509_check_host(server.get(), "example.org", 0, 0, nullptr), 0);
  EXPECT_EQ(X509_check_ip_asc(server.get(), "127.0.0.2", 0), 0);
}

TEST_F(Certificates, CountDaysDownBelowZero) {
  redate(file("server.pem"), file("ca.key"), -3 * kDay, 2 * kDay + 60);
  EXPECT_EQ(describe_certificate(file("server.pem")).days_left, 2);
  redate(file("server.pem"), file("ca.key"), -3 * kDay, 60);
  EXPECT_EQ(describe_certificate(file("server.pem")).days_left, 0);
  redate(file("server.pem"), file("ca.key"), -3 * kDay, -60);
  EXPECT_EQ(describe_certificate(file("server.pem")).days_left, -1);
  redate(file("server.pem"), file("ca.key"), -3 * kDay, -kDay - 60);
  EXPECT_EQ(describe_certificate(file("server.pem")).days_left, -2);
}

TEST_F(Certificates, NeverOutliveTheirAuthority) {
  const TempFolder folder;
  make_authority(folder.path(), {.name = "A short one: Größe", .days = 30});
  issue_client(folder.path(), "long", std::nullopt, 365);
  EXPECT_EQ(describe_certificate(folder / "clients/long.pem").not_after,
            describe_certificate(folder / "ca.pem").not_after);
  EXPECT_EQ(describe_certificate(folder / "ca.pem").subject, "O=Feroma, CN=A short one: Größe");
  issue_client(folder.path(), "short", std::nullopt, 3);
  EXPECT_TRUE(lasts(folder / "clients/short.pem", 3));
}

// `openssl x509 -fingerprint -sha256` prints the same digest in upper case with colons.
TEST_F(Certificates, HaveTheFingerprintThatOpenSslPrints) {
  const fs::path path = file("clients/alice.pem");
  const Owned<X509> certificate = load(path);
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned size = 0;
  ASSERT_EQ(X509_digest(certificate.get(), EVP_sha256(), digest.data(), &size), 1);
  std::string expected;
  for (unsigned i = 0; i < size; ++i) {
    expected += fmt::format("{:02x}", digest[i]);
  }
  EXPECT_EQ(fingerprint_of_pem(read_text(path)), expected);
  EXPECT_EQ(describe_certificate(path).fingerprint, expected);
  // Text around the certificate and a second one behind it change nothing.
  EXPECT_EQ(fingerprint_of_pem("Certificate of alice\n" + read_text(path) + read_text(file("ca.pem"))), expected);
  EXPECT_EQ(list().find(expected)->name, "alice");
}

TEST_F(Certificates, ThatAreNoneAreRefused) {
  const auto refused = [](const std::string& pem) {
    return error_of(ErrorCode::invalid_data, [&] { static_cast<void>(fingerprint_of_pem(pem)); });
  };
  EXPECT_TRUE(holds(refused(""), "must be a certificate in PEM form"));
  EXPECT_TRUE(holds(refused("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"), "must be"));
  EXPECT_TRUE(holds(refused(read_text(file("ca.key"))), "must be"));
  const std::string pem = read_text(file("ca.pem"));
  EXPECT_TRUE(holds(refused(pem.substr(0, pem.size() / 2)), "must be"));
  EXPECT_TRUE(
      holds(error_of(ErrorCode::invalid_data, [&] { static_cast<void>(describe_certificate(file("clients.list"))); }),
            "clients.list: must be a certificate"));
  error_of(ErrorCode::io, [&] { static_cast<void>(describe_certificate(file("nothing.pem"))); });
}

// ---- files ----

TEST_F(Certificates, HaveKeysForTheirOwnerAlone) {
  const mode_t before = ::umask(0);
  issue_server(path(), {"localhost"});
  issue_client(path(), "carol");
  ::umask(before);
  for (const char* name : {"ca.key", "server.key", "clients/alice.key", "clients/carol.key"}) {
    EXPECT_EQ(mode_of(file(name)), 0600U) << name;
  }
  EXPECT_EQ(mode_of(file("clients/carol.pem")), 0666U);
  EXPECT_TRUE(no_unfinished_files());
}

TEST_F(Certificates, OfAnAuthorityAreNeverOverwritten) {
  const std::string certificate = read_text(file("ca.pem"));
  const std::string key = read_text(file("ca.key"));
  const auto again = [&] { return error_of(ErrorCode::invalid_config, [&] { make_authority(path()); }); };
  EXPECT_TRUE(holds(again(), "never overwritten"));
  EXPECT_EQ(read_text(file("ca.pem")), certificate);
  EXPECT_EQ(read_text(file("ca.key")), key);
  fs::remove(file("ca.pem"));  // a key alone is not overwritten either
  EXPECT_TRUE(holds(again(), "ca.key"));
  EXPECT_EQ(read_text(file("ca.key")), key);
}

TEST_F(Certificates, OfTheServerAreRenewed) {
  const std::string before = describe_certificate(file("server.pem")).fingerprint;
  issue_server(path(), {"10.0.0.1"}, 10);
  const CertificateInfo now = describe_certificate(file("server.pem"));
  EXPECT_NE(now.fingerprint, before);
  EXPECT_EQ(now.names, std::vector<std::string>{"10.0.0.1"});
  EXPECT_TRUE(lasts(file("server.pem"), 10));
  EXPECT_EQ(X509_check_private_key(load(file("server.pem")).get(), load_key(file("server.key")).get()), 1);
}

TEST_F(Certificates, OfClientsAreRenewedUnderTheirNumber) {
  const ClientEntry before = *list().find_name("alice");
  const std::string old_key = read_text(file("clients/alice.key"));
  const std::string old_certificate = read_text(file("clients/alice.pem"));
  const ClientEntry now = renew_client(path(), "alice", 20);
  EXPECT_EQ(now.id, before.id);
  EXPECT_EQ(now.name, "alice");
  EXPECT_NE(now.fingerprint, before.fingerprint);
  EXPECT_EQ(describe_certificate(file("clients/alice.pem")).fingerprint, now.fingerprint);
  EXPECT_TRUE(lasts(file("clients/alice.pem"), 20));
  EXPECT_EQ(verdict(file("clients/alice.pem"), file("ca.pem"), X509_PURPOSE_SSL_CLIENT), X509_V_OK);
  EXPECT_EQ(mode_of(file("clients/alice.key")), 0600U);
  EXPECT_NE(read_text(file("clients/alice.key")), old_key);
  EXPECT_EQ(list().entries().size(), 2U);
  EXPECT_EQ(list().find(now.fingerprint)->id, before.id);
  EXPECT_FALSE(list().find(before.fingerprint)) << "the old one is not let in any more";
  EXPECT_TRUE(check_certificates(path()).empty());
  EXPECT_EQ(read_text(file("clients/alice.key.old-1")), old_key);
  EXPECT_EQ(read_text(file("clients/alice.pem.old-1")), old_certificate);
  EXPECT_EQ(mode_of(file("clients/alice.key.old-1")), 0600U);
  renew_client(path(), "alice");
  EXPECT_EQ(read_text(file("clients/alice.key.old-1")), old_key) << "what was set aside stays";
  EXPECT_TRUE(fs::exists(file("clients/alice.key.old-2")));
}

TEST_F(Certificates, AreRenewedWhereOnlyTheListIsLeft) {
  const ClientEntry before = *list().find_name("bob");
  fs::remove_all(file("clients"));
  EXPECT_EQ(renew_client(path(), "bob").id, before.id);
  EXPECT_TRUE(check_certificates(path()).empty());
}

TEST_F(Certificates, AreNotRenewedForWhoIsNotOnTheListOrWasRevoked) {
  const auto refused = [&](const std::string& name) {
    return error_of(ErrorCode::invalid_config, [&] { renew_client(path(), name); });
  };
  EXPECT_TRUE(holds(refused("carol"), "names no client carol"));
  EXPECT_TRUE(holds(refused("../server"), "names no client"));
  revoke_client(path(), "bob");
  const std::string before = read_text(file("clients.list"));
  const std::string key = read_text(file("clients/bob.key"));
  EXPECT_TRUE(holds(refused("bob"), "bob was revoked"));
  EXPECT_EQ(read_text(file("clients.list")), before);
  EXPECT_EQ(read_text(file("clients/bob.key")), key);
  EXPECT_FALSE(fs::exists(file("clients/bob.key.old-1")));
  fs::remove(file("clients.list"));
  EXPECT_TRUE(holds(refused("alice"), "clients.list: is missing"));
}

// Whatever a kill leaves: the list is whole and has alice under her number, once; the certificate that it has lies in
// the folder, in its place or set aside; and saying it again is all there is to do.
TEST_F(Certificates, ARenewalThatIsKilledIsSaidAgain) {
  const auto is_in_folder = [&](const std::string& fingerprint) {
    bool has_certificate = false;
    for (const fs::directory_entry& entry : fs::directory_iterator(file("clients"))) {
      const std::string name = entry.path().filename().string();
      has_certificate = has_certificate || (name.starts_with("alice.pem") &&
                                            describe_certificate(entry.path()).fingerprint == fingerprint);
    }
    return has_certificate;
  };
  int code = 9;
  int kills = 0;
  for (int last = 0; code == 9; ++last) {
    ASSERT_LT(last, 100);
    const ClientEntry before = *list().find_name("alice");
    const pid_t child = ::fork();
    if (child == 0) {
      const EndBefore hook(last);
      renew_client(path(), "alice");
      ::_exit(0);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    code = WEXITSTATUS(status);
    kills += code == 9 ? 1 : 0;
    const ClientEntry left = *list().find_name("alice");
    EXPECT_EQ(left.id, before.id) << last;
    EXPECT_TRUE(is_in_folder(left.fingerprint)) << last;
    EXPECT_EQ(renew_client(path(), "alice").id, before.id) << last;
    EXPECT_TRUE(check_certificates(path()).empty()) << last;
  }
  EXPECT_EQ(code, 0);
  EXPECT_GT(kills, 3);
}

TEST_F(Certificates, AreWrittenByOneProcessAtATime) {
  const int other = ::open(file(".lock").c_str(), O_RDWR);
  ASSERT_EQ(::flock(other, LOCK_EX), 0);
  EXPECT_TRUE(holds(error_of(ErrorCode::io, [&] { issue_client(path(), "carol"); }), "another process"));
  EXPECT_TRUE(holds(error_of(ErrorCode::io, [&] { revoke_client(path(), "bob"); }), "another process"));
  EXPECT_TRUE(holds(error_of(ErrorCode::io, [&] { renew_client(path(), "bob"); }), "another process"));
  ::close(other);
  issue_client(path(), "carol");
}

// A crash before the line was written leaves files that nobody accepts; the name can be used again.
TEST_F(Certificates, WithoutALineAreReplaced) {
  write(file("clients/carol.pem"), "half a certificate");
  write(file("clients/carol.key"), "half a key");
  write(file("clients/.carol.key.unfinished"), "less than half a key");
  EXPECT_EQ(issue_client(path(), "carol").id, ClientId{2});
  EXPECT_EQ(mode_of(file("clients/carol.key")), 0600U);
  EXPECT_TRUE(no_unfinished_files());
  EXPECT_TRUE(check_certificates(path()).empty());
}

// ---- what is not issued ----

TEST_F(Certificates, NeedAnAuthorityThatCanSign) {
  const TempFolder empty;
  EXPECT_TRUE(holds(error_of(ErrorCode::invalid_config, [&] { issue_client(empty.path(), "alice"); }), "ca.pem"));
  EXPECT_TRUE(holds(error_of(ErrorCode::invalid_config, [&] { issue_server(empty.path(), {"a"}); }), "is missing"));
  const auto client = [&](ErrorCode code) { return error_of(code, [&] { issue_client(path(), "carol"); }); };
  redate(file("ca.pem"), file("ca.key"), -3 * kDay, -kDay);
  EXPECT_TRUE(holds(client(ErrorCode::invalid_config), "ca.pem: expired on"));
  fs::copy_file(file("server.key"), file("ca.key"), fs::copy_options::overwrite_existing);
  EXPECT_TRUE(holds(client(ErrorCode::invalid_data), "ca.key: does not belong to"));
  fs::copy_file(file("server.pem"), file("ca.pem"), fs::copy_options::overwrite_existing);
  EXPECT_TRUE(holds(client(ErrorCode::invalid_data), "is not the certificate of an authority"));
  fs::remove(file("ca.key"));
  EXPECT_TRUE(holds(client(ErrorCode::invalid_config), "ca.key: is missing"));
  EXPECT_FALSE(list().find_name("carol"));
}

// Nobody sits in front of a server to type a pass phrase, and a test must not wait for one.
TEST_F(Certificates, NeedAKeyWithoutAPassPhrase) {
  const Owned<EVP_PKEY> key = load_key(file("ca.key"));
  {
    const Owned<BIO> out(BIO_new_file(file("ca.key").c_str(), "w"));
    PEM_write_bio_PKCS8PrivateKey(out.get(), key.get(), EVP_aes_256_cbc(), "secret", 6, nullptr, nullptr);
  }
  EXPECT_TRUE(holds(error_of(ErrorCode::invalid_data, [&] { issue_client(path(), "carol"); }), "pass phrase"));
}

TEST_F(Certificates, AreRefusedToBadNames) {
  const std::string before = read_text(file("clients.list"));
  for (const std::string& name :
       {std::string(), std::string(".hidden"), std::string(".."), std::string("a/b"), std::string("../x"),
        std::string("a b"), std::string("a\n"), std::string("a\0b", 3), std::string("a,O=x"), std::string("#a"),
        std::string("größe"), std::string(65, 'a')}) {
    const std::string error = error_of(ErrorCode::invalid_config, [&] { issue_client(path(), name); });
    EXPECT_TRUE(holds(error, "got \""));
  }
  EXPECT_EQ(read_text(file("clients.list")), before);
  EXPECT_EQ(issue_client(path(), std::string(64, 'a')).id, ClientId{2});
  EXPECT_EQ(issue_client(path(), "-_A.z9.").id, ClientId{3});
  EXPECT_EQ(verdict(file("clients/-_A.z9..pem"), file("ca.pem"), X509_PURPOSE_SSL_CLIENT), X509_V_OK);
}

TEST_F(Certificates, AreRefusedToNamesAndIdsThatAreTaken) {
  const std::string key = read_text(file("clients/alice.key"));
  const auto refused = [&](const std::string& name, std::optional<ClientId> id) {
    return error_of(ErrorCode::invalid_config, [&] { issue_client(path(), name, id); });
  };
  EXPECT_TRUE(holds(refused("alice", std::nullopt), "has a client alice already"));
  EXPECT_TRUE(holds(refused("alice", ClientId{9}), "has a client alice already"));
  EXPECT_TRUE(holds(refused("alice", std::nullopt), "`feroma cert renew alice`"));
  EXPECT_TRUE(holds(refused("carol", ClientId{1}), "the id 1 is that of bob"));
  revoke_client(path(), "bob");  // what was revoked is not given to somebody else
  EXPECT_TRUE(holds(refused("bob", std::nullopt), "has a client bob already, who was revoked"));
  EXPECT_TRUE(holds(refused("carol", ClientId{1}), "the id 1 is that of bob"));
  EXPECT_EQ(read_text(file("clients/alice.key")), key);
  EXPECT_FALSE(fs::exists(file("clients/carol.key")));
}

TEST_F(Certificates, TakeTheLowestFreeId) {
  EXPECT_EQ(issue_client(path(), "five", ClientId{5}).id, ClientId{5});
  EXPECT_EQ(issue_client(path(), "largest", ClientId{4294967295}).id, ClientId{4294967295});
  EXPECT_EQ(issue_client(path(), "two").id, ClientId{2});
  EXPECT_EQ(issue_client(path(), "three").id, ClientId{3});
  EXPECT_EQ(issue_client(path(), "four").id, ClientId{4});
  EXPECT_EQ(issue_client(path(), "six").id, ClientId{6});
}

TEST_F(Certificates, AreRefusedToBadServerNames) {
  const std::string before = read_text(file("server.pem"));
  const auto refused = [&](const std::vector<std::string>& names) {
    return error_of(ErrorCode::invalid_config, [&] { issue_server(path(), names); });
  };
  EXPECT_TRUE(holds(refused({}), "at least one"));
  for (const std::string& name :
       {std::string(), std::string("a b"), std::string("a,DNS:evil"), std::string("*.a.org"), std::string("256.1.1.1"),
        std::string("1.2.3"), std::string("[::1]"), std::string("a..b"), std::string("a."), std::string("-a"),
        std::string("a:7443"), std::string(64, 'a'), std::string("a\0b", 3), std::string("127.0.0.1\0x", 11)}) {
    EXPECT_TRUE(holds(refused({"localhost", name}), "got \""));
  }
  EXPECT_EQ(read_text(file("server.pem")), before);
}

TEST_F(Certificates, AreRefusedForBadDaysAndAuthorityNames) {
  for (const int days : {-1, 0, 36501}) {
    const std::string rule = fmt::format("days must be 1 to 36500, got {}", days);
    const TempFolder folder;
    EXPECT_TRUE(
        holds(error_of(ErrorCode::invalid_config, [&] { make_authority(folder.path(), {.days = days}); }), rule));
    EXPECT_TRUE(holds(error_of(ErrorCode::invalid_config, [&] { issue_server(path(), {"a"}, days); }), rule));
    EXPECT_TRUE(
        holds(error_of(ErrorCode::invalid_config, [&] { issue_client(path(), "c", std::nullopt, days); }), rule));
  }
  for (const std::string& name : {std::string(), std::string(65, 'a'), std::string("a\nb")}) {
    const TempFolder folder;
    EXPECT_TRUE(holds(error_of(ErrorCode::invalid_config, [&] { make_authority(folder.path(), {.name = name}); }),
                      "an authority's name must be"));
  }
}

// ---- the list ----

TEST_F(Certificates, AreListed) {
  const ClientList clients = list();
  ASSERT_EQ(clients.entries().size(), 2U);
  EXPECT_EQ(clients.entries()[1].name, "bob");
  EXPECT_EQ(clients.entries()[1].id, ClientId{1});
  EXPECT_EQ(clients.find(describe_certificate(file("clients/bob.pem")).fingerprint)->id, ClientId{1});
  EXPECT_FALSE(clients.find(describe_certificate(file("server.pem")).fingerprint));
  EXPECT_FALSE(clients.find(""));
}

TEST_F(Certificates, AreRevokedInTheList) {
  const std::string fingerprint = list().find_name("alice")->fingerprint;
  revoke_client(path(), "alice");
  EXPECT_TRUE(list().find(fingerprint)->revoked);
  EXPECT_FALSE(list().find_name("bob")->revoked);
  const std::string once = read_text(file("clients.list"));
  revoke_client(path(), "alice");  // changes nothing
  EXPECT_EQ(read_text(file("clients.list")), once);
  EXPECT_TRUE(holds(error_of(ErrorCode::invalid_config, [&] { revoke_client(path(), "carol"); }), "no client carol"));
  const TempFolder empty;
  EXPECT_TRUE(holds(error_of(ErrorCode::invalid_config, [&] { revoke_client(empty.path(), "a"); }), "is missing"));
}

}  // namespace
}  // namespace feroma::test
