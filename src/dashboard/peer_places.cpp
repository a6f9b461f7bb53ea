#include "dashboard/peer_places.h"

#include "core/endpoint.h"

namespace feroma::dashboard {

PeerPlaces::Place::Place(PeerPlaces& places, const net::PeerAddress& peer)
    : places_(places), network_(net::network_of(peer)), is_counted_(!net::is_loopback(net::text_of(peer))) {
  if (is_counted_) {
    const std::lock_guard lock(places_.mutex_);
    int& taken = places_.taken_[network_];
    has_ = taken < places_.most_;
    taken += has_ ? 1 : 0;
  }
}

PeerPlaces::Place::~Place() {
  if (is_counted_ && has_) {
    const std::lock_guard lock(places_.mutex_);
    const auto found = places_.taken_.find(network_);
    if (--found->second == 0) {
      places_.taken_.erase(found);
    }
  }
}

}  // namespace feroma::dashboard
