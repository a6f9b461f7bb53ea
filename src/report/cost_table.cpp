#include "report/cost_table.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <utility>

#include "feroma/report/statistics.h"

namespace feroma::detail {
namespace {

constexpr double kBytesPerFloat = 4;
constexpr double kKilo = 1000;
constexpr double kKilobytesPerSecond = 20'000;  // the paper's 20 MB/s

/// Mean kilobytes per client and round of every label whose runs fit, up and down.
using Traffic = std::map<std::string, std::pair<std::vector<double>, std::vector<double>>>;

Traffic measured(const CostModel& model, const std::string& algorithm, const RunSet& set,
                 const std::vector<OurResult>& results) {
  Traffic traffic;
  const auto is = [](const RunEntry& run, const char* key, std::string_view value) {
    const auto found = run.config.find(key);
    return found != run.config.end() && plain_text(found->second.value) == value;
  };
  for (const OurResult& result : results) {
    const RunEntry& run = set.runs[result.run];
    // Digits have three channels, as in the paper's model, only where they are tinted.
    const bool tinted = (is(run, "scenario.shift", "covariate") || is(run, "scenario.shift", "concept_feature")) &&
                        !is(run, "scenario.level", "low");
    if (result.result.algorithm == algorithm && !result.result.not_applicable && !model.model.empty() &&
        is(run, "training.model", model.model) && is(run, "scenario.dataset", model.dataset) &&
        (tinted || model.dataset != "mnist")) {
      traffic[result.label].first.push_back(result.result.bytes_up_per_client_round / kKilo);
      traffic[result.label].second.push_back(result.result.bytes_down_per_client_round / kKilo);
    }
  }
  return traffic;
}

PaperValue value_of(const PublishedFigure* figure, const std::vector<double>& values) {
  PaperValue value;
  value.figure = figure;
  if (figure != nullptr) {
    value.published = figure->mean;
  }
  if (const std::optional<MeanDeviation> spread = mean_and_deviation(values)) {
    value.ours = spread->mean;
    value.ours_std = spread->deviation;
    value.seeds = spread->count;
    value.cells_found = 1;
  }
  return value;
}

PaperRow row_of(const CostModel& model, const std::string& method, const std::string& label,
                const std::vector<PublishedFigure>& published, const std::vector<double>& up,
                const std::vector<double>& down) {
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
  // What is computed and not measured is no result of ours, and the paper's seconds are those of another bandwidth.
  PaperValue computed = value_of(bytes, {analytic});
  PaperValue seconds = value_of(find("seconds_as_printed"), {analytic / kKilobytesPerSecond});
  computed.comparable = false;
  seconds.comparable = false;
  return {fmt::format("{} {}", model.variant, method),
          label,
          {value_of(bytes, up), value_of(bytes, down), std::move(computed), std::move(seconds)}};
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

void fill_cost_table(const std::vector<PublishedFigure>& published, const RunSet& set,
                     const std::vector<OurResult>& results, PaperTable& table) {
  table.columns = {{"kB up, measured", false, 2},
                   {"kB down, measured", false, 2},
                   {"kB, analytic", false, 2},
                   {"s at 20 MB/s, analytic", false, 4}};
  for (const CostModel& model : cost_models()) {
    for (const auto& [method, algorithm] :
         {std::pair<std::string, std::string>{"FedAvg", "fedavg"}, {"Feroma", "feroma"}}) {
      const Traffic traffic = measured(model, algorithm, set, results);
      for (const auto& [label, kilobytes] : traffic) {
        table.rows.push_back(row_of(model, method, label, published, kilobytes.first, kilobytes.second));
      }
      if (traffic.empty()) {
        table.rows.push_back(row_of(model, method, "", published, {}, {}));
      }
    }
  }
  table.notes = {
      "analytic: 4 bytes for each number of the model and of the paper's profile (220 for 10 classes, 2020 for 100); "
      "ViT-B/16 is not run here, its row is analytic",
      "measured: runs on tinted digits (P(X) and P(X|Y), medium and high), whose model is the paper's",
      "ResNet-9 for 100 classes has 6.78 million parameters; the paper states 1.65 million",
      "the paper's seconds are those of 0.5 MB/s, not of the 20 MB/s it states",
      "differences are taken of measured bytes alone"};
}

}  // namespace feroma::detail
