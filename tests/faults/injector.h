#pragma once

#include <map>
#include <mutex>
#include <optional>
#include <string>

#include "feroma/core/fault_point.h"
#include "tests/faults/durable_files.h"

namespace feroma::faults {

/// Ends the process at a named point, lets file calls fail, and counts what was passed.
class Injector final : public FaultHook {
 public:
  struct Kill {
    std::string point;
    int passing = 1;
  };
  struct Failure {
    int error = 0;    ///< 0: a write that writes less than it was given
    int call = 0;     ///< which of the calls that can fail so; 0: each of them, once
    bool on = false;  ///< from that call on
  };
  struct Options {
    std::optional<Kill> kill;
    std::optional<Failure> failure;
    std::optional<PowerLoss> power_loss;  ///< the kill is one
    std::filesystem::path state;
    std::filesystem::path survivors;  ///< where what survives is written
  };

  explicit Injector(Options options);

  void passed(const char* point) override;
  FileFault before(const FileCall& call) override;
  void after(const FileCall& call) override;

  /// How often each point was passed; "failure" counts the calls that were made to fail.
  [[nodiscard]] std::map<std::string, int> counts() const;

 private:
  void count(const std::string& point);
  [[nodiscard]] bool fails(const FileCall& call);
  [[noreturn]] void die();

  const Options options_;
  mutable std::mutex mutex_;
  std::map<std::string, int> counts_;
  int calls_ = 0;
  bool interrupted_ = false;  ///< the same call comes again
  std::optional<DurableFiles> durable_;
};

/// "commit.synced:3", "EIO:17", "ENOSPC:17+" as the command line has them.
[[nodiscard]] Injector::Kill parse_kill(const std::string& text);
[[nodiscard]] Injector::Failure parse_failure(const std::string& text);

}  // namespace feroma::faults
