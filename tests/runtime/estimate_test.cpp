#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>

#include "feroma/runtime/run.h"
#include "tests/data/synthetic.h"
#include "tests/runtime/two_class_table.h"

namespace feroma {
namespace {

// By Dirichlet laws one client may have a tenth of what another has.
TEST(Estimate, CountsWhatUnequalClientsHave) {
  const test::ScratchFolder scratch;
  test::write_two_class_table(scratch.path(), /*rows=*/2000);
  constexpr int kSites = 5;
  const Experiment experiment = read_experiment(parse_settings(
      fmt::format("[scenario]\ndataset = '{}'\nshift = 'dirichlet'\nalpha = 0.2\ndrift_mode = 'static'\n"
                  "clients = {}\nrounds = 3\ndrifts = 1\n[training]\nmodel = 'mlp'\nlocal_epochs = 2\nbatch_size = 16\n"
                  "[[algorithm]]\nname = 'fedavg'\n",
                  scratch.path().string(), kSites),
      "my.toml"));
  const std::unique_ptr<Federation> federation = make_federation(experiment);
  double samples = 0;
  double batches = 0;
  double first = 0;
  for (std::uint32_t k = 0; k < kSites; ++k) {
    const auto own = static_cast<double>(federation->shard(ClientId{k}, 1).train.size());
    samples += own;
    batches += std::ceil(own / 16);
    first = k == 0 ? own : first;
  }
  ASSERT_GT(std::abs(first - samples / kSites), 5) << "the clients are too much alike for this test";
  const RunEstimate estimate = estimate_run(experiment, 1);
  EXPECT_EQ(estimate.samples_per_client_round, std::llround(samples / kSites));
  EXPECT_EQ(estimate.steps, std::llround(batches * 2 * 3)) << "two epochs in each of three rounds";
}

}  // namespace
}  // namespace feroma
