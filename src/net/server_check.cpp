#include "feroma/net/server_check.h"

#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <functional>
#include <system_error>

#include "core/endpoint.h"
#include "core/listener.h"
#include "core/posix_file.h"
#include "feroma/core/error.h"
#include "feroma/core/files.h"
#include "feroma/net/certificates.h"
#include "feroma/net/codec.h"
#include "feroma/report/run_writer.h"
#include "feroma/runtime/server_context.h"
#include "feroma/store/round_log.h"
#include "net/coordinator.h"
#include "net/flower_service.h"

namespace feroma {
namespace {

namespace fs = std::filesystem;

/// What a server opens besides its clients' connections.
constexpr std::uint64_t kOwnDescriptors = 200;
/// gRPC's and the front door's own of the same connection.
constexpr std::uint64_t kDescriptorsPerClient = 2;
/// Each client's model of the last round, of the one under way, and as many again for results and what people read.
constexpr std::uint64_t kCopies = 3;
constexpr std::uint64_t kModelsBesides = 2;

/// The folder itself, or the nearest above it that is there.
fs::path nearest_folder(const fs::path& folder) {
  std::error_code ignored;
  fs::path nearest = fs::absolute(folder, ignored);
  while (!fs::exists(nearest, ignored) && nearest.has_relative_path()) {
    nearest = nearest.parent_path();
  }
  return nearest;
}

bool holds(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

// ---- what to do about it ----

constexpr const char* kNewServerCertificate =
    "make it with `feroma cert server NAME` where the authority is, and carry server.pem and server.key over";

/// What the system says where somebody else may do it.
bool is_forbidden(std::string_view text) {
  return holds(text, std::strerror(EACCES)) || holds(text, std::strerror(EPERM));
}

/// The list itself is not right, or names too few.
std::string advice_on_list(std::string_view finding) {
  return holds(finding, ": is missing") || holds(finding, "names no client that may take part")
             ? "certify clients with `feroma cert client NAME` where the authority is, and carry clients.list over"
             : "carry clients.list over again";
}

/// A certificate that is as it was made has to be made anew; what became of it on the way here has not.
std::string advice_on_server(std::string_view finding) {
  const bool is_spoilt =
      holds(finding, ": is damaged") || holds(finding, ": must be a ") || holds(finding, ": does not belong to ");
  return is_spoilt ? fmt::format(
                         "carry server.pem and server.key over again; if they are no better where the "
                         "authority is, {}",
                         kNewServerCertificate)
                   : kNewServerCertificate;
}

/// What to do about a finding of `check_certificates`; clients' own files and the authority's key need not be there.
std::string advice_on_certificates(const fs::path& folder, std::string_view finding) {
  const auto is_about = [&](const fs::path& path) { return finding.starts_with(path.string() + ":"); };
  const bool ends = holds(finding, ": expire");
  if (const std::size_t end = finding.find(": must be open to its owner alone"); end != std::string_view::npos) {
    return fmt::format("chmod 600 {}", finding.substr(0, end));
  }
  const bool is_needed = is_about(client_list_file(folder)) || is_about(server_files(folder).certificate) ||
                         is_about(server_files(folder).key) || is_about(authority_files(folder).certificate);
  if (is_needed && is_forbidden(finding)) {
    return "let the user that the server runs as read it (chown, chmod 600)";
  }
  if (holds(finding, ": is not valid before ")) {
    return "set this machine's clock, or wait";
  }
  if (finding.starts_with(client_list_file(folder).string() + ":")) {  // or a line of it
    return advice_on_list(finding);
  }
  if (is_about(server_files(folder).certificate) || is_about(server_files(folder).key)) {
    return advice_on_server(finding);
  }
  if (is_about(authority_files(folder).certificate)) {
    return ends ? "make a new authority with `feroma cert authority --folder NEW`, and every certificate anew"
                : "carry ca.pem over from where `feroma cert authority` made it";
  }
  return ends ? "give that client a new certificate with `feroma cert renew NAME` where the authority is, and carry "
                "clients.list over"
              : "take the file away, the server does without it, or carry the right one over";
}

/// The config asks for what there is not, or names a file that cannot be used.
std::string advice_on_algorithm(const Error& error) {
  return is_forbidden(error.what()) ? "let the user that the server runs as read it, or change the config"
                                    : "change the config";
}

/// A folder or a file in it that cannot be used, or one that holds what it should not.
std::string advice_on_state(const Error& error) {
  if (is_forbidden(error.what())) {
    return "let the user that the server runs as read and write there (chown), or name another one with --state";
  }
  switch (error.code()) {
    case ErrorCode::invalid_data:
      return "see \"Going back\" in docs/operations-reference.md, or name another folder with --state";
    case ErrorCode::io: return "look at the disk that it is on, or name another folder with --state";
    case ErrorCode::invalid_config:
    case ErrorCode::unsupported:
    case ErrorCode::interrupted:
    case ErrorCode::internal: break;
  }
  return "change the config, or name another folder with --state";
}

/// Models that were trained on scaled inputs are of no use without the scale, and no copy of the folder has it.
constexpr const char* kBeginAnew = "begin a new federation in another folder: name it with --state";

std::string advice_on_address(const Error& error) {
  if (error.code() == ErrorCode::invalid_config) {
    return "give an address of this machine and a port, like 127.0.0.1:7443 or 0.0.0.0:7443";
  }
  if (holds(error.what(), std::strerror(EADDRINUSE))) {
    return "end what listens there, or choose another address";
  }
  return holds(error.what(), std::strerror(EACCES)) ? "choose a port above 1023, those below are for root"
                                                    : "choose an address that this machine has";
}

// ---- addresses ----

/// An address and the option that gave it.
struct Place {
  std::string option;
  std::string address;
};

bool is_free(const std::string& address) {
  try {
    static_cast<void>(net::listen_at(address));
    return true;
  } catch (const Error&) {
    return false;
  }
}

/// Whether the second cannot be listened at beside the first, although it could alone: 0.0.0.0 takes a port everywhere.
bool is_in_the_way(const std::string& first, const std::string& second) {
  // Port 0 is any that is free: tried here, it may be the second's by chance.
  if (first.ends_with(":0") || !is_free(first) || !is_free(second)) {
    return false;
  }
  const std::vector<net::Descriptor> held = net::listen_at(first);
  return !is_free(second);
}

class Check {
 public:
  Check(const FederationPlan& plan, const ListenOptions& listen, const std::string& dashboard_address)
      : plan_(plan), listen_(listen), dashboard_address_(dashboard_address) {}

  std::vector<CheckLine> run() {
    attempt("algorithm", advice_on_algorithm, [this] { check_algorithm(); });
    ok("samples", "clients' must be {}x{}x{}, of {} classes{}", plan_.input.channels, plan_.input.height,
       plan_.input.width, plan_.classes, plan_.multi_label ? ", with several labels each" : "");
    if (listen_.certificates.empty()) {
      check_plain_text();
    } else {
      check_folder_of_certificates();
      check_clients();
    }
    if (listen_.flower) {
      attempt("flower", "do without --flower-address, or change what the line names", [this] { check_flower(); });
    }
    attempt("state", advice_on_state, [this] { check_state(); });
    if (model_bytes_ > 0) {
      attempt("disk", "make room there, or name another folder with --state", [this] { check_disk(); });
    }
    check_ports();
    check_descriptors();
    return std::move(lines_);
  }

 private:
  template <class... Args>
  void add(CheckVerdict verdict, std::string subject, std::string advice, fmt::format_string<Args...> text,
           Args&&... args) {
    lines_.push_back({verdict, std::move(subject), fmt::format(text, std::forward<Args>(args)...), std::move(advice)});
  }
  template <class... Args>
  void ok(std::string subject, fmt::format_string<Args...> text, Args&&... args) {
    add(CheckVerdict::ok, std::move(subject), "", text, std::forward<Args>(args)...);
  }

  /// Whatever ends `look` with an error is a problem of this subject; what to do may depend on which one. Whether there
  /// was none.
  template <class Look>
  bool attempt(const std::string& subject, const std::function<std::string(const Error&)>& advice, Look look) {
    try {
      look();
      return true;
    } catch (const Error& error) {
      add(CheckVerdict::problem, subject, advice(error), "{}", error.what());
    } catch (const std::exception& error) {  // the operating system's
      add(CheckVerdict::problem, subject, advice(Error(ErrorCode::io, error.what())), "{}", error.what());
    }
    return false;
  }
  template <class Look>
  bool attempt(const std::string& subject, const char* advice, Look look) {
    return attempt(
        subject, [advice](const Error&) { return std::string(advice); }, look);
  }

  [[nodiscard]] std::uint64_t clients() const { return static_cast<std::uint64_t>(plan_.experiment.scenario.clients); }

  /// As the server does when it starts.
  void check_algorithm() {
    const Experiment& experiment = plan_.experiment;
    const AlgorithmPlan& planned = experiment.algorithms.front();
    check_model(plan_, listen_);
    const ModelSpec model = experiment.model(plan_.input, plan_.classes);
    const Rng rng(static_cast<std::uint64_t>(experiment.scenario.seed));
    const ParametersPtr initial = share(initialise(model, rng.derive("init")));
    model_bytes_ = initial->shared_layout()->size * sizeof(float);
    const std::unique_ptr<Algorithm> algorithm =
        net::first_algorithm(experiment, plan_.multi_label, model, initial, rng);
    rounds_ = experiment.scenario.rounds + algorithm->extra_rounds();
    const ModelsInMessage most = algorithm->most_models(clients());
    require(plan_.server.min_clients <= experiment.scenario.clients, ErrorCode::invalid_config,
            "server.min_clients must be at most scenario.clients, {}, got {}: no round would begin",
            experiment.scenario.clients, plan_.server.min_clients);
    ok("algorithm", "{} with {} of {} bytes, {} clients, {} rounds; up to {} bytes to a client at once, {} from it",
       planned.label, experiment.training.model, model_bytes_, clients(), rounds_,
       largest_task(most.task, initial->layout()), largest_answer(most.answer, initial->layout()));
  }

  void check_plain_text() {
    if (net::is_loopback(listen_.address)) {
      add(CheckVerdict::warning, "certificates", "give --certs FOLDER (feroma cert makes one) for anything but a try",
          "none: no encryption, and everybody on this machine is whoever they say");
    } else {
      add(CheckVerdict::problem, "certificates", "give --certs FOLDER (feroma cert makes one)",
          "none, which is for loopback only, and {} is not", listen_.address);
    }
  }

  void check_folder_of_certificates() {
    const std::size_t before = lines_.size();
    for (const std::string& finding : check_certificates(listen_.certificates)) {
      // It works until then.
      const bool is_early = holds(finding, ": expires in ");
      add(is_early ? CheckVerdict::warning : CheckVerdict::problem, "certificates",
          advice_on_certificates(listen_.certificates, finding), "{}", finding);
    }
    attempt("certificates", kNewServerCertificate, [this] { check_names(); });
    if (lines_.size() == before) {
      const CertificateInfo own = describe_certificate(server_files(listen_.certificates).certificate);
      ok("certificates", "the server's is for {} and ends on {}", fmt::join(own.names, ", "), own.not_after);
    }
  }

  void check_names() {
    const fs::path path = server_files(listen_.certificates).certificate;
    CertificateInfo own;
    try {
      own = describe_certificate(path);
    } catch (const Error&) {
      return;  // was said before
    }
    require(!own.names.empty(), ErrorCode::invalid_data, "{}: names no host, so every client will refuse it",
            path.string());
  }

  void check_clients() {
    ClientList list;
    try {
      list = read_valid_client_list(client_list_file(listen_.certificates));
    } catch (const Error&) {
      return;  // so was that
    }
    std::uint64_t allowed = 0;
    for (const ClientEntry& entry : list.entries()) {
      const bool fits = to_index(entry.id) < clients();
      allowed += !entry.revoked && fits ? 1 : 0;
      if (!entry.revoked && !fits) {
        add(CheckVerdict::warning, "clients",
            "where it is to train, certify it under another name, with a free number below scenario.clients",
            "{} has id {}, so it may ask for a model but not train: ids of those who do are below scenario.clients, {}",
            entry.name, to_index(entry.id), clients());
      }
    }
    if (allowed < static_cast<std::uint64_t>(plan_.server.min_clients)) {
      // Clients of Flower are on no list.
      add(listen_.flower ? CheckVerdict::warning : CheckVerdict::problem, "clients",
          "certify more with `feroma cert client`, or lower server.min_clients",
          "{} on the list may take part, server.min_clients is {}: no round would begin", allowed,
          plan_.server.min_clients);
    } else {
      ok("clients", "{} on the list may take part, a round needs {}", allowed, plan_.server.min_clients);
    }
  }

  void check_flower() {
    net::check_flower(plan_, *listen_.flower);
    ok("flower", "clients of the Flower framework can take part");
  }

  void check_state() {
    const fs::path nearest = nearest_folder(plan_.state);
    if (!fs::is_directory(nearest)) {
      add(CheckVerdict::problem, "state", "name another folder with --state", "{}: is not a folder", nearest.string());
      return;
    }
    if (::access(nearest.c_str(), R_OK | W_OK | X_OK) != 0) {
      const int cause = errno;
      if (fs::is_directory(plan_.state)) {
        detail::fail_errno(nearest, "write in this folder", cause);
      }
      add(CheckVerdict::problem, "state",
          "make it for the user that the server runs as (install -d -o USER), or name another one with --state",
          "{}: is not there, and cannot be made in {}: {}", plan_.state.string(), nearest.string(),
          std::strerror(cause));
      return;
    }
    if (RoundLog::is_held(plan_.state)) {
      add(CheckVerdict::problem, "state", "stop that server, or name another folder with --state",
          "{}: another server is at work here", plan_.state.string());
      return;
    }
    check_access();
    const RoundLog log(plan_.state);
    if (log.job().id.empty()) {
      ok("state", "{}: no federation yet, one will begin", plan_.state.string());
      return;
    }
    if (const std::string changes = changes_since(log.job().config, plan_); !changes.empty()) {
      add(CheckVerdict::problem, "state", "give the config it was begun with, or name another folder with --state",
          "{}: holds a federation with another config ({})", plan_.state.string(), changes);
      return;
    }
    const FederationPlan begun = as_begun(plan_, log.job().config);
    if (!attempt("state", kBeginAnew, [&] { static_cast<void>(net::scales_in(log, begun)); })) {
      return;
    }
    net::prove_loadable(begun, log);
    for (const std::string& remark : log.remarks()) {
      add(CheckVerdict::warning, "state", "nothing, the server sets it right when it starts", "{}", remark);
    }
    if (const auto events = log.grown().find("events.jsonl"); events != log.grown().end()) {
      if (const std::string damage = damage_of_arrays(plan_.state, events->second.size); !damage.empty()) {
        add(CheckVerdict::warning, "state", "restore it from a backup; it is for people and nothing else depends on it",
            "{}", damage);
      }
    }
    if (const std::string damage = net::damage_of_results(begun); !damage.empty()) {
      add(CheckVerdict::warning, "state", "nothing, the server moves results/ aside and writes them anew", "{}",
          damage);
    }
    ok("state", "{}: holds this federation, {} of {} rounds are finished", plan_.state.string(), log.committed(),
       rounds_);
  }

  void check_access() {
    if (fs::exists(plan_.state) && is_open_to_others(plan_.state)) {
      add(CheckVerdict::warning, "state", fmt::format("chmod 700 {}", plan_.state.string()),
          "{}: is open to others than its owner", plan_.state.string());
    }
  }

  void check_disk() {
    const std::uint64_t needed = (clients() + kModelsBesides) * model_bytes_ * kCopies;
    const std::uint64_t free = fs::space(nearest_folder(plan_.state)).available;
    constexpr std::uint64_t kMega = 1'000'000;
    require(free >= needed, ErrorCode::io, "{} MB are free where the state is kept, up to {} MB may be needed",
            free / kMega, needed / kMega);
    ok("disk", "{} MB are free where the state is kept, up to {} MB may be needed", free / kMega, needed / kMega);
  }

  void check_ports() {
    std::vector<Place> places{{"--listen", listen_.address}};
    if (!listen_.http_address.empty()) {
      places.push_back({"--http-address", listen_.http_address});
    }
    if (listen_.flower) {
      places.push_back({"--flower-address", listen_.flower->address});
    }
    for (const Place& place : places) {
      attempt("port", advice_on_address, [&] {
        static_cast<void>(net::listen_at(place.address));
        ok("port", "{} is free", place.address);
      });
    }
    if (!dashboard_address_.empty()) {
      places.push_back({"--dashboard", dashboard_address_});
    }
    check_pairs(places);
  }

  void check_pairs(const std::vector<Place>& places) {
    for (auto second = places.begin(); second != places.end(); ++second) {
      for (auto first = places.begin(); first != second; ++first) {
        if (is_in_the_way(first->address, second->address)) {
          add(CheckVerdict::problem, "port", fmt::format("choose another address for {}", second->option),
              "{} {} takes what {} {} needs", first->option, first->address, second->option, second->address);
        }
      }
    }
  }

  void check_descriptors() {
    rlimit limit{};
    ::getrlimit(RLIMIT_NOFILE, &limit);
    const auto needed = [](std::uint64_t clients) { return kDescriptorsPerClient * clients + kOwnDescriptors; };
    const std::uint64_t least = needed(static_cast<std::uint64_t>(plan_.server.min_clients));
    const std::uint64_t all = needed(clients());
    const std::string advice = fmt::format("raise the limit: `ulimit -n {0}`, or LimitNOFILE={0} in the unit", all);
    if (limit.rlim_cur < least) {
      add(CheckVerdict::problem, "descriptors", advice, "{} may be open, a round alone needs {}", limit.rlim_cur,
          least);
    } else if (limit.rlim_cur < all) {
      add(CheckVerdict::warning, "descriptors", advice, "{} may be open, all clients at once need {}", limit.rlim_cur,
          all);
    } else {
      ok("descriptors", "{} may be open, all clients at once need {}", limit.rlim_cur, all);
    }
  }

  const FederationPlan& plan_;
  const ListenOptions& listen_;
  const std::string& dashboard_address_;
  std::vector<CheckLine> lines_;
  std::uint64_t model_bytes_ = 0;
  Round rounds_ = plan_.experiment.scenario.rounds;
};

}  // namespace

std::string_view name_of(CheckVerdict verdict) {
  switch (verdict) {
    case CheckVerdict::ok: return "ok";
    case CheckVerdict::warning: return "warning";
    case CheckVerdict::problem: return "problem";
  }
  unreachable();
}

std::vector<CheckLine> check_server(const FederationPlan& plan, const ListenOptions& listen,
                                    const std::string& dashboard_address) {
  return Check(plan, listen, dashboard_address).run();
}

bool has_problem(std::span<const CheckLine> lines) {
  return std::any_of(lines.begin(), lines.end(),
                     [](const CheckLine& line) { return line.verdict == CheckVerdict::problem; });
}

std::string check_table(std::span<const CheckLine> lines) {
  std::string table;
  for (const CheckLine& line : lines) {
    table += fmt::format("{:<8} {:<13} {}\n", name_of(line.verdict), line.subject, line.text);
    if (!line.advice.empty()) {
      table += fmt::format("{:<22} -> {}\n", "", line.advice);
    }
  }
  return table;
}

}  // namespace feroma
