#include "interrupt.h"

#include <csignal>

namespace feroma::cli {
namespace {

std::atomic<bool> stop_requested = false;

void request_stop(int) {
  stop_requested = true;
  std::signal(SIGINT, SIG_DFL);
  std::signal(SIGTERM, SIG_DFL);
}

}  // namespace

const std::atomic<bool>& stop_on_interrupt() {
  std::signal(SIGINT, request_stop);
  std::signal(SIGTERM, request_stop);
  return stop_requested;
}

}  // namespace feroma::cli
