#pragma once

#include <sys/stat.h>

namespace feroma::cli {

/// While it lives, what this process makes is open to its owner alone: folders have mode 0700 and files 0600, whoever
/// makes them.
class OwnerOnly {
 public:
  OwnerOnly() : before_(::umask(S_IRWXG | S_IRWXO)) {}
  ~OwnerOnly() { ::umask(before_); }
  OwnerOnly(const OwnerOnly&) = delete;
  OwnerOnly& operator=(const OwnerOnly&) = delete;

 private:
  mode_t before_;
};

}  // namespace feroma::cli
