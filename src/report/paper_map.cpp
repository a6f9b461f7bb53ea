#include "report/paper_map.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <utility>

#include "feroma/core/error.h"
#include "feroma/core/number.h"

namespace feroma::detail {
namespace {

using Pair = std::pair<std::string_view, std::string_view>;

// ---- The map: the paper's words and ours ----

constexpr std::array<Pair, 7> kDatasets{{{"MNIST", "mnist"},
                                         {"FMNIST", "fmnist"},
                                         {"CIFAR-10", "cifar10"},
                                         {"CIFAR-100", "cifar100"},
                                         {"UCI-HAR", "uci-har"},
                                         {"CheXpert", "chexpert"},
                                         {"Office-Home", "office-home"}}};

constexpr std::array<ShiftName, 5> kShifts{{{"P(X)", "covariate", "px"},
                                            {"P(Y)", "label_prior", "py"},
                                            {"P(Y|X)", "concept_label", "pyx"},
                                            {"P(X|Y)", "concept_feature", "pxy"},
                                            {"natural", "natural", ""}}};

constexpr std::array<Pair, 12> kMethods{{{"FedAvg", "fedavg"},
                                         {"FedRC", "fedrc"},
                                         {"FedEM", "fedem"},
                                         {"FeSEM", "fesem"},
                                         {"CFL", "cfl"},
                                         {"IFCA", "ifca"},
                                         {"pFedMe", "pfedme"},
                                         {"APFL", "apfl"},
                                         {"FedDrift", "feddrift"},
                                         {"ATP", "atp"},
                                         {"CoLA", "cola"},
                                         {"Feroma", "feroma"}}};

constexpr std::array<std::string_view, 3> kLevels{"low", "medium", "high"};
constexpr std::array<std::string_view, 3> kDrifts{"5/20", "10/20", "20/20"};
constexpr std::array<std::string_view, 4> kFourShifts{"P(X)", "P(Y)", "P(Y|X)", "P(X|Y)"};

/// The distance in training and at test time, in that order.
constexpr std::array<std::pair<std::string_view, Pair>, 4> kDistances{{{"E.C.", {"euclidean", "cosine"}},
                                                                       {"E.E.", {"euclidean", "euclidean"}},
                                                                       {"C.E.", {"cosine", "euclidean"}},
                                                                       {"C.C.", {"cosine", "cosine"}}}};

/// What every experiment of the paper has in common, unless its table says otherwise: sizes and numbers of
/// distributions are those of the level, clients move through them as the paper's generator has it, all of them are
/// there all the time.
constexpr std::array<Pair, 36> kCommon{{{"scenario.participation", "1"},
                                        {"scenario.few_labels", "20"},
                                        {"scenario.samples_per_client", "0"},
                                        {"scenario.samples_per_stage", "0"},
                                        {"scenario.first_classes", "0"},
                                        {"scenario.test_clients", "0"},
                                        {"scenario.rotations", "0"},
                                        {"scenario.colours", "0"},
                                        {"scenario.bank", "0"},
                                        {"scenario.classes_per_entry", "0"},
                                        {"scenario.swapped_classes", "0"},
                                        {"scenario.perm_bank", "0"},
                                        {"scenario.skew_min", "0"},
                                        {"scenario.skew_max", "0"},
                                        {"scenario.label_skew_min", "0"},
                                        {"scenario.label_skew_max", "0"},
                                        {"scenario.domain_factors", "0"},
                                        {"scenario.test_rule", "auto"},
                                        {"scenario.strict", "false"},
                                        {"scenario.in_turn", "false"},
                                        {"scenario.force_change", "false"},
                                        {"scenario.continual", "false"},
                                        {"scenario.max_distributions", "0"},
                                        {"scenario.random_lockers", "false"},
                                        {"attack.kind", "none"},
                                        {"membership.initial", "0"},
                                        {"membership.test_only", "0"},
                                        {"membership.arrival_rate", "0"},
                                        {"membership.departure_rate", "0"},
                                        {"membership.return_rate", "0"},
                                        {"membership.events", ""},
                                        {"training.local_epochs", "2"},
                                        {"training.batch_size", "64"},
                                        {"training.learning_rate", "0.005"},
                                        {"training.momentum", "0.9"},
                                        {"training.momentum_reset", "round"}}};

/// The privacy mode whose budgets are the paper's.
constexpr std::string_view kPaperMode = "paper";

/// Datasets on which all of the paper's experiments have LeNet-5; of the others it does not say, or has another.
constexpr std::array<std::string_view, 3> kLeNetData{"MNIST", "FMNIST", "CIFAR-10"};

/// Datasets on which the paper's experiments have inputs as they are; of the others we have none.
constexpr std::array<std::string_view, 4> kPlainInputs{"MNIST", "FMNIST", "CIFAR-10", "UCI-HAR"};

// ---- End of the map ----

template <std::size_t N>
std::string_view ours(const std::array<Pair, N>& table, std::string_view theirs, const char* what) {
  const auto found = std::find_if(table.begin(), table.end(), [&](const Pair& pair) { return pair.first == theirs; });
  require(found != table.end(), ErrorCode::invalid_data, "[report] no {} of ours is called \"{}\" in the paper", what,
          theirs);
  return found->second;
}

std::string_view our_shift(std::string_view theirs) {
  const ShiftName* shift = find_shift(theirs);
  require(shift != nullptr, ErrorCode::invalid_data, "[report] no shift of ours is called \"{}\" in the paper", theirs);
  return shift->ours;
}

bool same_value(const SettingValue& setting, const std::string& wanted) {
  const std::string text = plain_text(setting);
  const std::optional<double> a = parse_number<double>(text);
  const std::optional<double> b = parse_number<double>(wanted);
  return a && b ? std::abs(*a - *b) < 1e-9 : text == wanted;
}

/// The number behind "alpha=" or "unseen=", percent taken as a share.
std::string number_after(std::string_view variant, std::string_view start) {
  std::string_view text = variant.substr(start.size());
  const bool percent = text.ends_with('%');
  text.remove_suffix(percent ? 1U : 0U);
  const std::optional<double> value = parse_number<double>(text);
  require(value.has_value(), ErrorCode::invalid_data, "[report] variant \"{}\" must end in a number", variant);
  return fmt::format("{}", percent ? *value / 100 : *value);
}

Condition exactly(std::string key, std::string_view value) {
  return {std::move(key), std::string(value), Condition::Rule::equals, true};
}

/// The weight below which the paper drops a client: one over how many there are.
std::string paper_threshold(const std::string& clients) {
  return fmt::format("{}", 1 / parse_number<double>(clients).value_or(kSameScale));
}

/// What a variant asks of the run and of the algorithm.
void add_variant(const PublishedFigure& figure, const std::string& clients, PaperCell& cell) {
  const std::string_view variant = figure.variant;
  if (variant.starts_with("epsilon=")) {
    cell.run.push_back(exactly("privacy.epsilon_total", number_after(variant, "epsilon=")));
    cell.run.push_back(exactly("privacy.mode", kPaperMode));
    cell.told_apart_by = "privacy.mode";  // budgets mean different things by mode
  } else {
    cell.run.push_back({"privacy.mode", "off"});
  }
  if (variant.starts_with("unseen=")) {
    const std::string rate = number_after(variant, "unseen=");
    cell.run.push_back(exactly("scenario.unseen_rate", rate));
    if (rate != "0") {  // whence nobody comes is no matter
      cell.run.push_back({"scenario.unseen_from", "bank"});
    }
  } else {
    cell.run.push_back({"scenario.unseen_rate", "0"});
  }
  if (variant.starts_with("alpha=")) {
    cell.run.push_back(exactly("scenario.alpha", number_after(variant, "alpha=")));
  }
  if (variant.starts_with("M=")) {
    const std::string count(variant.substr(2, variant.find(',') - 2));
    cell.keys.push_back(exactly("profile.replicates", count));
    cell.keys.push_back({"profile.subsampling", "off", Condition::Rule::differs, true});
    const bool on = variant.ends_with("threshold on");
    cell.keys.push_back(exactly("mapping.threshold", on ? paper_threshold(clients) : "0"));
  }
  for (const auto& [name, metrics] : kDistances) {
    if (variant == name) {
      cell.keys.push_back(exactly("mapping.metric", metrics.first));
      cell.keys.push_back(exactly("assign.metric", metrics.second));
    }
  }
}

/// Few labels beside few labels, known beside known. The main tables and those of the baselines print the known
/// association on P(Y|X), the ablations few labels; of means, see few_label_parts. The paper's code tests FedAvg with
/// the one model of its best round, and all other methods after the last.
Pick pick_for(const PublishedFigure& figure, std::string_view shift) {
  if (figure.metric == "log2_seconds") {
    return Pick::seconds;
  }
  if (figure.method == "FedAvg") {
    return Pick::best_round;
  }
  if (figure.variant == "Known Association") {
    return Pick::known;
  }
  if (shift != "P(Y|X)") {
    return Pick::accuracy;
  }
  const std::string_view table = figure.table;
  if (figure.shift == "all") {  // over numbers of clients the paper has no few-label figures to take means of
    return figure.method == "Feroma" && !table.starts_with("n_client_") ? Pick::few_label : Pick::known;
  }
  const bool by_labels = table.starts_with("pyx_few_") || table.starts_with("dp_") || table.starts_with("stoc_") ||
                         table.starts_with("dft_");
  return by_labels ? Pick::few_label : Pick::known;
}

/// How training data are made and given to the model.
void add_data(const PublishedFigure& figure, const std::string& clients, PaperCell& cell) {
  const bool same = parse_number<double>(clients).value_or(kSameScale) <= kSameScale;
  cell.run.push_back(same ? Condition{kScaleRule, "none", Condition::Rule::differs} : Condition{kScaleRule, "paper"});
  if (std::find(kLeNetData.begin(), kLeNetData.end(), figure.dataset) != kLeNetData.end()) {
    cell.run.push_back({"training.model", "lenet5"});
  }
  if (std::find(kPlainInputs.begin(), kPlainInputs.end(), figure.dataset) != kPlainInputs.end()) {
    cell.run.push_back({kStandardise, "false"});
  }
}

PaperCell cell_of(const PublishedFigure& figure, std::string_view shift, std::string_view level,
                  std::string_view drift) {
  PaperCell cell;
  cell.algorithm = ours(kMethods, figure.method, "algorithm");
  cell.figure = pick_for(figure, shift);
  cell.run.push_back(exactly("scenario.dataset", our_dataset(figure.dataset)));
  const bool series = figure.dataset == "UCI-HAR";
  const bool natural = shift == "natural";
  cell.run.push_back(exactly("scenario.shift", series ? "dirichlet" : our_shift(shift)));
  if (!series && !natural) {
    cell.run.push_back(exactly("scenario.generator", "feroma"));
    cell.run.push_back({"scenario.drift_mode", "trDR_teND"});
  }
  if (series) {  // its table does not say, but all of the paper's runs are as long, and here nobody moves
    cell.run.push_back(exactly("scenario.drift_mode", "static"));
    cell.run.push_back(exactly("scenario.rounds", "20"));
  }
  if (!level.empty()) {
    cell.run.push_back(exactly("scenario.level", level));
  }
  if (!drift.empty()) {
    cell.run.push_back(exactly("scenario.drifts", drift.substr(0, drift.find('/'))));
    cell.run.push_back(exactly("scenario.rounds", drift.substr(drift.find('/') + 1)));
  }
  const std::string clients = !figure.clients.empty() ? figure.clients : series ? "10" : "20";
  if (!natural) {  // the paper does not say with how many clients it ran natural shifts
    cell.run.push_back(exactly("scenario.clients", clients));
  }
  for (const auto& [key, value] : kCommon) {
    cell.run.push_back({std::string(key), std::string(value)});
  }
  add_data(figure, clients, cell);
  add_variant(figure, clients, cell);
  return cell;
}

std::vector<std::string_view> shifts_of(const PublishedFigure& figure) {
  const bool natural = figure.dataset == "CheXpert" || figure.dataset == "Office-Home";
  if (figure.shift == "all" && !natural) {
    return {kFourShifts.begin(), kFourShifts.end()};
  }
  if (figure.shift.empty()) {
    return {"P(X)"};  // table "unseen": its first column is that of P(X) medium
  }
  return {natural ? std::string_view("natural") : std::string_view(figure.shift)};
}

std::vector<std::string_view> levels_of(const PublishedFigure& figure) {
  if (figure.level == "all" && figure.dataset != "Office-Home") {
    return {kLevels.begin(), kLevels.end()};
  }
  return {figure.level == "all" ? std::string_view() : std::string_view(figure.level)};
}

std::vector<std::string_view> drifts_of(const PublishedFigure& figure) {
  if (figure.drift == "all" || figure.table == "unseen") {
    return {kDrifts.begin(), kDrifts.end()};
  }
  // The tables of client numbers do not say; with 20 clients they are near the column 10/20 of the main ones.
  return {figure.table.starts_with("n_client_") ? std::string_view("10/20") : std::string_view(figure.drift)};
}

}  // namespace

const ShiftName* find_shift(std::string_view name) {
  const auto found = std::find_if(kShifts.begin(), kShifts.end(), [name](const ShiftName& shift) {
    return shift.published == name || shift.ours == name;
  });
  return found == kShifts.end() ? nullptr : &*found;
}

std::string_view our_dataset(std::string_view published) { return ours(kDatasets, published, "dataset"); }

bool Condition::met_by(const Settings& settings) const {
  const auto found = settings.find(key);
  if (found == settings.end()) {
    return !must_exist;
  }
  switch (rule) {
    case Rule::equals: return same_value(found->second.value, value);
    case Rule::differs: return !same_value(found->second.value, value);
  }
  unreachable();
}

std::optional<double> pick(Pick what, const ResultRecord& result) {
  const auto finite = [](std::optional<double> value) { return value && std::isfinite(*value) ? value : std::nullopt; };
  switch (what) {
    case Pick::accuracy: return finite(result.accuracy);
    case Pick::known: return finite(result.accuracy_known);
    case Pick::few_label: return finite(result.accuracy_few_label);
    case Pick::few_label_or_known:
      return result.accuracy_few_label ? finite(result.accuracy_few_label) : finite(result.accuracy_known);
    case Pick::best_round: return finite(result.accuracy_best_round.value_or(result.accuracy));
    case Pick::seconds: return result.seconds_total > 0 ? finite(result.seconds_total) : std::nullopt;
  }
  unreachable();
}

bool PaperCell::met_by(const RunEntry& entry, const OurResult& result) const {
  const auto all = [](const std::vector<Condition>& conditions, const Settings& settings) {
    return std::all_of(conditions.begin(), conditions.end(),
                       [&](const Condition& condition) { return condition.met_by(settings); });
  };
  const auto published = [&result](const Pair& method) { return method.second == result.result.algorithm; };
  const bool wanted = algorithm.empty() ? std::none_of(kMethods.begin(), kMethods.end(), published)
                                        : result.result.algorithm == algorithm;
  return wanted && all(run, entry.config) && all(keys, result.algorithm);
}

bool PaperCell::is_variant(const OurResult& result) const {
  return std::any_of(result.altered.begin(), result.altered.end(), [this](const std::string& altered) {
    return std::none_of(keys.begin(), keys.end(), [&](const Condition& asked) { return asked.key == altered; });
  });
}

bool headings_are_swapped(std::string_view table) { return table.starts_with("dft_"); }

std::pair<std::string_view, std::string_view> behind_heading(std::string_view level, std::string_view drift) {
  const auto row = std::find(kLevels.begin(), kLevels.end(), level) - kLevels.begin();
  const auto column = std::find(kDrifts.begin(), kDrifts.end(), drift) - kDrifts.begin();
  require(row < std::ssize(kLevels) && column < std::ssize(kDrifts), ErrorCode::invalid_data,
          "[report] a table of distances must have a level and a drift, got \"{}\" and \"{}\"", level, drift);
  return {kLevels[static_cast<std::size_t>(column)], kDrifts[static_cast<std::size_t>(row)]};
}

std::vector<PaperCell> cells_of(const PublishedFigure& figure) {
  std::vector<PaperCell> cells;
  for (const std::string_view shift : shifts_of(figure)) {
    for (const std::string_view level : levels_of(figure)) {
      for (const std::string_view drift : drifts_of(figure)) {
        const auto [true_level, true_drift] =
            headings_are_swapped(figure.table) ? behind_heading(level, drift) : std::pair(level, drift);
        cells.push_back(cell_of(figure, shift, true_level, true_drift));
      }
    }
  }
  return cells;
}

}  // namespace feroma::detail
