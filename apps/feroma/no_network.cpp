#include <fmt/core.h>

#include <string>

#include "commands.h"
#include "feroma/core/error.h"

namespace feroma::cli {

void add_missing_network_commands(CLI::App& app) {
  for (const std::string name : {"cert", "server", "client"}) {
    CLI::App* command = app.add_subcommand(name, "Not in this build, which has no network (gRPC)");
    command->footer(fmt::format("Example:\n  feroma {}", name));
    command->allow_extras();
    command->callback([name] {
      fail(ErrorCode::unsupported,
           "feroma {} needs the network, and this build has none: gRPC was not found when it was made, or FEROMA_NET "
           "was "
           "OFF (feroma --version)",
           name);
    });
  }
}

}  // namespace feroma::cli
