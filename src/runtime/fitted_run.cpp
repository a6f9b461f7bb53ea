#include "feroma/runtime/fitted_run.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <sstream>

#include "feroma/core/log.h"
#include "feroma/partition/scenario_data.h"
#include "feroma/partition/scenario_defaults.h"

namespace feroma {
namespace {

/// `value`, then smaller ones down to `least`.
std::vector<int> ever_fewer(int value, int least) {
  std::vector<int> values{value};
  while (values.back() > least) {
    values.push_back(std::max(least, values.back() * 3 / 4));
  }
  return values;
}

/// An error with file and line before each of its messages that is about what was written.
Error located(const Error& error, const Settings& given) {
  Problems problems;
  std::istringstream lines(error.what());
  for (std::string line; std::getline(lines, line);) {
    problems.add("{}", line);
  }
  problems.locate(given);
  return {error.code(), fmt::format("{}", fmt::join(problems.messages(), "\n"))};
}

/// Those messages of an error that are not about a key of the scenario that nobody wrote.
std::string without_defaults(const Error& error, const Defaults& defaults) {
  std::string text;
  std::istringstream lines(error.what());
  for (std::string line; std::getline(lines, line);) {
    const std::string key = line.substr(0, line.find_first_of(" :"));
    if (!key.starts_with("scenario.") || !defaults.free(key)) {
      text += (text.empty() ? "" : "\n") + line;
    }
  }
  return text;
}

/// Finds the largest federation that a dataset bears.
class Sizes {
 public:
  Sizes(const Experiment& experiment, std::shared_ptr<const Dataset> files)
      : experiment_(experiment), files_(std::move(files)) {}

  /// Changes the numbers of clients and stages where nobody wrote them; first the clients.
  std::unique_ptr<Federation> largest(ScenarioOptions& options, Defaults& defaults) const {
    const auto choices = [&](const char* key, int value, int least) {
      return defaults.free(key) ? ever_fewer(value, std::min(value, least)) : std::vector<int>{value};
    };
    std::string last;
    for (const int drifts : choices("scenario.drifts", options.drifts, 1)) {
      for (const int clients : choices("scenario.clients", options.clients, 2)) {
        ScenarioOptions tried = options;
        tried.drifts = drifts;
        tried.clients = clients;
        try {
          std::unique_ptr<Federation> federation = make(tried);
          const std::string reason = fmt::format("{} has too few samples for more", files_->name);
          defaults.adapt("scenario.clients", options.clients, clients, reason);
          defaults.adapt("scenario.drifts", options.drifts, drifts, reason);
          return federation;
        } catch (const Error& error) {
          const std::string written = without_defaults(error, defaults);
          if (error.code() != ErrorCode::invalid_config || !written.empty()) {
            throw located(Error(error.code(), written.empty() ? error.what() : written), experiment_.given);
          }
          last = error.what();
        }
      }
    }
    const std::string first = last.substr(0, last.find('\n'));
    throw located(
        Error(ErrorCode::invalid_config,
              fmt::format("scenario.dataset {} has too few samples for this scenario: {}", files_->name, first)),
        experiment_.given);
  }

 private:
  [[nodiscard]] std::unique_ptr<Federation> make(const ScenarioOptions& options) const {
    Problems problems;
    const auto dataset = scenario_data(files_, options, problems);
    options.check(dataset->classes, dataset->train.count(), dataset->test.count(), problems);
    problems.raise();
    return std::make_unique<Federation>(dataset, options);
  }

  const Experiment& experiment_;
  std::shared_ptr<const Dataset> files_;
};

bool fits(std::string_view name, SampleShape input) {
  const auto entry = std::find_if(known_models().begin(), known_models().end(),
                                  [name](const ModelEntry& known) { return known.name == name; });
  return entry == known_models().end() ||
         (input.height >= entry->smallest.height && input.width >= entry->smallest.width);
}

/// Signals have a model of their own; whatever is too small for pictures' is a row of numbers.
std::string model_for(SampleShape input) {
  const bool is_signal = input.height == 1 && input.channels > 1;
  return is_signal && fits("har-cnn", input) ? "har-cnn" : "mlp";
}

ModelSpec model_of(const Experiment& experiment, SampleShape input, int classes) {
  try {
    return experiment.model(input, classes);
  } catch (const Error& error) {
    throw located(Error(error.code(), fmt::format("training.model: {}", error.what())), experiment.given);
  }
}

void follow_samples_(Experiment& experiment, SampleShape input, int classes, Defaults& defaults) {
  if (!fits(experiment.training.model, input)) {
    defaults.adapt("training.model", experiment.training.model, model_for(input),
                   fmt::format("samples are {}x{}x{}", input.channels, input.height, input.width));
  }
  const ModelSpec model = model_of(experiment, input, classes);
  for (AlgorithmPlan& plan : experiment.algorithms) {
    plan = adapted(plan, {experiment.scenario.rounds, &model}, defaults);
  }
}

}  // namespace

bool follows_others(std::string_view key) {
  constexpr std::array<std::string_view, 4> kKeys{"scenario.drift_mode", "scenario.drifts", "scenario.clients",
                                                  "training.model"};
  return std::find(kKeys.begin(), kKeys.end(), key) != kKeys.end();
}

FittedRun fit_to_data(const Experiment& given, SharedDatasets* datasets) {
  FittedRun fitted{given, nullptr};
  ScenarioOptions& scenario = fitted.experiment.scenario;
  const auto files = datasets == nullptr ? read_scenario_files(scenario) : datasets->get(scenario);
  Defaults defaults(given.given);
  follow_data_(scenario, *files, defaults);
  fitted.federation = Sizes(fitted.experiment, files).largest(scenario, defaults);
  follow_samples_(fitted.experiment, fitted.federation->shape(), fitted.federation->classes(), defaults);
  fitted.experiment.fitted = defaults.adapted();
  return fitted;
}

Experiment fit_to_samples(Experiment experiment, SampleShape input, int classes) {
  if (experiment.has_script_model() && !std::filesystem::exists(experiment.training.model)) {
    return experiment;  // whoever needs the file says so
  }
  const Settings given = experiment.given;
  Defaults defaults(given);
  follow_samples_(experiment, input, classes, defaults);
  experiment.fitted = defaults.adapted();
  return experiment;
}

}  // namespace feroma
