#include "feroma/bench/requirements.h"

#include <fmt/core.h>

#include "bench/requirement_parts.h"
#include "bench/workload.h"

namespace feroma {

std::optional<bool> RequirementResult::met() const { return target ? std::optional(target->met(value)) : std::nullopt; }

std::optional<bool> Requirement::met() const {
  std::optional<bool> all;
  for (const RequirementResult& result : results) {
    if (const std::optional<bool> one = result.met()) {
      all = all.value_or(true) && *one;
    }
  }
  return all;
}

namespace detail {
namespace {

std::vector<Requirement> five_requirements() {
  return {
      {"R1",
       "fidelity: profile distances follow the distances of the data",
       {"gap_*: preset paper, Euclidean distance of two profiles less that of the data, every client and round.",
        "gap_w2_*: 2-Wasserstein of diagonal Gaussians over pixels and the one-hot label.",
        "gap_js_*: Jensen-Shannon distance (root, natural logarithm) of the joint counts of stored class and "
        "label.",
        "gap_*_scaled_*: blocks min-max scaled on the first round's profiles, as the reference code compares them.",
        "published: the paper's table eps_R1.",
        "auc_*, rank_*: preset auto, noise-aware distance, every pair of data versions once: none is its own partner.",
        "auc_w2_*, rank_*: W2 class by class, diagonal Gaussians of all latents, labels kept as far as shares allow."}},
      {"R2", "label agnosticism: a prefix of the profile needs no labels"},
      {"R3",
       "controlled stochasticity: profiles of the same data vary, within a bound",
       {"found_again_*: nobody is asked to hide here; a cached profile is the same bytes, and jitter is no privacy."}},
      {"R4",
       "differential privacy: what one record can change is bounded",
       {"Exact computations only; statistical tests of samplers and releases are in the test suite, tests/privacy."}},
      {"R5",
       "compactness: profiles cost little beside models and training",
       {"auc_*: R1's measure on profiles that are shorter or of fewer samples than preset auto's."}},
  };
}

std::vector<std::string> scenario_of(const BenchOptions& options, const std::string& dataset, std::string_view shift,
                                     std::string_view level) {
  std::vector<std::string> overrides{fmt::format("scenario.dataset={}", dataset),
                                     fmt::format("scenario.shift={}", shift), fmt::format("scenario.level={}", level)};
  if (options.quick) {
    overrides.insert(overrides.end(), {"scenario.clients=6", "scenario.rounds=9", "scenario.drifts=9"});
  }
  return overrides;
}

void measure_on_data(const BenchOptions& options, const std::string& dataset, std::vector<Requirement>& all) {
  Requirement& r1 = all[0];
  Requirement& r2 = all[1];
  Requirement& r3 = all[2];
  Requirement& r5 = all[4];
  r1.dataset = r2.dataset = r3.dataset = r5.dataset = dataset;
  for (const std::string_view level : {"low", "medium", "high"}) {
    if (options.quick && level != "medium") {
      continue;
    }
    say(options, fmt::format("preset paper on {}, P(Y|X), {}: warm-up, then profiles of every round", dataset, level));
    Probe paper("paper", scenario_of(options, dataset, "concept_label", level), options.threads);
    measure_published_fidelity(paper, level, r1);
    if (level == "medium") {
      measure_label_free(paper, "paper", r2);
      measure_covariance(paper, options.quick ? 300 : 4000, r3);
      measure_recognition(paper, "paper", r3);
    }
  }
  for (const std::string_view shift : {"covariate", "concept_feature", "label_prior", "concept_label"}) {
    say(options, fmt::format("preset auto on {}, {}, medium: warm-up, then profiles of every round", dataset, shift));
    Probe probe("auto", scenario_of(options, dataset, shift, "medium"), options.threads);
    measure_fidelity(probe, shift, r1, r5);
    if (shift == "covariate") {
      measure_label_free(probe, "auto", r2);
      measure_recognition(probe, "auto", r3);
      say(options, "preset auto to its last round, for the time of extraction");
      measure_extraction_time(probe, r5);
    }
  }
}

}  // namespace
}  // namespace detail

std::vector<Requirement> measure_requirements(const BenchOptions& options) {
  using namespace detail;
  std::vector<Requirement> all = five_requirements();
  say(options, "bounds and costs of private releases");
  measure_privacy(all[3]);
  measure_lengths(all[4]);
  const std::string dataset = available_dataset();
  if (dataset.empty()) {
    for (const std::size_t r : {0U, 1U, 2U, 4U}) {
      all[r].notes.emplace_back("not measured on data: needs mnist or fmnist (feroma data get mnist)");
    }
    return all;
  }
  if (dataset != "mnist") {
    all[0].notes.push_back(fmt::format("on {}: mnist, the published table's data, is not on this machine", dataset));
  }
  measure_on_data(options, dataset, all);
  return all;
}

}  // namespace feroma
