#include "net/telemetry.h"

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

/// Beyond any client; sums and products of numbers up to these are finite.
constexpr std::int64_t kMostSamples = 1'000'000'000'000;
constexpr double kLargestLoss = 1e30;

bool is_loss(double loss) { return std::abs(loss) <= kLargestLoss; }  // which no NaN is

bool is_count(std::int64_t count) { return count >= 0 && count <= kMostSamples; }

bool is_score(const v1::Score& score) {
  return is_loss(score.loss()) && score.accuracy() >= 0 && score.accuracy() <= 100 && is_count(score.count());
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
  return is_count(telemetry.num_examples()) && is_loss(telemetry.train_loss()) && is_score(telemetry.before()) &&
         is_score(telemetry.after());
}

ClientReport report_of(const v1::Telemetry& telemetry) {
  const auto tally = [](const v1::Score& score) {
    if (score.count() <= 0) {
      return Tally::untold();  // under a privacy budget, without held-out samples, or by a client that does not
                               // evaluate
    }
    Tally result;
    result.count = score.count();
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
