#include "feroma/runtime/round_record.h"

#include <cmath>
#include <limits>

namespace feroma {
namespace {

/// Mean over clients; each client counts alike, whatever its size.
template <class Range, class Value>
double mean_over(const Range& range, Value value) {
  double sum = 0;
  for (const auto& item : range) {
    sum += value(item);
  }
  return range.empty() ? 0.0 : sum / static_cast<double>(range.size());
}

/// The mean of one score over the clients that told it; not a number where none of them did.
double mean_told(const Exchanged& exchanged, Tally ClientReport::*of, double (Tally::*score)() const) {
  std::vector<double> told;
  for (const auto& [client, report] : exchanged.reports) {
    const Tally& tally = report.*of;
    if (tally.count > 0 || !std::isnan(tally.accuracy())) {
      told.push_back((tally.*score)());
    }
  }
  return told.empty() && !exchanged.reports.empty() ? std::numeric_limits<double>::quiet_NaN()
                                                    : mean_over(told, [](double value) { return value; });
}

std::vector<std::uint32_t> indices_of(const std::vector<ClientId>& clients) {
  std::vector<std::uint32_t> indices;
  for (const ClientId client : clients) {
    indices.push_back(to_index(client));
  }
  return indices;
}

MixingRecord mixing_record(const RoundTrace& trace, const RoundRecord& round) {
  return {round.algorithm, round.round, indices_of(trace.receivers), indices_of(trace.sources), trace.mixing.values};
}

}  // namespace

void describe_exchange(const Exchanged& exchanged, const std::function<int(ClientId)>& distribution_of,
                       RoundRecord& record) {
  record.bytes_up = exchanged.bytes_up;
  record.bytes_down = exchanged.bytes_down;
  record.dropped = exchanged.dropped;
  for (const auto& [client, report] : exchanged.reports) {
    ClientRecord line;
    line.client = to_index(client);
    line.distribution = distribution_of ? distribution_of(client) : 0;
    line.num_examples = report.num_examples;
    line.loss = report.after.loss();
    line.accuracy_before = report.before.accuracy();
    line.accuracy_after = report.after.accuracy();
    if (const auto bytes = exchanged.bytes.find(client); bytes != exchanged.bytes.end()) {
      line.bytes_up = bytes->second.up;
      line.bytes_down = bytes->second.down;
    }
    record.clients.push_back(line);
  }
  record.loss = mean_told(exchanged, &ClientReport::after, &Tally::loss);
  record.accuracy_before = mean_told(exchanged, &ClientReport::before, &Tally::accuracy);
  record.accuracy_after = mean_told(exchanged, &ClientReport::after, &Tally::accuracy);
}

void describe_mixing(const RoundTrace& trace, RoundRecord& record) {
  std::map<std::uint32_t, std::size_t> row_of_client;
  for (std::size_t r = 0; r < trace.receivers.size(); ++r) {
    row_of_client[to_index(trace.receivers[r])] = r;
  }
  for (ClientRecord& line : record.clients) {
    const auto found = row_of_client.find(line.client);
    if (found != row_of_client.end()) {
      line.strategy = kStrategyNames[static_cast<std::size_t>(trace.strategies[found->second])];
      line.moved = found->second < trace.moved.size() ? trace.moved[found->second] : std::nullopt;
    }
  }
  const auto share = [&](Strategy strategy) {
    return mean_over(trace.strategies, [&](Strategy s) { return s == strategy ? 1.0 : 0.0; });
  };
  record.global_share = share(Strategy::global);
  record.clustered_share = share(Strategy::clustered);
  record.personal_share = share(Strategy::personal);
  if (!trace.mixing.empty()) {
    record.contraction = trace.contraction;
    record.column_sum_min = trace.column_sum_min;
    record.column_sum_max = trace.column_sum_max;
  }
}

void write_round(RunWriter& writer, const RoundRecord& record, const RoundTrace* trace) {
  writer.round_finished(record);
  if (trace == nullptr) {
    return;
  }
  if (!trace->mixing.empty()) {
    writer.mixing(mixing_record(*trace, record));
  }
  if (!trace->profiles.empty()) {
    writer.profiles(
        {record.algorithm, record.round, trace->profiles.rows, trace->profiles.values, indices_of(trace->receivers)});
  }
}

}  // namespace feroma
