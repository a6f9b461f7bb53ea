#include <fmt/chrono.h>
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "checks.h"
#include "commands.h"
#include "feroma/core/error.h"
#include "feroma/privacy/accountant.h"
#include "feroma/privacy/ledger.h"
#include "feroma/privacy/match_quality.h"
#include "feroma/privacy/noisy_moments.h"
#include "feroma/privacy/options.h"
#include "feroma/privacy/paper_mechanism.h"

namespace feroma::cli {
namespace {

using ModeNames = std::vector<std::pair<std::string_view, PrivacyMode>>;
const ModeNames kModes{{"off", PrivacyMode::off},
                       {"paper", PrivacyMode::paper},
                       {"pure", PrivacyMode::pure},
                       {"gaussian", PrivacyMode::gaussian}};
const ModeNames kGuarantees{{"pure", PrivacyMode::pure}, {"gaussian", PrivacyMode::gaussian}};

CLI::Option* add_mode_option(CLI::App& command, PrivacyMode& mode, const ModeNames& names) {
  std::string choices;
  for (const auto& [name, value] : names) {
    choices += fmt::format("{}{}", choices.empty() ? "" : "|", name);
  }
  const auto parse = [&mode, &names, choices](const std::string& given) {
    const auto found =
        std::find_if(names.begin(), names.end(), [&](const auto& entry) { return entry.first == given; });
    if (found == names.end()) {
      throw CLI::ValidationError("--mode", fmt::format("must be one of {}, got {}", choices, given));
    }
    mode = found->second;
  };
  return command.add_option_function<std::string>("--mode", parse, "How profiles are protected")
      ->option_text(choices + (names.size() == kGuarantees.size() ? " [gaussian]" : ""));
}

/// What an operator answers for.
struct LedgerWord {
  std::string job;
  std::uint64_t releases = 0;
  double rho = 0;
  std::optional<double> epsilon;
  std::string reason;
};

/// What the subcommands are asked.
struct PrivacyQuestion {
  PrivacyMode mode = PrivacyMode::gaussian;
  double epsilon = 5;
  double delta = 1e-5;
  int releases = 20;
  int classes = 10;
  int coordinates = 10;
  bool replace_one = false;
  std::vector<std::int64_t> records{300, 1000, 2000};
  Format format = Format::text;
  std::string folder;
  LedgerWord word;

