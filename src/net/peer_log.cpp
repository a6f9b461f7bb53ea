#include "net/peer_log.h"

namespace feroma::net {

std::string number_and_name(ClientId client, std::string_view name) {
  return name.empty() ? fmt::format("{}", to_index(client)) : fmt::format("{} ({})", to_index(client), name);
}

void write_about(const Peer& peer, log::Severity severity, const std::string& message, std::vector<log::Field> fields) {
  if (!peer.name.empty()) {
    fields.emplace_back("name", peer.name);
  }
  log::write({severity, message, fields});
}

}  // namespace feroma::net
