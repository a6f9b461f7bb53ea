#include "net/telemetry.h"

#include <algorithm>
#include <cmath>

namespace feroma::net {
namespace {

v1::Score score_of(const Tally& tally) {
  v1::Score score;
  score.set_loss(tally.loss());
  score.set_accuracy(tally.accuracy());
  score.set_count(tally.count);
  return score;
}

bool is_score(const v1::Score& score) {
  return std::isfinite(score.loss()) && score.accuracy() >= 0 && score.accuracy() <= 100 && score.count() >= 0;
}

}  // namespace

v1::Telemetry telemetry_of(const ClientReport& report) {
  v1::Telemetry telemetry;
  telemetry.set_num_examples(report.num_examples);
  telemetry.set_train_loss(report.train_loss);
  *telemetry.mutable_before() = score_of(report.before);
  *telemetry.mutable_after() = score_of(report.after);
  return telemetry;
}

bool is_believable(const v1::Telemetry& telemetry) {
  return telemetry.num_examples() >= 0 && std::isfinite(telemetry.train_loss()) && is_score(telemetry.before()) &&
         is_score(telemetry.after());
}

ClientReport report_of(const v1::Telemetry& telemetry) {
  const auto tally = [](const v1::Score& score) {
    Tally result;
    result.count = std::max<std::int64_t>(score.count(), 0);
    result.loss_sum = score.loss() * static_cast<double>(result.count);
    result.auroc = score.accuracy();
    return result;
  };
  ClientReport report;
  report.num_examples = telemetry.num_examples();
  report.train_loss = telemetry.train_loss();
  report.before = tally(telemetry.before());
  report.after = tally(telemetry.after());
  return report;
}

}  // namespace feroma::net
