// What a client makes of a server's config.
#include "net/client_work.h"

#include <gtest/gtest.h>

#include "feroma/models/archive.h"
#include "feroma/net/codec.h"
#include "tests/expect_error.h"

namespace feroma::net::test {
namespace {

constexpr SampleShape kShape{1, 3, 3};
constexpr int kClasses = 3;

std::shared_ptr<const ParamLayout> layout() {
  return initialise(make_model("mlp", kShape, kClasses), Rng(1)).shared_layout();
}

ClientWork work_with(const std::string& config) {
  v1::Welcome welcome;
  welcome.set_config(config);
  welcome.set_layout(layout_digest(*layout()));
  welcome.mutable_samples()->set_channels(kShape.channels);
  welcome.mutable_samples()->set_height(kShape.height);
  welcome.mutable_samples()->set_width(kShape.width);
  welcome.mutable_samples()->set_classes(kClasses);
  return make_client_work(welcome, {kShape, kClasses, false}, {});
}

ClientWork work_for(const std::string& algorithm, const std::vector<std::string>& overrides = {}) {
  Settings settings = parse_settings("[training]\nmodel = 'mlp'\n[[algorithm]]\n" + algorithm, "test");
  for (const std::string& override : overrides) {
    apply_override(settings, override);
  }
  return work_with(to_toml(read_experiment(settings).resolved()));
}

/// Bytes of a task with so many models.
std::uint64_t task_of(std::size_t models) {
  const std::shared_ptr<const ParamLayout> own = layout();
  Message task;
  for (std::size_t i = 0; i < models; ++i) {
    task.values[std::to_string(i)] = share(Parameters(own));
  }
  return encode_message(task, *own).size();
}

TEST(ClientWork, ReadsTasksAsLargeAsTheMethodsAre) {
  EXPECT_LT(work_for("name = 'fedavg'").largest_task(), task_of(300)) << "no more than somebody may need";
  EXPECT_GE(work_for("name = 'feddrift'\npool = 300").largest_task(), task_of(300));
  EXPECT_GE(work_for("name = 'feddrift'", {"scenario.clients=300"}).largest_task(), task_of(300))
      << "a model for every client";
  EXPECT_GE(work_for("name = 'fedem'\ncomponents = 64").largest_task(), task_of(64));
}

// A server's config is a stranger's: what it says must not let a task without end in.
TEST(ClientWork, ReadsNoTaskThatNoMessageCouldBe) {
  EXPECT_EQ(work_for("name = 'feddrift'\npool = 2000000000").largest_task(), largest_task(kMostValues, *layout()));
}

TEST(ClientWork, RefusesAFederationWhoseMethodsBehaveOtherwise) {
  const std::string config = "[training]\nmodel = 'mlp'\n[[algorithm]]\nname = 'fedavg'\n";
  EXPECT_NO_THROW(static_cast<void>(work_with(config)));
  expect_error(ErrorCode::unsupported,
               "the federation was begun by another version: fedavg was in version 2, is in version 1",
               [&] { return work_with(config + "version.fedavg = 2\n").largest_task(); });
}

}  // namespace
}  // namespace feroma::net::test
