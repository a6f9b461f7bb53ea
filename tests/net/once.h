#pragma once

#include <atomic>
#include <functional>
#include <string>

#include "feroma/core/fault_point.h"

namespace feroma::net::test {

/// Does something once, at a point that the program passes.
class Once final : public FaultHook {
 public:
  Once(std::string point, std::function<void()> act) : point_(std::move(point)), act_(std::move(act)) {
    install_fault_hook(this);
  }
  ~Once() override { install_fault_hook(nullptr); }
  void passed(const char* point) override {
    if (point == point_ && !done_.exchange(true)) {
      act_();
    }
  }
  FileFault before(const FileCall&) override { return {}; }
  void after(const FileCall&) override {}

 private:
  const std::string point_;
  const std::function<void()> act_;
  std::atomic<bool> done_ = false;
};

}  // namespace feroma::net::test
