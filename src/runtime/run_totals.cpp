#include "feroma/runtime/run_totals.h"

namespace feroma {

void RunTotals::save(ArchiveWriter& out) const {
  out.put(seconds);
  for (const double value : stages.values) {
    out.put(value);
  }
  out.put(bytes_up);
  out.put(bytes_down);
  out.put(client_rounds);
  out.put(samples_held);
  out.put(passes.forward);
  out.put(passes.backward);
  out.put(newcomer_accuracy);
  out.put(newcomers);
  out.put<std::int32_t>(best_round);
  out.put(best_loss);
  out.put(std::span<const std::byte>(best_state));
}

RunTotals RunTotals::load(ArchiveReader& in) {
  RunTotals totals;
  totals.seconds = in.get<double>();
  for (double& value : totals.stages.values) {
    value = in.get<double>();
  }
  totals.bytes_up = in.get<std::int64_t>();
  totals.bytes_down = in.get<std::int64_t>();
  totals.client_rounds = in.get<std::int64_t>();
  totals.samples_held = in.get<std::int64_t>();
  totals.passes.forward = in.get<std::int64_t>();
  totals.passes.backward = in.get<std::int64_t>();
  totals.newcomer_accuracy = in.get<double>();
  totals.newcomers = in.get<std::int64_t>();
  totals.best_round = in.get<std::int32_t>();
  totals.best_loss = in.get<double>();
  totals.best_state = in.get_vector<std::byte>();
  return totals;
}

}  // namespace feroma
