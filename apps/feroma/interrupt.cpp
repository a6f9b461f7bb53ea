#include "interrupt.h"

#include <csignal>

namespace feroma::cli {
namespace {

std::atomic<bool> stop_requested = false;
std::atomic<bool> drain_requested = false;

void request_stop(int) {
  stop_requested = true;
  std::signal(SIGINT, SIG_DFL);
  std::signal(SIGTERM, SIG_DFL);
}

void request_drain(int) {
  drain_requested = true;
  std::signal(SIGTERM, request_stop);
}

}  // namespace

const std::atomic<bool>& drain_on_terminate() {
  std::signal(SIGTERM, request_drain);
  return drain_requested;
}

const std::atomic<bool>& stop_on_interrupt() {
  std::signal(SIGINT, request_stop);
  std::signal(SIGTERM, request_stop);
  return stop_requested;
}

}  // namespace feroma::cli
