#include <fmt/format.h>
#include <gtest/gtest.h>

#include <fstream>

#include "feroma/runtime/run.h"
#include "tests/data/synthetic.h"

namespace feroma {
namespace {

/// Forty rows of one column with the values 1 and 3, so mean 2 and spread 1.
void write_table(const std::filesystem::path& folder) {
  std::ofstream(folder / "dataset.toml") << "[dataset]\nkind = \"csv\"\nfile = \"rows.csv\"\nlabel_column = \"y\"\n";
  std::ofstream rows(folder / "rows.csv");
  rows << "x,y\n";
  for (int i = 0; i < 40; ++i) {
    rows << (i % 2 == 0 ? 1 : 3) << ',' << i % 2 << '\n';
  }
}

AlignedVector first_inputs(const std::filesystem::path& folder, const char* training) {
  const std::string text = fmt::format(
      "[scenario]\ndataset = '{}'\nshift = 'iid'\ndrift_mode = 'static'\nclients = 2\nrounds = 1\ndrifts = "
      "1\n[training]\nmodel = 'mlp'\n{}\n"
      "[[algorithm]]\nname = 'fedavg'\n",
      folder.string(), training);
  const auto federation = make_federation(read_experiment(parse_settings(text, "my.toml")));
  const View view = federation->shard(ClientId{0}, 1).train;
  AlignedVector inputs = assemble(view, std::vector<std::uint32_t>{0, 1, 2}, BatchLayout::sample_major).inputs;
  EXPECT_EQ(federation->test(ClientId{0}, 1).data.scales.size(), view.scales.size());
  return inputs;
}

TEST(MakeFederation, StandardisesInputsWhereTrainingAsksForIt) {
  const test::ScratchFolder scratch;
  write_table(scratch.path());
  const AlignedVector stored = first_inputs(scratch.path(), "");
  const AlignedVector standardised = first_inputs(scratch.path(), "standardise = true");
  ASSERT_EQ(stored.size(), standardised.size());
  for (std::size_t i = 0; i < stored.size(); ++i) {
    EXPECT_TRUE(stored[i] == 1 || stored[i] == 3);
    EXPECT_NEAR(standardised[i], stored[i] - 2, 0.15) << "the training split may hold a few more of one value";
  }
}

}  // namespace
}  // namespace feroma
