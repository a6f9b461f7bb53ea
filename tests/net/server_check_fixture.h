#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "feroma/core/files.h"
#include "feroma/net/certificates.h"
#include "feroma/net/server_check.h"
#include "feroma/store/round_log.h"
#include "net/coordinator.h"
#include "net/x509.h"
#include "tests/core/expect_error.h"
#include "tests/core/temp_folder.h"

namespace feroma::net::test {

namespace fs = std::filesystem;

using feroma::test::holds;

/// A server with certificates to which nothing is wrong, until a test breaks one thing.
class ServerCheck : public ::testing::Test {
 protected:
  ServerCheck() {
    make_authority(certs_);
    issue_server(certs_, {"fed.example.org", "127.0.0.1"});
    for (const std::string name : {"site-0", "site-1", "site-2"}) {
      static_cast<void>(issue_client(certs_, name));
    }
  }

  FederationPlan plan(const std::vector<std::string>& overrides = {},
                      const std::string& algorithm = "name = 'feroma'\nwarmup_rounds = 2\n") const {
    Settings settings = parse_settings("[[algorithm]]\n" + algorithm + R"(
[scenario]
dataset = "fmnist"
clients = 3
rounds = 5
[training]
model = "lenet5"
[server]
min_clients = 3
)",
                                       "test");
    for (const std::string& override : overrides) {
      apply_override(settings, override);
    }
    FederationPlan plan = read_federation_plan(settings);
    plan.state = state_;
    return plan;
  }

  [[nodiscard]] std::vector<CheckLine> check(const FederationPlan& what) const {
    return check_server(what, {"127.0.0.1:0", certs_});
  }

  /// The only line that is not ok, which must have this verdict and subject, and advice.
  static std::string only(const std::vector<CheckLine>& lines, CheckVerdict verdict, const std::string& subject) {
    std::string text;
    for (const CheckLine& line : lines) {
      if (line.verdict != CheckVerdict::ok) {
        EXPECT_EQ(text, "") << "a second finding\n" << check_table(lines);
        EXPECT_EQ(name_of(line.verdict), name_of(verdict)) << check_table(lines);
        EXPECT_EQ(line.subject, subject);
        EXPECT_NE(line.advice, "");
        text = line.text;
      } else {
        EXPECT_EQ(line.advice, "");
      }
    }
    EXPECT_NE(text, "") << "nothing was found\n" << check_table(lines);
    EXPECT_EQ(has_problem(lines), verdict == CheckVerdict::problem);
    return text;
  }
  static std::string problem(const std::vector<CheckLine>& lines, const std::string& subject) {
    return only(lines, CheckVerdict::problem, subject);
  }
  static std::string warning(const std::vector<CheckLine>& lines, const std::string& subject) {
    return only(lines, CheckVerdict::warning, subject);
  }

  /// What to do about the only line that is not ok.
  static std::string advice(const std::vector<CheckLine>& lines) {
    const auto found = std::find_if(lines.begin(), lines.end(),
                                    [](const CheckLine& line) { return line.verdict != CheckVerdict::ok; });
    return found == lines.end() ? "" : found->advice;
  }

  /// Lets a certificate end some seconds from now.
  void redate(const fs::path& path, long seconds) const {
    const Certificate certificate = parse_certificate(read_text(path), "test");
    const PrivateKey key = parse_key(read_text(authority_files(certs_).key), "test");
    ASSERT_NE(X509_gmtime_adj(X509_getm_notAfter(certificate.get()), seconds), nullptr);
    ASSERT_GT(X509_sign(certificate.get(), key.get(), EVP_sha256()), 0);
    write_file_atomically(path, pem_of(*certificate));
  }

  /// Finishes a round as a server does before anybody has trained anything.
  static void finish_round(RoundLog& log, Round round, const FederationPlan& what) {
    const ModelSpec model = what.experiment.model(what.input, what.classes);
    const Rng rng(static_cast<std::uint64_t>(what.experiment.scenario.seed));
    const std::unique_ptr<Algorithm> algorithm =
        first_algorithm(what.experiment, what.multi_label, model, share(initialise(model, rng.derive("init"))), rng);
    log.commit(round, [&](ModelWriter& out) {
      algorithm->save(out);
      for (int file = 0; file < 3; ++file) {
        out.out().put<std::uint64_t>(0);  // no lines for people
      }
      out.out().put<std::uint32_t>(0);  // no client counted
    });
  }

  /// Begins a federation with a plan's config, as a server does.
  [[nodiscard]] RoundLog begin(const FederationPlan& what) const {
    fs::create_directory(state_);
    fs::permissions(state_, fs::perms::owner_all);
    return RoundLog(state_, [&] { return JobRecord{"job", to_toml(what.experiment.resolved())}; });
  }

  feroma::test::TempFolder folder_;
  fs::path certs_ = folder_ / "certs";
  fs::path state_ = folder_ / "federation";
};

}  // namespace feroma::net::test
