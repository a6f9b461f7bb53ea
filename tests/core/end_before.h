#pragma once

#include <unistd.h>

#include "feroma/core/fault_point.h"

namespace feroma::test {

/// Ends the process before its call number `last` to the operating system.
class EndBefore final : public FaultHook {
 public:
  explicit EndBefore(int last) : left_(last) { install_fault_hook(this); }
  ~EndBefore() override { install_fault_hook(nullptr); }
  EndBefore(const EndBefore&) = delete;
  EndBefore& operator=(const EndBefore&) = delete;

  void passed(const char*) override {}
  FileFault before(const FileCall&) override {
    if (left_-- == 0) {
      ::_exit(9);
    }
    return {};
  }
  void after(const FileCall&) override {}

 private:
  int left_;
};

}  // namespace feroma::test