  [[nodiscard]] Neighbours neighbours() const { return replace_one ? Neighbours::replace_one : Neighbours::add_remove; }
  [[nodiscard]] PrivacyOptions options() const {
    PrivacyOptions options;
    options.mode = mode;
    options.epsilon_total = epsilon;
    options.delta_total = delta;
    options.max_releases = releases;
    return options;
  }
  [[nodiscard]] SumShape shape() const { return options().shape(coordinates, classes, /*multi_label=*/false); }
  [[nodiscard]] ReleasePlan plan() const { return options().plan(); }
};

// ---- calibrate ----

struct SizeRow {
  std::int64_t records = 0;
  double class_mean = 0;
  double marginal_mean = 0;
  double rotated = 0;
  double permuted = 0;
};

std::vector<SizeRow> size_rows(const PrivacyQuestion& question, double noise) {
  std::vector<SizeRow> rows;
  const SumShape shape = question.shape();
  const double sums = noise / (shape.sum * kFixedPoint);
  for (const std::int64_t records : question.records) {
    const auto v = static_cast<double>(records);
    rows.push_back({records, sums * question.classes / v, sums * std::sqrt(static_cast<double>(question.classes)) / v,
                    expected_match(shape, noise, records, kRotatedGroups),
                    expected_match(shape, noise, records, kPermutedGroups)});
  }
  return rows;
}

void calibrate(const PrivacyQuestion& question) {
  const ReleasePlan plan = question.plan();
  const SumShape shape = question.shape();
  const double noise = release_noise(shape, question.neighbours(), plan.release);
  const std::vector<SizeRow> rows = size_rows(question, noise);
  const bool pure = question.mode == PrivacyMode::pure;
  if (question.format == Format::json) {
    auto sizes = nlohmann::json::array();
    for (const SizeRow& row : rows) {
      sizes.push_back({{"records", row.records},
                       {"noise_class_mean", row.class_mean},
                       {"noise_marginal_mean", row.marginal_mean},
                       {"match_rotated", row.rotated},
                       {"match_permuted", row.permuted}});
    }
    const nlohmann::json answer{{"mode", pure ? "pure" : "gaussian"},
                                {"epsilon_total", question.epsilon},
                                {"delta_total", pure ? 0.0 : question.delta},
                                {"releases", question.releases},
                                {pure ? "epsilon_release" : "rho_release", plan.release},
                                {"noise_on_sums", noise / kFixedPoint},
                                {"sizes", sizes}};
    fmt::print("{}\n", answer.dump(2));
    return;
  }
  if (pure) {
    fmt::print("epsilon {} in all, {:.4g} for each of {} releases, delta 0\n", question.epsilon, plan.release,
               question.releases);
  } else {
    fmt::print("epsilon {} at delta {} in all: rho {:.5g}, {:.4g} for each of {} releases\n", question.epsilon,
               question.delta, plan.total, plan.release, question.releases);
  }
  fmt::print("noise on every sum: {:.4g} (a record changes one by at most 1)\n\n", noise / kFixedPoint);
  fmt::print("records  noise of a class mean  of the marginal mean  match, rotated  match, permuted\n");
  for (const SizeRow& row : rows) {
    fmt::print("{:>7}  {:>21.4f}  {:>20.4f}  {:>14.2f}  {:>15.2f}\n", row.records, row.class_mean, row.marginal_mean,
               row.rotated, row.permuted);
  }
  fmt::print(
      "\nNoise is in units of the bounds; groups of clients differ by 0.06 (rotated) to 0.11 (permuted labels) in "
      "class\n"
      "means. Match is the estimated share of clients that find their own group of four (chance 0.25), once\n"
      "bounds are where the records are; the first profiles of a run are noisier.\n");
}

// ---- explain ----

constexpr std::string_view kNotCovered =
    "What is not covered:\n"
    "  Model updates are not covered by this guarantee: they are trained without differential privacy.\n"
    "  A person with k records has k times the epsilon (pure) or k^2 times the rho (gaussian).\n"
    "  That a client has a distribution at all: profiles exist to tell the server which.\n"
    "  When messages are sent, and who takes part.\n";

void explain_paper(const PrivacyQuestion& question) {
  fmt::print(
      "mode paper: no DP guarantee.\n"
      "It reproduces the published noise, Laplace of scale range / (samples * {0}) on every moment. Its sensitivities "
      "hold\n"
      "for the marginal mean alone, coordinates compose, and exact bounds leave the client. What one release really "
      "is, at\n"
      "most, as epsilon (bounds taken as public; with the exact bounds it is infinite):\n\n"
      "records  worst data set  balanced classes  without labels\n",
      question.epsilon);
  for (const std::int64_t records : question.records) {
    const ComposedEpsilon composed =
        composed_epsilon(question.epsilon, {question.coordinates, question.coordinates, question.classes}, records);
    fmt::print("{:>7}  {:>14.0f}  {:>16.0f}  {:>14.0f}\n", records, composed.worst, composed.balanced,
               composed.label_free);
  }
  fmt::print("\nUse it to compare with the paper. To protect data use gaussian, or pure where delta must be 0.\n");
}

void explain_guarantee(const PrivacyQuestion& question) {
  const ReleasePlan plan = question.plan();
  const bool pure = question.mode == PrivacyMode::pure;
  fmt::print("mode {}: ({}, {})-differential privacy of the profiles, over {} releases.\n\n",
             pure ? "pure" : "gaussian", question.epsilon, pure ? "0" : fmt::format("{}", question.delta),
             question.releases);
  fmt::print(
      "What is protected: one labelled record of one client{}. Whatever a server has seen before, a client's profiles\n"
      "change the odds of any guess about one record by at most a factor of e^{} = {:.3g}{}.\n",
      question.replace_one ? " (exchanged for another)" : " (there or not)", question.epsilon,
      std::exp(question.epsilon), pure ? "" : fmt::format(", but for an event of probability {}", question.delta));
  fmt::print(
      "Against whom: the server and everybody behind it, even if it chooses model, projector, bounds and rounds badly "
      "on\n"
      "purpose. The client's own process and its operating system are trusted.\n"
      "How: counts, sums and sums of squares of clipped records, as integers, with exact {} noise from the operating\n"
      "system's generator; {:.4g} {} a release. Every release is written to the client's ledger before it "
      "leaves.\n\n{}",
      pure ? "Laplace" : "Gaussian", plan.release, pure ? "epsilon" : "rho", kNotCovered);
}

void explain_mode(const PrivacyQuestion& question) {
  switch (question.mode) {
    case PrivacyMode::off:
      fmt::print(
          "mode off: no protection. Profiles are exact moments of a client's data; whoever sees them can tell whether "
          "a\n"
          "given record was among few. Use gaussian, or pure where delta must be 0.\n");
      return;
    case PrivacyMode::paper: explain_paper(question); return;
    case PrivacyMode::pure:
    case PrivacyMode::gaussian: explain_guarantee(question); return;
  }
  unreachable();
}

// ---- audit ----

/// Why an operator gave a word; nothing where the file with it is gone.
std::string reason_in(const std::string& folder, const LedgerLine& line) {
  const std::filesystem::path file = released_path(folder, line.sequence);
  return std::filesystem::exists(file) ? read_text(file) : "";
}

void audit(const PrivacyQuestion& question) {
  const std::vector<LedgerLine> lines = audit_ledger(question.folder);
  const PrivacySpent spent = spent_by(lines, {.delta = question.delta});
  if (question.format == Format::json) {
    auto releases = nlohmann::json::array();
    for (const LedgerLine& line : lines) {
      releases.push_back({{"release", line.sequence},
                          {"kind", line.key.kind},
                          {"job", line.key.job},
                          {"version", line.key.version},
                          {"epoch", line.key.epoch},
                          {"rho", line.cost.rho},
                          {"sha256", line.digest},
                          {"reason", line.is_vouched() ? nlohmann::json(reason_in(question.folder, line)) : nullptr}});
    }
    const nlohmann::json answer{
        {"releases", releases}, {"rho", spent.rho}, {"epsilon", spent.epsilon}, {"delta", question.delta}};
    fmt::print("{}\n", answer.dump(2));
    return;
  }
  fmt::print("release  kind     job               version  epoch  rho\n");
  for (const LedgerLine& line : lines) {
    if (line.is_vouched()) {
      fmt::print("{:>7}  an operator's word on {:%Y-%m-%d}: {} releases to {} in all, rho {:.5g}; {}\n", line.sequence,
                 fmt::gmtime(line.key.epoch), line.key.version, line.key.job, line.cost.rho,
                 reason_in(question.folder, line));
      continue;
    }
    fmt::print("{:>7}  {:<7}  {:<16}  {:>7}  {:>5}  {:.5g}\n", line.sequence, line.key.kind, line.key.job,
               line.key.version, line.key.epoch, line.cost.rho);
  }
  fmt::print(
      "\n{} releases, rho {:.5g}, epsilon {:.5g} at delta {}. Every line and every released file is as it was "
      "written.\n",
      spent.releases, spent.rho, spent.epsilon, question.delta);
}

// ---- vouch ----

void vouch(const PrivacyQuestion& question) {
  const LedgerWord& word = question.word;
  Ledger ledger(question.folder, {});
  ledger.vouch(word.job, word.releases, {word.rho, word.epsilon}, word.reason);
  fmt::print("{}: line {} says that {} releases to {} are answered for; those that were missing cost rho {}\n",
             question.folder, ledger.lines().size(), word.releases, word.job, word.rho);
}

void add_vouch_command(CLI::App& privacy, const std::shared_ptr<PrivacyQuestion>& question) {
  CLI::App* vouching = privacy.add_subcommand(
      "vouch", "Answer for releases that a ledger has lost, so that its client takes part again");
  vouching->footer(
      "A client that refuses its ledger prints this command with its numbers.\nExample:\n"
      "  feroma privacy vouch /var/lib/feroma-client/hospital-a/ledger --job 0f3a --releases 3 --rho 0.02 --reason "
      "\"the disk broke\"");
  LedgerWord& word = question->word;
  vouching->add_option("folder", question->folder, "The ledger's folder; begun where it is not there")->required();
  vouching->add_option("--job", word.job, "The federation to which they were made")->required();
  vouching->add_option("--releases", word.releases, "How many there are to it in all, those in the ledger included")
      ->required();
  vouching->add_option("--rho", word.rho, "What the missing ones have spent; 0: they were not of these data")
      ->required();
  vouching->add_option("--epsilon", word.epsilon, "The same, where privacy.mode is pure");
  vouching->add_option("--reason", word.reason, "Why, for whoever audits the ledger")->required();
  vouching->callback([question] { vouch(*question); });
}

void add_budget_options(CLI::App& command, PrivacyQuestion& question) {
  const auto add = [&](const char* name, auto& value, const char* about, const char* shown) {
    return command.add_option(name, value, about)->option_text(shown);
  };
  add("--epsilon", question.epsilon, "For the whole run", "NUMBER [5]")->check(must_be_positive);
  add("--delta", question.delta, "For the whole run", "NUMBER [1e-5]")->check(CLI::Range(1e-300, 0.5));
  add("--releases", question.releases, "Profiles that a client may send", "COUNT [20]")->check(CLI::Range(1, 1000000));
  add("--records", question.records, "Sizes of clients' data", "COUNT ... [300 1000 2000]")->check(must_be_positive);
  add("--classes", question.classes, "Classes of the data", "COUNT [10]")->check(CLI::Range(1, 100000));
  add("--coordinates", question.coordinates, "Coordinates of a profile", "COUNT [10]")->check(CLI::Range(1, 10000));
  command.add_flag("--replace-one", question.replace_one, "Neighbours have one record exchanged, not one more or less");
}

}  // namespace

void add_privacy_command(CLI::App& app) {
  CLI::App* privacy =
      app.add_subcommand("privacy", "Calibrate and explain a privacy budget; audit a ledger, and vouch for one");
  privacy->footer("Example:\n  feroma privacy explain --mode gaussian --epsilon 5");
  privacy->require_subcommand(1);
  const auto question = std::make_shared<PrivacyQuestion>();

  CLI::App* calibrating =
      privacy->add_subcommand("calibrate", "The noise that a budget needs and what profiles are worth with it");
  calibrating->footer("Example:\n  feroma privacy calibrate --epsilon 5 --releases 20 --records 300 1000");
  static_cast<void>(add_mode_option(*calibrating, question->mode, kGuarantees));
  add_budget_options(*calibrating, *question);
  add_format_option(*calibrating, question->format);
  calibrating->callback([question] { calibrate(*question); });

  CLI::App* explaining = privacy->add_subcommand("explain", "What a mode protects, against whom, and what it does not");
  explaining->footer("Example:\n  feroma privacy explain --mode paper --epsilon 10 --records 300");
  add_mode_option(*explaining, question->mode, kModes)->required();
  add_budget_options(*explaining, *question);
  explaining->callback([question] { explain_mode(*question); });

  CLI::App* auditing = privacy->add_subcommand("audit", "Read a ledger and verify every line and every released file");
  auditing->footer("Example:\n  feroma privacy audit /var/lib/feroma-client/hospital-a/ledger");
  auditing->add_option("folder", question->folder, "The ledger's folder")->required()->check(CLI::ExistingDirectory);
  auditing->add_option("--delta", question->delta, "At which epsilon is told")->capture_default_str();
  add_format_option(*auditing, question->format);
  add_vouch_command(*privacy, question);
  auditing->callback([question] { audit(*question); });
}

}  // namespace feroma::cli
