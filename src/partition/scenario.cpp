#include "feroma/partition/scenario.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "feroma/partition/bank.h"
#include "feroma/partition/option_use.h"
#include "feroma/partition/partitioners.h"
#include "feroma/partition/pool.h"
#include "feroma/partition/shares.h"
#include "feroma/partition/skew.h"

namespace feroma {
namespace {

constexpr int kMaxBank = 10'000;
constexpr int kMaxDrifts = 100'000;
/// Reports and the live page have a place for every round.
constexpr int kMaxRounds = 1'000'000;
/// A client costs some bytes for its sequence of distributions, whether or not it ever takes part.
constexpr int kMaxClients = 1'000'000;

void check_class_sets(const ScenarioOptions& options, const BankParameters& parameters, int classes,
                      Problems& problems) {
  if (parameters.classes_per_entry > classes) {
    problems.add("scenario.classes_per_entry must be <= the dataset's {} classes, got {}", classes,
                 parameters.classes_per_entry);
    return;
  }
  if (parameters.entries > kMaxBank) {
    problems.add("scenario.bank must be <= {}, got {}", kMaxBank, parameters.entries);
    return;
  }
  const std::optional<std::int64_t> sets = most_class_sets(options, classes);
  if (sets && parameters.entries > *sets) {
    problems.add("scenario.bank must be <= {}, the number of different sets of {} out of {} classes, got {}", *sets,
                 parameters.classes_per_entry, classes, parameters.entries);
  }
}

void check_permutations(const ScenarioOptions& options, const BankParameters& parameters, int classes,
                        Problems& problems) {
  // Ten classes keep a list of all permutations: there, a pool too large to list is more likely a slip.
  const bool listed = options.perm_bank == 0 && classes <= 10;
  const int most_swapped = listed ? std::min(classes, kMaxListedClasses) : classes;
  if (parameters.swapped_classes > most_swapped) {
    problems.add("scenario.swapped_classes must be <= {}, got {}", most_swapped, parameters.swapped_classes);
    return;
  }
  const std::int64_t most_listed = std::min<std::int64_t>(bank_size(options.shift, parameters), kMaxBank);
  if (options.perm_bank > most_listed) {
    problems.add("scenario.perm_bank must be <= {}, got {}", most_listed, options.perm_bank);
  }
  if (has_fresh_permutations(options, classes) &&
      std::int64_t{options.clients} * (std::int64_t{options.drifts} + 1) > std::numeric_limits<int>::max()) {
    problems.add(
        "scenario.clients times scenario.drifts must fit in 31 bits where each has its own permutation, got "
        "{} and {}",
        options.clients, options.drifts);
  }
}

/// How many distributions there must be to choose from, beyond one.
void check_choice(const ScenarioOptions& options, int classes, const BankParameters& parameters, Problems& problems) {
  if (has_fresh_permutations(options, classes)) {
    return;
  }
  const std::int64_t listed = options.perm_bank > 0 ? options.perm_bank : bank_size(options.shift, parameters);
  if (options.force_change && listed < 2) {
    problems.add("scenario.force_change must be false when there is a single distribution, got true");
  } else if (tests_drift(options.drift_mode) && listed < (options.force_change ? 3 : 2)) {
    problems.add("scenario.drift_mode must not test on new distributions when there are only {}, got \"{}\"", listed,
                 name_of(options.drift_mode));
  } else if (options.test_rule == TestRule::seen_once && listed < 3) {
    problems.add("scenario.test_rule must not be seen_once with fewer than 3 distributions, got {}", listed);
  }
}

void check_bank(const ScenarioOptions& options, int classes, Problems& problems) {
  const BankParameters parameters = bank_parameters(options, classes);
  if (has_class_sets(options)) {
    check_class_sets(options, parameters, classes, problems);
  } else if (parameters.classes_per_entry > classes) {
    problems.add("scenario.classes_per_entry must be <= the dataset's {} classes, got {}", classes,
                 parameters.classes_per_entry);
  }
  if (options.shift == Shift::concept_label) {
    check_permutations(options, parameters, classes, problems);
  }
  if (options.in_turn && has_fresh_permutations(options, classes)) {
    problems.add("scenario.in_turn must be false where each client has its own permutation, got true");
  }
  check_choice(options, classes, parameters, problems);
  if (options.unseen_rate > 0 && held_out_size(options, classes) == 0) {
    problems.add(
        "scenario.unseen_rate must be 0 because training leaves no distribution of shift \"{}\" unseen, got "
        "{}",
        name_of(options.shift), options.unseen_rate);
  }
}

void check_sequence(const ScenarioOptions& options, Problems& problems) {
  if (options.force_change && options.continual) {
    problems.add("scenario.force_change must be false with scenario.continual: a client may run out of new ones");
  }
  if (options.force_change && options.max_distributions == 1) {
    problems.add("scenario.max_distributions must not be 1 with scenario.force_change");
  }
  if (options.test_rule == TestRule::seen_once) {
    if (options.drifts < 2) {
      problems.add("scenario.drifts must be >= 2 with test_rule \"seen_once\", got {}", options.drifts);
    }
    if (options.continual || options.max_distributions > 0) {
      problems.add(
          "scenario.test_rule must not be seen_once with continual or max_distributions, which keep clients "
          "where they are");
    }
  }
}

void check_skew(const ScenarioOptions& options, int classes, Problems& problems) {
  const SkewParameters parameters = skew_parameters(options, classes);
  const auto ordered = [&](std::string_view key, double low, double high) {
    if (low > high) {
      problems.add("scenario.{}_min must be <= scenario.{}_max ({}), got {}", key, key, high, low);
    }
  };
  ordered("skew", options.skew_min, options.skew_max);
  ordered("label_skew", options.label_skew_min, options.label_skew_max);
  if (appearance_of(options.shift) == Shift::concept_label && parameters.skew.high > 1) {
    problems.add("scenario.skew_max must be <= 1, a probability, got {}", parameters.skew.high);
  }
  const auto at_most_classes = [&](std::string_view key, int value) {
    if (value > classes) {
      problems.add("scenario.{} must be <= the dataset's {} classes, got {}", key, classes, value);
    }
  };
  at_most_classes("classes_per_entry", parameters.targeted_classes);
  at_most_classes("swapped_classes", parameters.swapped_classes);
  at_most_classes("classes_per_client", parameters.classes_per_client);
}

void check_stages(const ScenarioOptions& options, std::size_t train_samples, Problems& problems) {
  const auto stages = static_cast<std::size_t>(options.drifts);
  const auto clients = static_cast<std::size_t>(options.clients);
  const auto drawn = static_cast<std::size_t>(options.samples_per_client);
  const std::size_t shares = share_count(train_samples, clients, drawn);
  // The last client has the remainder of a division too, so both sizes must do.
  for (const std::size_t client : {std::size_t{0}, clients - 1}) {
    const std::size_t own = drawn > 0 ? drawn : client_slice(train_samples, clients, client).count;
    const std::size_t rows = scaled_count(own, stages, shares, scale_rule(options));
    if (stage_slice(rows, stages, stages - 1).count == 0) {
      problems.add("scenario.drifts must leave every stage some samples; client {} has {} for its stages, got {}",
                   client, rows, options.drifts);
      return;
    }
  }
}

/// How many clients there are and what each of them has; false where that makes no sense.
bool check_clients(const ScenarioOptions& options, std::size_t train_samples, std::size_t test_samples,
                   Problems& problems) {
  const std::size_t problems_before = problems.messages().size();
  const bool draws = options.samples_per_client != 0;
  const std::size_t most_clients = draws ? kMaxClients : std::min(train_samples, test_samples);
  if (options.clients < 1 || options.drifts < 1) {
    problems.add("scenario.clients and scenario.drifts must be >= 1, got {} and {}", options.clients, options.drifts);
  } else if (static_cast<std::size_t>(options.clients) > most_clients) {
    const std::string_view reason = draws ? "" : " so that each has a training and a test sample";
    problems.add("scenario.clients must be <= {}{}, got {}", most_clients, reason, options.clients);
  } else if (options.shift == Shift::dirichlet &&
             static_cast<std::size_t>(options.clients) > train_samples / kDirichletMinimum) {
    problems.add("scenario.clients must be <= {} so that each can have {} samples, got {}",
                 train_samples / kDirichletMinimum, kDirichletMinimum, options.clients);
  }
  if (options.samples_per_client < 0 || static_cast<std::size_t>(options.samples_per_client) > train_samples) {
    problems.add("scenario.samples_per_client must be in 0..{}, the dataset's training samples, got {}", train_samples,
                 options.samples_per_client);
  }
  if (options.test_clients < 0 || options.test_clients > options.clients) {
    problems.add("scenario.test_clients must be in 0..scenario.clients ({}), got {}", options.clients,
                 options.test_clients);
  }
  return problems.messages().size() == problems_before;
}

}  // namespace

void ScenarioOptions::check(int classes, std::size_t train_samples, std::size_t test_samples,
                            Problems& problems) const {
  check_option_use(*this, problems);
  if (rotations == 3) {
    problems.add("scenario.rotations must be 1, 2 or 4 (or 0 for the level's value), got 3");
  }
  if (has_bank(*this) && shift != Shift::natural) {
    check_bank(*this, classes, problems);
  } else if (!has_bank(*this)) {
    check_skew(*this, classes, problems);
  }
  check_sequence(*this, problems);
  if (rounds > kMaxRounds) {
    problems.add("scenario.rounds must be <= {}, got {}", kMaxRounds, rounds);
  }
  if (drifts > rounds) {
    problems.add("scenario.drifts must be <= scenario.rounds ({}), got {}", rounds, drifts);
  } else if (drifts > kMaxDrifts) {
    problems.add("scenario.drifts must be <= {}, got {}", kMaxDrifts, drifts);
  }
  const bool stages_are_chunks =
      has_stages(drift_mode) && is_single(shift) && (shift != Shift::label_prior || generator == Generator::clean);
  if (check_clients(*this, train_samples, test_samples, problems) && stages_are_chunks) {
    check_stages(*this, train_samples, problems);
  }
}

bool has_bank(const ScenarioOptions& options) {
  return options.shift == Shift::natural ||
         (is_single(options.shift) && (has_stages(options.drift_mode) || options.strict));
}

ScaleRule scale_rule(const ScenarioOptions& options) {
  if (!has_stages(options.drift_mode) || options.shift == Shift::natural) {
    return ScaleRule::none;
  }
  if (options.scale_rule != ScaleRule::automatic) {
    return options.scale_rule;
  }
  const bool unscaled = options.generator == Generator::anda_2024 && options.shift == Shift::label_prior;
  return unscaled ? ScaleRule::none : ScaleRule::code;
}

TestRule test_rule(const ScenarioOptions& options) {
  if (options.test_rule != TestRule::automatic) {
    return options.test_rule;
  }
  switch (options.drift_mode) {
    case DriftMode::fixed: return TestRule::own_last;
    case DriftMode::trND_teDR:
    case DriftMode::trDA_teDR:
    case DriftMode::trDR_teDR: return TestRule::unseen;
    case DriftMode::trDA_teND: return TestRule::own_seen;
    case DriftMode::trDR_teND: break;
  }
  if (options.generator == Generator::anda_2024) {
    return TestRule::own_seen;
  }
  // Permuted labels cannot be told from unlabelled data; there everyone is tested on its own last distribution.
  return options.shift == Shift::concept_label ? TestRule::own_last : TestRule::last_list;
}

int unseen_clients(const ScenarioOptions& options) {
  const int clients = options.test_clients == 0 ? options.clients : options.test_clients;
  return static_cast<int>(std::lround(options.unseen_rate * clients));
}

}  // namespace feroma
