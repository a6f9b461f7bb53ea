#include "preview/cell.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

namespace feroma::detail {
namespace {

void count_labels(const View& view, std::vector<double>& counts) {
  const bool several = view.samples != nullptr && view.samples->multi_label();
  for (std::size_t i = 0; i < view.size(); ++i) {
    if (!several) {
      counts[static_cast<std::size_t>(view.label(i))] += 1;
      continue;
    }
    const std::span<const std::uint8_t> targets = view.targets(i);
    for (std::size_t c = 0; c < targets.size(); ++c) {
      counts[c] += targets[c];
    }
  }
}

std::int32_t stored_class(const View& view, std::size_t i) { return view.samples->labels[view.items[i].source]; }

std::string label_text(const View& view, std::size_t i) {
  if (!view.samples->multi_label()) {
    const std::int32_t stored = stored_class(view, i);
    const std::int32_t label = view.label(i);
    return stored == label ? fmt::format("{}", label) : fmt::format("{}→{}", stored, label);
  }
  std::vector<std::size_t> present;
  const std::span<const std::uint8_t> targets = view.targets(i);
  for (std::size_t c = 0; c < targets.size(); ++c) {
    if (targets[c] != 0) {
      present.push_back(c);
    }
  }
  return present.empty() ? "–" : fmt::format("{}", fmt::join(present, " "));
}

}  // namespace

CellMaker::CellMaker(std::vector<int> class_order, int classes, int samples)
    : class_order_(std::move(class_order)), classes_(classes), samples_(samples) {}

std::vector<std::uint32_t> CellMaker::choose(const View& view) const {
  const std::size_t wanted = std::min(view.size(), static_cast<std::size_t>(samples_));
  std::vector<std::uint32_t> chosen(wanted);
  std::iota(chosen.begin(), chosen.end(), 0U);
  if (view.samples->multi_label()) {
    return chosen;
  }
  std::vector<std::vector<std::uint32_t>> of_class(static_cast<std::size_t>(classes_));
  for (std::size_t i = 0; i < view.size(); ++i) {
    of_class[static_cast<std::size_t>(stored_class(view, i))].push_back(static_cast<std::uint32_t>(i));
  }
  // A class that is rare here would give a wrong idea of the client, so it waits behind the others.
  std::vector<int> order = class_order_;
  std::stable_partition(order.begin(), order.end(), [&](int c) {
    return 2 * of_class[static_cast<std::size_t>(c)].size() * of_class.size() >= view.size();
  });
  chosen.clear();
  for (std::size_t turn = 0; chosen.size() < wanted; ++turn) {
    for (const int c : order) {
      const std::vector<std::uint32_t>& positions = of_class[static_cast<std::size_t>(c)];
      if (turn < positions.size() && chosen.size() < wanted) {
        chosen.push_back(positions[turn]);
      }
    }
  }
  return chosen;
}

PreviewCell CellMaker::make(int distribution, const View& view, const View& more) const {
  PreviewCell cell;
  cell.distribution = distribution;
  cell.count = view.size() + more.size();
  cell.histogram.assign(static_cast<std::size_t>(classes_), 0.0);
  count_labels(view, cell.histogram);
  count_labels(more, cell.histogram);
  for (double& share : cell.histogram) {
    share /= static_cast<double>(std::max<std::size_t>(cell.count, 1));
  }
  const std::vector<std::uint32_t> chosen = choose(view);
  View shown = view;
  shown.scales = {};  // people look at pictures, not at what a model gets
  cell.samples = assemble(shown, chosen, BatchLayout::sample_major);
  for (const std::uint32_t position : chosen) {
    cell.labels.push_back(label_text(view, position));
  }
  return cell;
}

}  // namespace feroma::detail
