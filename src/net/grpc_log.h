#pragma once

namespace feroma::net {

/// Who tells of TLS handshakes that fail.
enum class Handshakes {
  tell,        ///< gRPC, each as it happens: a client's own line comes when it gives an attempt up
  door_tells,  ///< the server's door, with a line of its own for each
};

/// gRPC and protobuf write to the standard error by themselves; from now on what they say goes into the log. Where a
/// process has a door, the door tells.
void write_into_our_log(Handshakes handshakes);

}  // namespace feroma::net
