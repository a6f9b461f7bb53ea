#include "tests/report/sample_run.h"

#include <algorithm>
#include <cmath>

#include "feroma/core/files.h"
#include "feroma/core/rng.h"
#include "feroma/core/settings.h"
#include "feroma/report/summary.h"

namespace feroma::test {
namespace {

bool mixes(const std::string& label) { return label.starts_with("feroma") || label.starts_with("cluster"); }

/// Each client takes mostly from those that had its distribution in the round before.
MixingRecord sample_mixing(const SampleRun& sample, const std::string& label, int round, Rng& rng) {
  MixingRecord record{label, round, {}, {}, {}};
  for (int k = 0; k < sample.clients; ++k) {
    record.receivers.push_back(static_cast<std::uint32_t>(k));
    record.sources.push_back(static_cast<std::uint32_t>(k));
    std::vector<double> row;
    double sum = 0;
    for (int j = 0; j < sample.clients; ++j) {
      const bool same = sample_distribution(sample, k, round) == sample_distribution(sample, j, round - 1);
      row.push_back(same ? 1.0 + 0.5 * rng.uniform() : rng.bernoulli(0.3) ? 0.05 * rng.uniform() : 0.0);
      sum += row.back();
    }
    for (const double weight : row) {
      record.weights.push_back(sum > 0 ? weight / sum : 1.0 / sample.clients);
    }
  }
  return record;
}

RoundRecord sample_round(const SampleRun& sample, const std::string& label, int round, double top, Rng& rng) {
  RoundRecord record;
  record.algorithm = label;
  record.round = round;
  record.accuracy_before = top * (1 - 0.75 * std::exp(-round / 4.0)) - (round % 2 == 1 ? 4.0 : 0.0) + rng.uniform();
  record.accuracy_after = std::min(99.0, record.accuracy_before + 5 + 8 * std::exp(-round / 6.0) + rng.uniform());
  if (sample.test_every > 0 && (round % sample.test_every == 0 || round == sample.rounds)) {
    record.test_accuracy = round == sample.rounds ? top : record.accuracy_before - 3;
  }
  record.loss = 2.0 * std::exp(-round / 5.0);
  record.validation_loss = record.loss + 0.1;
  record.validation_accuracy = record.accuracy_after - 1;
  record.seconds = 0.8 + 0.1 * rng.uniform();
  record.bytes_up = std::int64_t{248024} * sample.clients;
  record.bytes_down = record.bytes_up;
  if (mixes(label) && round > sample.warm_up) {
    record.personal_share = std::min(0.6, 0.05 * (round - sample.warm_up));
    record.global_share = std::max(0.0, 0.5 - 0.08 * (round - sample.warm_up));
    record.clustered_share = 1.0 - *record.personal_share - *record.global_share;
    record.contraction = 0.4 + 0.02 * round;
    record.column_sum_min = 0.41;
    record.column_sum_max = 2.13;
  }
  for (int k = 0; k < sample.clients; ++k) {
    record.clients.push_back({static_cast<std::uint32_t>(k), sample_distribution(sample, k, round), 1600, record.loss,
                              record.accuracy_before, record.accuracy_after, record.personal_share ? "clustered" : ""});
  }
  return record;
}

}  // namespace

int sample_distribution(const SampleRun& sample, int client, int round) {
  return 1 + (client + (client % 3 + 1) * ((round + 1) / 2)) % sample.distributions;
}

ResultRecord sample_result(const std::string& label, double accuracy) {
  ResultRecord result;
  result.label = label;
  result.algorithm = label.substr(0, label.find('-'));
  if (mixes(label)) {
    result.preset = "auto";
  }
  result.seed = 42;
  result.accuracy = accuracy;
  result.accuracy_std_clients = 3.1;
  result.accuracy_worst10 = std::max(0.0, accuracy - 8.25);
  result.accuracy_known = accuracy + 1;
  result.accuracy_best_round = accuracy;
  if (mixes(label)) {
    result.accuracy_best_round = accuracy + 0.5;
    result.accuracy_few_label = accuracy + 0.75;
    result.accuracy_nearest = accuracy - 0.5;
    result.match_rate = 0.95;
    result.profile_floats = 120;
  }
  result.seconds_total = 21.5;
  result.seconds = {{"data", 0.5},      {"train", 18.0},   {"profile", 0.25}, {"map", 0.125},
                    {"aggregate", 0.5}, {"evaluate", 2.0}, {"save", 0.125}};
  result.samples_per_second = 64000;
  result.bytes_up_per_client_round = 248504;
  result.bytes_down_per_client_round = 248024;
  result.peak_rss_bytes = 123456789;
  return result;
}

void write_sample_run(const std::filesystem::path& folder, const SampleRun& sample) {
  std::string config = "[scenario]\nclients = " + std::to_string(sample.clients) +
                       "\ndataset = \"fmnist\"\ndrift_mode = \"trDR_teND\"\ndrifts = 10\nlevel = \"high\"\nrounds = " +
                       std::to_string(sample.rounds) + "\nseed = 42\nshift = \"covariate\"\n";
  make_writable_folder(folder);
  write_file_atomically(folder / "config.toml", config);
  const Settings settings = parse_settings(config, "config.toml");
  RunWriter writer(folder, RunWriter::Mode::create);
  writer.run_started(settings);
  Summary summary{scenario_of(settings), {}};
  double top = 84;
  for (const std::string& label : sample.algorithms) {
    Rng rng = Rng(1).derive(label);
    for (int round = 1; round <= sample.rounds; ++round) {
      if (mixes(label) && round > sample.warm_up) {
        writer.mixing(sample_mixing(sample, label, round, rng));
      }
      writer.round_finished(sample_round(sample, label, round, top, rng));
    }
    summary.results.push_back(sample_result(label, top));
    writer.algorithm_finished(summary.results.back());
    top -= 9;
  }
  writer.run_finished(43.0);
  (void)writer.flush_and_sizes();
  write_summary(folder / "summary.json", summary);
}

}  // namespace feroma::test
