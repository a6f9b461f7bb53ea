#pragma once

#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "core/listener.h"

namespace feroma::net {

/// Where connections come in, one after the other, until the end. Any number of threads may wait for them.
class Entrance {
 public:
  struct Caller {
    Descriptor connection;
    PeerAddress peer;
  };

  explicit Entrance(const std::string& address);

  /// The next one; none once it is over. One waits at the door at a time, the others behind it.
  [[nodiscard]] std::optional<Caller> next();
  /// Wakes everybody who waits, for good.
  void end();
  /// Can be read once it is over.
  [[nodiscard]] int over() const { return over_.get(); }

  [[nodiscard]] int port() const { return port_of(listeners_.front()); }
  [[nodiscard]] const std::vector<Descriptor>& listeners() const { return listeners_; }

 private:
  std::vector<Descriptor> listeners_;
  Descriptor over_;
  std::mutex door_;
};

}  // namespace feroma::net
