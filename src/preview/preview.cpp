#include "feroma/preview/preview.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "preview/cell.h"
#include "preview/notes.h"

namespace feroma {
namespace {

SampleKind kind_of(const View& view) {
  const SampleShape shape = view.shape;
  if (view.samples->values.empty() || (shape.height > 1 && shape.width > 1)) {
    return SampleKind::picture;
  }
  return shape.height == 1 && shape.width == 1 ? SampleKind::table : SampleKind::signal;
}

PreviewRow make_row(const Federation& federation, const detail::CellMaker& maker, std::size_t client,
                    const std::vector<StageSpan>& stages) {
  PreviewRow row;
  row.client = static_cast<int>(client);
  const auto id = static_cast<ClientId>(client);
  for (const StageSpan& span : stages) {
    const ClientShard shard = federation.shard(id, span.first);
    row.stages.push_back(maker.make(shard.distribution, shard.train, shard.held_out));
  }
  if (client < federation.test_clients()) {
    const TestShard shard = federation.test(id, /*labels_per_class=*/0);
    row.test = maker.make(shard.distribution, shard.data, {});
  }
  return row;
}

std::string note_of(int id, const Federation& federation) {
  const Bank& bank = federation.schedule().bank;
  if (!bank.lists(id)) {
    return "";  // made for one client: a number, and no recipe
  }
  const Bank::Entry& entry = bank.entry(id);
  return entry.domain < 0 ? detail::about_distribution(entry)
                          : federation.dataset().domain_names[static_cast<std::size_t>(entry.domain)];
}

std::vector<DistributionNote> make_legend(const std::vector<PreviewRow>& rows, const Federation& federation) {
  std::set<int> ids;
  for (const PreviewRow& row : rows) {
    for (const PreviewCell& cell : row.stages) {
      ids.insert(cell.distribution);
    }
    if (row.test) {
      ids.insert(row.test->distribution);
    }
  }
  std::vector<DistributionNote> legend;
  for (const int id : ids) {
    legend.push_back({id, note_of(id, federation)});
  }
  return legend;
}

}  // namespace

std::vector<StageSpan> stage_spans(const Schedule& schedule) {
  std::vector<StageSpan> spans;
  for (std::size_t round = 1; round < schedule.stage_of_round.size(); ++round) {
    const int stage = schedule.stage_of_round[round];
    if (spans.empty() || spans.back().stage != stage) {
      spans.push_back({stage, static_cast<Round>(round), static_cast<Round>(round)});
    }
    spans.back().last = static_cast<Round>(round);
  }
  return spans;
}

std::vector<StageSpan> shown_stages(const std::vector<StageSpan>& all, int most) {
  std::vector<StageSpan> shown = all;
  if (shown.size() > static_cast<std::size_t>(most)) {
    shown.resize(static_cast<std::size_t>(most));
    shown.back() = all.back();
  }
  return shown;
}

Preview make_preview(const Federation& federation, const PreviewLimits& limits) {
  require(limits.clients >= 1 && limits.stages >= 1 && limits.samples >= 0, ErrorCode::internal,
          "[preview] clients and stages must be >= 1 and samples >= 0, got {}, {} and {}", limits.clients,
          limits.stages, limits.samples);
  const std::vector<StageSpan> all = stage_spans(federation.schedule());
  Preview preview;
  preview.scenario = federation.options();
  preview.classes = federation.classes();
  preview.stage_count = static_cast<int>(all.size());
  preview.stages = shown_stages(all, limits.stages);
  preview.kind = kind_of(federation.shard(ClientId{0}, all.front().first).train);
  const Bank& bank = federation.schedule().bank;
  const detail::CellMaker maker(detail::telling_classes(bank, preview.classes), preview.classes, limits.samples);
  const auto clients = static_cast<std::size_t>(std::min(limits.clients, preview.scenario.clients));
  for (std::size_t client = 0; client < clients; ++client) {
    preview.rows.push_back(make_row(federation, maker, client, preview.stages));
  }
  preview.legend = make_legend(preview.rows, federation);
  return preview;
}

std::string left_out(const Preview& preview) {
  std::vector<std::string> parts;
  const auto shown_clients = static_cast<int>(preview.rows.size());
  if (shown_clients < preview.scenario.clients) {
    parts.push_back(
        fmt::format("{} of {} clients", preview.scenario.clients - shown_clients, preview.scenario.clients));
  }
  const auto shown = static_cast<int>(preview.stages.size());
  if (shown < preview.stage_count) {
    parts.push_back(fmt::format("{} of {} stages", preview.stage_count - shown, preview.stage_count));
  }
  return parts.empty() ? "" : fmt::format("left out: {}", fmt::join(parts, ", "));
}

}  // namespace feroma
