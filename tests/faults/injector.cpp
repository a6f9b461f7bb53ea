#include "tests/faults/injector.h"

#include <signal.h>
#include <unistd.h>

#include <cerrno>

#include "feroma/core/error.h"

namespace feroma::faults {
namespace {

/// Bytes that a short write writes.
constexpr std::size_t kShort = 5;

const char* name_before(FileOp op) {
  switch (op) {
    case FileOp::open: return "file.open";
    case FileOp::write: return "file.write";
    case FileOp::sync: return "file.sync";
    case FileOp::truncate: return "file.truncate";
    case FileOp::rename: return "file.rename";
    case FileOp::sync_folder: return "folder.sync";
  }
  unreachable();
}

const char* name_after(FileOp op) {
  switch (op) {
    case FileOp::open: return "file.opened";
    case FileOp::write: return "file.written";
    case FileOp::sync: return "file.synced";
    case FileOp::truncate: return "file.truncated";
    case FileOp::rename: return "file.renamed";
    case FileOp::sync_folder: return "folder.synced";
  }
  unreachable();
}

/// Whether the system may answer a call so.
bool can_fail(FileOp op, int error) {
  if (error == 0) {
    return op == FileOp::write;
  }
  return error != ENOSPC || op != FileOp::truncate;
}

}  // namespace

Injector::Injector(Options options) : options_(std::move(options)) {
  if (options_.power_loss) {
    durable_.emplace(options_.state);
  }
}

void Injector::count(const std::string& point) {
  const int passing = ++counts_[point];
  if (options_.kill && options_.kill->point == point && options_.kill->passing == passing) {
    die();
  }
}

void Injector::die() {
  if (durable_) {
    durable_->write_survivors(options_.survivors, *options_.power_loss);
  }
  static_cast<void>(::kill(::getpid(), SIGKILL));
  for (;;) {
    ::pause();
  }
}

void Injector::passed(const char* point) {
  const std::lock_guard lock(mutex_);
  count(point);
}

bool Injector::fails(const FileCall& call) {
  if (!options_.failure || !can_fail(call.op, options_.failure->error)) {
    return false;
  }
  if (options_.failure->call == 0) {
    interrupted_ = !interrupted_;
    return interrupted_ || options_.failure->error == 0;
  }
  calls_ += 1;
  return calls_ == options_.failure->call || (options_.failure->on && calls_ > options_.failure->call);
}

FileFault Injector::before(const FileCall& call) {
  const std::lock_guard lock(mutex_);
  count(name_before(call.op));
  if (!fails(call)) {
    return {};
  }
  count("failure");
  FileFault fault;
  fault.error = options_.failure->error;
  fault.most = kShort;
  return fault;
}

void Injector::after(const FileCall& call) {
  const std::lock_guard lock(mutex_);
  if (durable_) {
    switch (call.op) {
      case FileOp::open: durable_->opened(call.descriptor); break;
      case FileOp::sync: durable_->synced(call.descriptor); break;
      case FileOp::sync_folder: durable_->folder_synced(call.descriptor); break;
      case FileOp::write:
      case FileOp::truncate:
      case FileOp::rename: break;
    }
  }
  count(name_after(call.op));
}

std::map<std::string, int> Injector::counts() const {
  const std::lock_guard lock(mutex_);
  return counts_;
}

Injector::Kill parse_kill(const std::string& text) {
  const std::size_t colon = text.find(':');
  require(colon != std::string::npos, ErrorCode::invalid_config, "--kill must be like POINT:3, got {}", text);
  return {text.substr(0, colon), std::stoi(text.substr(colon + 1))};
}

Injector::Failure parse_failure(const std::string& text) {
  const std::map<std::string, int> errors{{"ENOSPC", ENOSPC}, {"EIO", EIO}, {"EINTR", EINTR}, {"SHORT", 0}};
  const std::size_t colon = text.find(':');
  const auto error = errors.find(text.substr(0, colon));
  require(colon != std::string::npos && error != errors.end(), ErrorCode::invalid_config,
          "--fail must be like EIO:17, got {}", text);
  return {error->second, std::stoi(text.substr(colon + 1)), text.ends_with('+')};
}

}  // namespace feroma::faults
