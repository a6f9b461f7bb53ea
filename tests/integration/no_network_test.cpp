#include <gtest/gtest.h>

#include "commands.h"
#include "tests/core/expect_error.h"

namespace feroma {
namespace {

TEST(NoNetwork, CommandsOfTheNetworkSayThatThereIsNone) {
  for (const char* line : {"server fed.toml --stay", "client --server x:1", "cert ca", "server"}) {
    CLI::App app("test", "feroma");
    cli::add_missing_network_commands(app);
    const std::string error = feroma::test::error_of(ErrorCode::unsupported, [&] { app.parse(line); });
    EXPECT_TRUE(feroma::test::holds(error, "this build has none: gRPC was not found")) << error;
  }
}

}  // namespace
}  // namespace feroma
