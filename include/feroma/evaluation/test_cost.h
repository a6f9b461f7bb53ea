#pragma once

#include "feroma/algorithms/algorithm.h"
#include "feroma/client/trainer.h"

namespace feroma {

/// What serving test clients costs: passes over samples, predictions among them, and bytes.
struct TestCost {
  std::int64_t samples = 0;  ///< of the clients
  Passes passes;
  TestTraffic traffic;

  TestCost& operator+=(const TestCost& other) {
    samples += other.samples;
    passes += other.passes;
    traffic.bytes_up += other.traffic.bytes_up;
    traffic.bytes_down += other.traffic.bytes_down;
    return *this;
  }
};

}  // namespace feroma
