#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "feroma/report/record.h"
#include "feroma/report/run_writer.h"

namespace feroma::test {

/// What a made-up run looks like.
struct SampleRun {
  int clients = 10;
  int rounds = 8;
  int distributions = 4;
  int warm_up = 3;                                               ///< rounds without mixing
  std::vector<std::string> algorithms{"feroma-auto", "fedavg"};  ///< names that start with "feroma" or "cluster" mix
  int test_every = 0;                                            ///< rounds; 0: of a version without tests of rounds
};

/// The distribution of a client in a round: everyone moves on every second round, each at its own pace.
[[nodiscard]] int sample_distribution(const SampleRun& sample, int client, int round);
[[nodiscard]] ResultRecord sample_result(const std::string& label, double accuracy);
/// Writes a whole run directory: config, csv, events, mixing, summary.
void write_sample_run(const std::filesystem::path& folder, const SampleRun& sample);

}  // namespace feroma::test
