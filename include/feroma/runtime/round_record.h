#pragma once

#include <functional>

#include "feroma/report/run_writer.h"
#include "feroma/runtime/exchange.h"

namespace feroma {

/// What clients said of a round, and who dropped out. `distribution_of` is oracle knowledge; without it ids are 0.
void describe_exchange(const Exchanged& exchanged, const std::function<int(ClientId)>& distribution_of,
                       RoundRecord& record);
/// Who was given how much of whom.
void describe_mixing(const RoundTrace& trace, RoundRecord& record);
/// Writes a round and, where there is one, what is behind its mapping.
void write_round(RunWriter& writer, const RoundRecord& record, const RoundTrace* trace);

}  // namespace feroma
