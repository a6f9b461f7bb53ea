#pragma once

#include <array>
#include <map>
#include <mutex>

#include "core/listener.h"

namespace feroma::dashboard {

/**
 * How many connections of one address are served at once, so that nobody holds all workers alone. Those of this machine
 * itself are not counted: behind them may be everybody who comes through a tunnel or a proxy. From any thread.
 */
class PeerPlaces {
 public:
  explicit PeerPlaces(int most) : most_(most) {}

  /// A place for one connection, given back with the object; there may be none left.
  class Place {
   public:
    Place(PeerPlaces& places, const net::PeerAddress& peer);
    ~Place();
    Place(const Place&) = delete;
    Place& operator=(const Place&) = delete;
    [[nodiscard]] bool has() const { return has_; }

   private:
    PeerPlaces& places_;
    const std::array<unsigned char, 16> network_;
    const bool is_counted_;
    bool has_ = true;
  };

 private:
  const int most_;
  std::mutex mutex_;
  std::map<std::array<unsigned char, 16>, int> taken_;  ///< by network, where any are
};

}  // namespace feroma::dashboard
