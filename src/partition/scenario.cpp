#include "feroma/partition/scenario.h"

#include <algorithm>

#include "feroma/partition/bank.h"
#include "feroma/partition/pool.h"
#include "feroma/partition/shares.h"

namespace feroma {
namespace {

/// 8! = 40 320 label permutations are still a list; more could not be enumerated.
constexpr int kMaxSwappedClasses = 8;
constexpr int kMaxBank = 10'000;
constexpr int kMaxDrifts = 100'000;
/// A client costs some bytes for its sequence of distributions, whether or not it ever takes part.
constexpr int kMaxClients = 1'000'000;

/// Number of subsets, capped so that it cannot overflow.
std::int64_t subsets(int classes, int chosen) {
  constexpr std::int64_t kEnough = 1'000'000'000;
  std::int64_t count = 1;
  for (int i = 1; i <= std::min(chosen, classes - chosen); ++i) {
    count = count * (classes - i + 1) / i;
    if (count > kEnough) {
      return kEnough;
    }
  }
  return count;
}

bool turns_or_tints(Shift shift) { return shift == Shift::covariate || shift == Shift::concept_feature; }
bool has_class_sets(Shift shift) { return shift == Shift::label_prior || shift == Shift::concept_feature; }

/// An option that would be ignored is a mistake, so it is reported.
void check_applicable(const ScenarioOptions& options, Problems& problems) {
  const auto applies = [&](std::string_view key, int value, bool applicable) {
    if (value != 0 && !applicable) {
      problems.add("scenario.{} must be 0 because shift \"{}\" does not use it, got {}", key, name_of(options.shift),
                   value);
    }
  };
  applies("rotations", options.rotations, turns_or_tints(options.shift));
  applies("colours", options.colours, turns_or_tints(options.shift));
  applies("bank", options.bank, has_class_sets(options.shift));
  applies("classes_per_entry", options.classes_per_entry, has_class_sets(options.shift));
  applies("swapped_classes", options.swapped_classes, options.shift == Shift::concept_label);
}

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
  const bool distinct = options.shift == Shift::concept_feature || options.generator == Generator::clean;
  const std::int64_t sets = subsets(classes, parameters.classes_per_entry);
  if (distinct && parameters.entries > sets) {
    problems.add("scenario.bank must be <= {}, the number of different sets of {} out of {} classes, got {}", sets,
                 parameters.classes_per_entry, classes, parameters.entries);
  }
}

void check_bank(const ScenarioOptions& options, int classes, Problems& problems) {
  const BankParameters parameters = bank_parameters(options, classes);
  if (options.rotations == 3) {
    problems.add("scenario.rotations must be 1, 2 or 4 (or 0 for the level's value), got 3");
  }
  if (has_class_sets(options.shift)) {
    check_class_sets(options, parameters, classes, problems);
  }
  const int most_swapped = std::min(classes, kMaxSwappedClasses);
  if (options.shift == Shift::concept_label && parameters.swapped_classes > most_swapped) {
    problems.add("scenario.swapped_classes must be <= {}, got {}", most_swapped, parameters.swapped_classes);
  }
  if (options.force_change && bank_size(options.shift, parameters) < 2) {
    problems.add("scenario.force_change must be false when there is a single distribution, got true");
  }
}

void check_stages(const ScenarioOptions& options, std::size_t train_samples, Problems& problems) {
  const auto stages = static_cast<std::size_t>(options.drifts);
  const auto clients = static_cast<std::size_t>(options.clients);
  const auto drawn = static_cast<std::size_t>(options.samples_per_client);
  const std::size_t shares = share_count(train_samples, clients, drawn);
  // The last client has the remainder of a division too, so both sizes must do.
  for (const std::size_t client : {std::size_t{0}, clients - 1}) {
    const std::size_t own = drawn > 0 ? drawn : client_slice(train_samples, clients, client).count;
    const std::size_t rows = scaled_count(own, stages, shares);
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
  check_applicable(*this, problems);
  check_bank(*this, classes, problems);
  if (drifts > rounds) {
    problems.add("scenario.drifts must be <= scenario.rounds ({}), got {}", rounds, drifts);
  } else if (drifts > kMaxDrifts) {
    problems.add("scenario.drifts must be <= {}, got {}", kMaxDrifts, drifts);
  }
  const bool stages_are_chunks = shift != Shift::label_prior || generator == Generator::clean;
  if (check_clients(*this, train_samples, test_samples, problems) && stages_are_chunks) {
    check_stages(*this, train_samples, problems);
  }
}

}  // namespace feroma
