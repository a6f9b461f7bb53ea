#include "report/cost_table.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "feroma/report/statistics.h"
#include "report/paper_filler.h"
#include "report/run_keys.h"

namespace feroma::detail {
namespace {

constexpr double kBytesPerFloat = 4;
constexpr double kKilo = 1000;
constexpr double kKilobytesPerSecond = 20'000;  // the paper's 20 MB/s

/// Kilobytes per client and round in one setting, one value per seed.
struct Seeds {
  const RunEntry* run = nullptr;  ///< one of those behind them
  std::vector<double> up;
  std::vector<double> down;
};
/// By setting.
using Traffic = std::map<std::string, Seeds>;

/// Digits have three channels, as in the paper's model, only under the shifts that tint them.
bool has_paper_inputs(const CostModel& model, const RunEntry& run) {
  const std::string shift = text_of(run, "scenario.shift");
  return shift == "covariate" || shift == "concept_feature" || model.dataset != "mnist";
}

/// The paper's methods of the table, and ours.
constexpr std::array<std::pair<const char*, const char*>, 2> kPublishedMethods{
    {{"FedAvg", "fedavg"}, {"Feroma", "feroma"}}};

/// Whether a run can be measured for a model of the table. Variants of a preset and noised profiles have other sizes.
bool fits(const CostModel& model, const RunEntry& run, const OurResult& result) {
  return !result.result.not_applicable && result.altered.empty() && !model.model.empty() &&
         text_of(run, "training.model") == model.model && text_of(run, "scenario.dataset") == model.dataset &&
         privacy_mode(run) == "off" && has_paper_inputs(model, run);
}

/// What every label sent and received whose runs fit.
std::map<std::string, Traffic> measured(const CostModel& model, const std::string& algorithm, const RunSet& set,
                                        const std::vector<OurResult>& results) {
  std::map<std::string, Traffic> traffic;
  for (const OurResult& result : results) {
    const RunEntry& run = set.runs[result.run];
    if (result.result.algorithm == algorithm && fits(model, run, result)) {
      Seeds& seeds = traffic[result.label][result.setting];
      seeds.run = &run;
      seeds.up.push_back(result.result.bytes_up_per_client_round / kKilo);
      seeds.down.push_back(result.result.bytes_down_per_client_round / kKilo);
    }
  }
  return traffic;
}

PaperValue published_value(const PublishedFigure* figure) {
  PaperValue value;
  value.figure = figure;
  if (figure != nullptr) {
    value.published = figure->mean;
  }
  return value;
}

/// A mean over settings, so that the spread and the number of seeds are those over seeds.
PaperValue measured_value(const PublishedFigure* figure, const Traffic& traffic, std::vector<double> Seeds::*way) {
  std::vector<MeanDeviation> spreads;
  Origin origin;
  for (const auto& [setting, seeds] : traffic) {
    spreads.push_back(*mean_and_deviation(seeds.*way));
    origin.add(*seeds.run, /*leveled=*/true);
  }
  PaperValue value = published_value(figure);
  value.cells_needed = std::max<std::size_t>(spreads.size(), 1);
  value = mean_over_cells(spreads, value);
  origin.write_to(value);
  return value;
}

/// What is computed and not measured is no result of ours.
PaperValue computed_value(const PublishedFigure* figure, double computed) {
  PaperValue value = mean_over_cells({{computed, std::nullopt, 0}}, published_value(figure));
  value.comparable = false;
  value.aside = true;
  return value;
}

PaperRow row_of(const CostModel& model, const std::string& method, const std::string& label,
                const std::vector<PublishedFigure>& published, const Traffic& traffic) {
  const auto find = [&](std::string_view metric) -> const PublishedFigure* {
    const auto found = std::find_if(published.begin(), published.end(), [&](const PublishedFigure& figure) {
      return figure.table == "comm_cost" && figure.variant == model.variant && figure.method == method &&
             figure.metric == metric;
    });
    return found == published.end() ? nullptr : &*found;
  };
  const PublishedFigure* bytes = find("kilobytes_per_client_round");
  const std::int64_t floats = method == "Feroma" ? model.profile_floats : 0;
  const double analytic = kBytesPerFloat * static_cast<double>(model.numbers + floats) / kKilo;
  const PublishedFigure* beside = model.model.empty() ? nullptr : bytes;  // who is not run cannot be measured
  return {
      fmt::format("{} {}", model.variant, method),
      label,
      {measured_value(beside, traffic, &Seeds::up), measured_value(beside, traffic, &Seeds::down),
       computed_value(bytes, analytic), computed_value(find("seconds_as_printed"), analytic / kKilobytesPerSecond)}};
}

}  // namespace

const std::vector<CostModel>& cost_models() {
  static const std::vector<CostModel> kModels{
      {"LeNet5 62K", "mnist", "lenet5", 62'006, 220},
      {"ResNet-9 1.65M", "cifar100", "resnet9", 6'779'628, 2'020},
      {"ViT-B/16 86M", "cifar100", "", vit_b16_parameters(100), 2'020},
  };
  return kModels;
}

bool is_in_cost_table(const RunEntry& run, const OurResult& result) {
  const bool is_published = std::any_of(kPublishedMethods.begin(), kPublishedMethods.end(),
                                        [&](const auto& method) { return method.second == result.result.algorithm; });
  return is_published && std::any_of(cost_models().begin(), cost_models().end(),
                                     [&](const CostModel& model) { return fits(model, run, result); });
}

void fill_cost_table(const std::vector<PublishedFigure>& published, const RunSet& set,
                     const std::vector<OurResult>& results, PaperTable& table) {
  table.columns = {{"kB up, measured", false, 2},
                   {"kB down, measured", false, 2},
                   {"kB, analytic", false, 2},
                   {"s at 20 MB/s, analytic", false, 4}};
  for (const CostModel& model : cost_models()) {
    for (const auto& [method, algorithm] : kPublishedMethods) {
      const std::map<std::string, Traffic> labels = measured(model, algorithm, set, results);
      for (const auto& [label, traffic] : labels) {
        table.rows.push_back(row_of(model, method, label, published, traffic));
      }
      if (labels.empty()) {
        table.rows.push_back(row_of(model, method, "", published, {}));
      }
    }
  }
  table.notes = {
      "analytic: 4 bytes for each number of the model and of the paper's profile (220 for 10 classes, 2020 for 100); "
      "ViT-B/16 is not run here, its row is analytic",
      "measured: runs without privacy on digits of three channels (P(X) and P(X|Y)), whose model is the paper's",
      "measured is a mean over settings; ± is the root of the mean squared spread over their seeds",
      "ResNet-9 for 100 classes has 6.78 million parameters; the paper states 1.65 million",
      "the paper's seconds are those of 0.5 MB/s, not of the 20 MB/s it states",
      "differences are taken of measured bytes alone"};
}

}  // namespace feroma::detail
