#include <charconv>

#include "feroma/core/error.h"
#include "feroma/data/catalog.h"
#include "feroma/drift/federation.h"
#include "feroma/net/server.h"

namespace feroma {
namespace {

constexpr std::string_view kServerPrefix = "server.";

/// "3x32x32", or one number for rows of a table.
SampleShape shape_of(const std::string& text) {
  SampleShape shape;
  std::vector<int> sides;
  const char* at = text.data();
  const char* const end = at + text.size();
  while (at < end && sides.size() < 4) {
    int side = 0;
    const auto [next, error] = std::from_chars(at, end, side);
    require(error == std::errc() && side > 0 && (next == end || *next == 'x'), ErrorCode::invalid_config,
            "server.input must be like 1x28x28, got \"{}\"", text);
    sides.push_back(side);
    at = next == end ? end : next + 1;
  }
  require(sides.size() == 3, ErrorCode::invalid_config, "server.input must be like 1x28x28, got \"{}\"", text);
  return {sides[0], sides[1], sides[2]};
}

}  // namespace

FederationPlan read_federation_plan(const Settings& settings) {
  FederationPlan plan;
  Settings scenario;
  Settings server;
  for (const auto& [key, setting] : settings) {
    (key.starts_with(kServerPrefix) ? server : scenario)[key] = setting;
  }
  Problems problems;
  SettingsReader reader(server, problems);
  reader.read(plan.server, "server");
  reader.reject_unknown();
  problems.locate(settings);
  problems.raise();
  plan.experiment = read_experiment(scenario);
  require(plan.experiment.algorithms.size() == 1, ErrorCode::invalid_config,
          "a federation runs one algorithm, the config has {}", plan.experiment.algorithms.size());
  require(plan.experiment.privacy.noise == NoiseSource::os, ErrorCode::invalid_config,
          "privacy.noise seeded protects nothing: it is for simulations");
  const std::string& dataset = plan.experiment.scenario.dataset;
  const bool described = !plan.server.input.empty() && plan.server.classes > 0;
  require(described || !is_own_dataset(dataset), ErrorCode::invalid_config,
          "server.input and server.classes must say what clients' samples are like");
  plan.input = plan.server.input.empty() ? seen_shape(find_dataset(dataset).shape, plan.experiment.scenario)
                                         : shape_of(plan.server.input);
  plan.classes = plan.server.classes > 0 ? plan.server.classes : find_dataset(dataset).classes;
  plan.multi_label = plan.server.multi_label;
  return plan;
}

}  // namespace feroma
