#pragma once

#include <optional>
#include <string>
#include <vector>

#include "feroma/core/batch.h"
#include "feroma/drift/federation.h"

namespace feroma {

/// How much of a scenario is shown: the first clients, the first stages and the last one, and some samples each.
struct PreviewLimits {
  int clients = 10;
  int stages = 10;
  int samples = 3;
};

/// Consecutive rounds in which nobody's data change.
struct StageSpan {
  int stage = 0;  ///< from 0
  Round first = 1;
  Round last = 1;
  friend bool operator==(const StageSpan&, const StageSpan&) = default;
};
/// Every stage that really runs, in order.
[[nodiscard]] std::vector<StageSpan> stage_spans(const Schedule& schedule);
/// At most so many of them: the first ones, and the last because the tests draw from it.
[[nodiscard]] std::vector<StageSpan> shown_stages(const std::vector<StageSpan>& all, int most);

/// What kind of thing a sample is, and so how it is drawn.
enum class SampleKind { picture, signal, table };

/// The data of one client in one stage, or of one test client.
struct PreviewCell {
  int distribution = 0;
  std::size_t count = 0;            ///< samples, held-out ones included
  std::vector<double> histogram;    ///< share of the samples that have the label, per label
  Batch samples;                    ///< a few of them, sample-major
  std::vector<std::string> labels;  ///< of those: "3", or "3→5" where class 3 is called 5; "0 2" for several
};

struct PreviewRow {
  int client = 0;
  std::vector<PreviewCell> stages;  ///< one per stage shown
  std::optional<PreviewCell> test;  ///< none where only other clients are tested
};

/// What a distribution does to the stored samples, in words.
struct DistributionNote {
  int id = 0;
  std::string about;
};

/// A part of a scenario, ready to be drawn.
struct Preview {
  ScenarioOptions scenario;
  SampleKind kind = SampleKind::picture;
  int classes = 0;
  int stage_count = 0;                   ///< with those that are not shown
  std::vector<StageSpan> stages;         ///< those shown
  std::vector<PreviewRow> rows;          ///< clients shown
  std::vector<DistributionNote> legend;  ///< distributions that occur in it, by id
};

[[nodiscard]] Preview make_preview(const Federation& federation, const PreviewLimits& limits);
/// What is not shown, as a sentence; empty where everything is.
[[nodiscard]] std::string left_out(const Preview& preview);

}  // namespace feroma
