#include "requirements.h"

#include <fmt/core.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "feroma/core/build_info.h"

namespace feroma::cli {
namespace {

/// Counts in full, everything else to five digits.
std::string number_text(double value) {
  constexpr double kLargestCount = 1e9;
  const bool count = value == std::floor(value) && std::abs(value) < kLargestCount;
  return count ? fmt::format("{:.0f}", value) : fmt::format("{:.5g}", value);
}

std::string answer_text(std::optional<bool> met) { return !met ? "-" : (*met ? "yes" : "no"); }

nlohmann::ordered_json answer_json(std::optional<bool> met) {
  return met ? nlohmann::ordered_json(*met) : nlohmann::ordered_json(nullptr);
}

void print_requirements_text(const std::vector<Requirement>& requirements, const Machine& machine,
                             const BenchOptions& options) {
  fmt::print("{}, {} cores, {}, {} threads{}\n", machine.cpu, machine.cores, machine.simd_target, options.threads,
             options.quick ? ", quick: do not quote" : "");
  for (const Requirement& requirement : requirements) {
    fmt::print("\n{}  {}: {}\n", requirement.id, requirement.title,
               requirement.met() ? (*requirement.met() ? "met" : "not met") : "not measured");
    if (!requirement.results.empty()) {
      fmt::print("  {:<40}  {:>9}  {:>9}  {:>9}  {:>3}  {}\n", "", "measured", "published", "target", "met", "what");
    }
    for (const RequirementResult& result : requirement.results) {
      fmt::print("  {:<40}  {:>9}  {:>9}  {:>9}  {:>3}  {}\n", result.name, number_text(result.value),
                 result.published ? number_text(*result.published) : "-", target_text(result.target),
                 answer_text(result.met()), result.what);
    }
    for (const std::string& note : requirement.notes) {
      fmt::print("  - {}\n", note);
    }
  }
}

nlohmann::ordered_json requirement_json(const Requirement& requirement) {
  nlohmann::ordered_json json{
      {"title", requirement.title}, {"met", answer_json(requirement.met())}, {"notes", requirement.notes}};
  json["dataset"] =
      requirement.dataset.empty() ? nlohmann::ordered_json() : nlohmann::ordered_json(requirement.dataset);
  json["results"] = nlohmann::ordered_json::object();
  for (const RequirementResult& result : requirement.results) {
    nlohmann::ordered_json one{{"value", result.value}, {"published", nullptr}, {"target", nullptr}};
    if (result.published) {
      one["published"] = *result.published;
    }
    if (result.target) {
      one["target"] = target_text(result.target);
    }
    one["met"] = answer_json(result.met());
    one["what"] = result.what;
    json["results"][result.name] = std::move(one);
  }
  return json;
}

void print_requirements_json(const std::vector<Requirement>& requirements, const Machine& machine,
                             const BenchOptions& options) {
  const BuildInfo build = build_info();
  nlohmann::ordered_json json{{"version", build.version}, {"commit", build.commit},     {"cpu", machine.cpu},
                              {"cores", machine.cores},   {"threads", options.threads}, {"simd", machine.simd_target},
                              {"quick", options.quick}};
  json["requirements"] = nlohmann::ordered_json::object();
  for (const Requirement& requirement : requirements) {
    json["requirements"][requirement.id] = requirement_json(requirement);
  }
  fmt::print("{}\n", json.dump(2));
}

}  // namespace

void print_requirements(const std::vector<Requirement>& requirements, const BenchOptions& options, Format format) {
  const Machine machine = this_machine();
  switch (format) {
    case Format::text: print_requirements_text(requirements, machine, options); break;
    case Format::json: print_requirements_json(requirements, machine, options); break;
  }
}

}  // namespace feroma::cli
