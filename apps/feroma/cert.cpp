#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "commands.h"
#include "feroma/net/certificates.h"
#include "feroma/net/client_list.h"
#include "owner_only.h"

namespace feroma::cli {
namespace {

namespace fs = std::filesystem;

/// What the subcommands are asked.
struct CertQuestion {
  std::string folder = "certs";
  AuthorityOptions authority;
  std::vector<std::string> server_names;
  std::string client;
  std::optional<std::uint32_t> id;
  int days = kCertificateDays;
  std::string file;
  Format format = Format::text;
};

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) {
    text += fmt::format("{}{}", text.empty() ? "" : ", ", word);
  }
  return text;
}

// ---- authority, server, client, renew, revoke ----

void make_federation_authority(const CertQuestion& question) {
  const OwnerOnly made;
  make_authority(question.folder, question.authority);
  const CertificateFiles files = authority_files(question.folder);
  fmt::print(
      "Made the authority \"{}\", valid until {}.\n"
      "  {}  copy it to the server and to every client\n"
      "  {}  keep it on this machine alone: whoever has it can let anybody in\n"
      "Next: feroma cert server NAME ... (the names or addresses by which clients reach the server)\n",
      question.authority.name, describe_certificate(files.certificate).not_after, files.certificate.string(),
      files.key.string());
}

void certify_server(const CertQuestion& question) {
  const OwnerOnly made;
  issue_server(question.folder, question.server_names, question.days);
  const CertificateFiles files = server_files(question.folder);
  const CertificateInfo info = describe_certificate(files.certificate);
  fmt::print(
      "Certified the server as {}, valid until {}.\n"
      "  {}\n"
      "  {}  secret\n"
      "Carry both to the server's machine, with {} and, once there are clients, {}.\n"
      "Next: feroma cert client NAME\n",
      joined(info.names), info.not_after, files.certificate.string(), files.key.string(),
      authority_files(question.folder).certificate.string(), client_list_file(question.folder).string());
}

/// `done` begins the sentence, `list` says what became of the list.
void print_client(const CertQuestion& question, const ClientEntry& entry, std::string_view done,
                  std::string_view list) {
  const CertificateFiles files = client_files(question.folder, entry.name);
  fmt::print(
      "{} {} as client {}, valid until {}.\n"
      "  {}\n"
      "  {}  secret\n"
      "Carry both to the machine of {}, with {}; then the key is not needed here.\n"
      "  {}  {}: carry it to the server's machine\n",
      done, entry.name, to_index(entry.id), describe_certificate(files.certificate).not_after,
      files.certificate.string(), files.key.string(), entry.name, authority_files(question.folder).certificate.string(),
      client_list_file(question.folder).string(), list);
}

void certify_client(const CertQuestion& question) {
  const OwnerOnly made;
  const std::optional<ClientId> id = question.id ? std::optional(ClientId{*question.id}) : std::nullopt;
  print_client(question, issue_client(question.folder, question.client, id, question.days), "Certified",
               "has one line more");
}

void renew(const CertQuestion& question) {
  const OwnerOnly made;
  print_client(question, renew_client(question.folder, question.client, question.days), "Renewed",
               "has the new certificate in place of the old one");
  fmt::print(
      "The old files are beside the new ones, with .old-COUNT at their ends. Restart the client with the new.\n");
}

void revoke(const CertQuestion& question) {
  const OwnerOnly made;
  revoke_client(question.folder, question.client);
  fmt::print(
      "Revoked {}.\n"
      "  {}  says so: carry it to the server's machine, which lets {} in until it has it\n",
      question.client, client_list_file(question.folder).string(), question.client);
}

// ---- list ----

struct ClientRow {
  ClientEntry entry;
  std::optional<CertificateInfo> info;  ///< where the certificate that is listed lies in the folder

  [[nodiscard]] std::string_view state() const {
    if (entry.revoked) {
      return "revoked";
    }
    return info && info->days_left < 0 ? "expired" : "allowed";
  }
};

std::vector<ClientRow> client_rows(const fs::path& folder) {
  std::vector<ClientRow> rows;
  const ClientList list = read_client_list(client_list_file(folder));
  for (const ClientEntry& entry : list.entries()) {
    rows.push_back({entry, std::nullopt});
    const fs::path path = client_files(folder, entry.name).certificate;
    if (fs::exists(path)) {
      CertificateInfo info = describe_certificate(path);
      if (info.fingerprint == entry.fingerprint) {
        rows.back().info = std::move(info);
      }
    }
  }
  return rows;
}

void list_clients(const CertQuestion& question) {
  const std::vector<ClientRow> rows = client_rows(question.folder);
  if (question.format == Format::json) {
    auto clients = nlohmann::json::array();
    for (const ClientRow& row : rows) {
      clients.push_back({{"id", to_index(row.entry.id)},
                         {"name", row.entry.name},
                         {"fingerprint", row.entry.fingerprint},
                         {"revoked", row.entry.revoked},
                         {"not_after", row.info ? nlohmann::json(row.info->not_after) : nlohmann::json()},
                         {"days_left", row.info ? nlohmann::json(row.info->days_left) : nlohmann::json()}});
    }
    fmt::print("{}\n", clients.dump(2));
    return;
  }
  std::size_t width = 4;
  for (const ClientRow& row : rows) {
    width = std::max(width, row.entry.name.size());
  }
  fmt::print("{:>10}  {:<{}}  {:<7}  {:<23}  {}\n", "id", "name", width, "state", "valid until", "fingerprint");
  for (const ClientRow& row : rows) {
    fmt::print("{:>10}  {:<{}}  {:<7}  {:<23}  {}\n", to_index(row.entry.id), row.entry.name, width, row.state(),
               row.info ? row.info->not_after : "not known here", row.entry.fingerprint);
  }
}

// ---- show ----

std::string remaining(const CertificateInfo& info) {
  return info.days_left < 0 ? "expired" : fmt::format("{} days left", info.days_left);
}

void show(const CertQuestion& question) {
  const CertificateInfo info = describe_certificate(question.file);
  if (question.format == Format::json) {
    const nlohmann::json answer{{"subject", info.subject},          {"names", info.names},
                                {"fingerprint", info.fingerprint},  {"not_before", info.not_before},
                                {"not_after", info.not_after},      {"days_left", info.days_left},
                                {"is_authority", info.is_authority}};
    fmt::print("{}\n", answer.dump(2));
    return;
  }
  fmt::print("subject      {}{}\n", info.subject, info.is_authority ? " (an authority)" : "");
  if (!info.names.empty()) {
    fmt::print("names        {}\n", joined(info.names));
  }
  fmt::print("valid        {} to {} ({})\nfingerprint  {}\n", info.not_before, info.not_after, remaining(info),
             info.fingerprint);
}

// ---- options ----

void add_folder_option(CLI::App& command, CertQuestion& question) {
  command.add_option("--folder", question.folder, "The federation's certificates")->option_text("FOLDER [certs]");
}

void add_days_option(CLI::App& command, int& days, int usual) {
  command.add_option("--days", days, "How long it is valid")->option_text(fmt::format("COUNT [{}]", usual));
}

void add_issuing_commands(CLI::App& cert, const std::shared_ptr<CertQuestion>& question) {
  CLI::App* authority = cert.add_subcommand("authority", "Make the authority that a federation's certificates rest on");
  authority->footer("Example:\n  feroma cert authority --name \"Ward study\"");
  authority->add_option("--name", question->authority.name, "What people see")->option_text("TEXT [Feroma federation]");
  add_days_option(*authority, question->authority.days, kAuthorityDays);
  add_folder_option(*authority, *question);
  authority->callback([question] { make_federation_authority(*question); });

  CLI::App* server = cert.add_subcommand("server", "Certify the server, in place of its last certificate");
  server->footer("Example:\n  feroma cert server fl.example.org 192.0.2.7");
  server->add_option("names", question->server_names, "DNS names and IP addresses by which clients reach it")
      ->required();
  add_days_option(*server, question->days, kCertificateDays);
  add_folder_option(*server, *question);
  server->callback([question] { certify_server(*question); });

  CLI::App* client = cert.add_subcommand("client", "Certify a client and add it to the list of clients");
  client->footer("Example:\n  feroma cert client ward-3 --id 3");
  client->add_option("name", question->client, "Letters, digits, dots, underscores and hyphens")->required();
  client->add_option("--id", question->id, "Its number in the federation (default: the lowest free one)")
      ->option_text("NUMBER");
  add_days_option(*client, question->days, kCertificateDays);
  add_folder_option(*client, *question);
  client->callback([question] { certify_client(*question); });

  CLI::App* renewing = cert.add_subcommand("renew", "Certify a client of the list anew, under its name and number");
  renewing->footer("Example:\n  feroma cert renew ward-3");
  renewing->add_option("name", question->client, "The client's name")->required();
  add_days_option(*renewing, question->days, kCertificateDays);
  add_folder_option(*renewing, *question);
  renewing->callback([question] { renew(*question); });

  CLI::App* revoking = cert.add_subcommand("revoke", "Shut a client out");
  revoking->footer("Example:\n  feroma cert revoke ward-3");
  revoking->add_option("name", question->client, "The client's name")->required();
  add_folder_option(*revoking, *question);
  revoking->callback([question] { revoke(*question); });
}

}  // namespace

void add_cert_command(CLI::App& app) {
  CLI::App* cert = app.add_subcommand("cert", "Certificates of a federation: authority, server and clients");
  cert->footer("Example:\n  feroma cert authority && feroma cert server fl.example.org && feroma cert client ward-3");
  cert->require_subcommand(1);
  // Shared because the callbacks outlive this function.
  const auto question = std::make_shared<CertQuestion>();
  add_issuing_commands(*cert, question);

  CLI::App* listing = cert->add_subcommand("list", "The clients of the federation");
  listing->footer("Example:\n  feroma cert list --format json");
  add_folder_option(*listing, *question);
  add_format_option(*listing, question->format);
  listing->callback([question] { list_clients(*question); });

  CLI::App* showing = cert->add_subcommand("show", "What a certificate says");
  showing->footer("Example:\n  feroma cert show certs/server.pem");
  showing->add_option("file", question->file, "A certificate in PEM form")->required()->check(CLI::ExistingFile);
  add_format_option(*showing, question->format);
  showing->callback([question] { show(*question); });
}

}  // namespace feroma::cli
