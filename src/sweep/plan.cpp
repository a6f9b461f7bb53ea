#include "feroma/sweep/plan.h"

#include <algorithm>
#include <fstream>
#include <sstream>

namespace feroma {
namespace {

/// Of the free memory; the rest is left to the system's own caches and to others.
constexpr double kMemoryShare = 0.75;

}  // namespace

WorkPlan plan_work(std::size_t cells, const WorkWishes& wishes) {
  const int most = static_cast<int>(std::min<std::size_t>(std::max<std::size_t>(cells, 1), 1024));
  const int cores = std::max(wishes.cores, 1);
  WorkPlan plan;
  plan.jobs = wishes.jobs > 0 ? wishes.jobs : std::max(1, cores / std::max(wishes.threads, 1));
  if (wishes.jobs == 0 && wishes.cell_bytes > 0 && wishes.free_bytes > 0) {
    const double fitting =
        kMemoryShare * static_cast<double>(wishes.free_bytes) / static_cast<double>(wishes.cell_bytes);
    plan.jobs = std::max(1, std::min(plan.jobs, static_cast<int>(std::min(fitting, 1024.0))));
  }
  plan.jobs = std::min(plan.jobs, most);
  plan.threads = wishes.threads > 0 ? wishes.threads : std::max(1, cores / plan.jobs);
  return plan;
}

std::int64_t free_memory() {
  std::ifstream file("/proc/meminfo");
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string name;
    std::int64_t kilobytes = 0;
    if (words >> name >> kilobytes && name == "MemAvailable:") {
      return kilobytes * 1024;
    }
  }
  return 0;
}

TimeLeft::TimeLeft(std::vector<Expected> cells, int jobs)
    : cells_(std::move(cells)), shares_(cells_.size(), 0), jobs_(std::max(jobs, 1)) {}

void TimeLeft::progressed(std::size_t cell, double share) { shares_[cell] = std::clamp(share, 0.0, 1.0); }

void TimeLeft::finished(std::size_t cell, double seconds, double share) {
  shares_[cell] = 1;
  if (share <= 0) {
    return;
  }
  const double whole = seconds / share;
  mean_ += (whole - mean_) / ++measured_;
  if (const std::optional<double>& guess = cells_[cell].seconds) {
    for (Sums* sums : {&of_algorithm_[cells_[cell].algorithm], &all_}) {
      sums->expected += *guess;
      sums->measured += whole;
    }
  }
}

void TimeLeft::dropped(std::size_t cell) { shares_[cell] = 1; }

std::optional<double> TimeLeft::expected(const Expected& cell) const {
  if (!cell.seconds) {
    return measured_ > 0 ? std::optional(mean_) : std::nullopt;
  }
  const auto known = of_algorithm_.find(cell.algorithm);
  const Sums& sums = known == of_algorithm_.end() ? all_ : known->second;
  return sums.expected > 0 ? *cell.seconds * sums.measured / sums.expected : *cell.seconds;
}

std::optional<double> TimeLeft::seconds() const {
  double work = 0;
  double longest = 0;
  bool any = false;
  for (std::size_t i = 0; i < cells_.size(); ++i) {
    if (shares_[i] >= 1) {
      continue;
    }
    if (const std::optional<double> whole = expected(cells_[i])) {
      const double left = *whole * (1 - shares_[i]);
      work += left;
      longest = std::max(longest, left);
      any = true;
    }
  }
  const bool over = std::all_of(shares_.begin(), shares_.end(), [](double share) { return share >= 1; });
  return any || over ? std::optional(std::max(work / jobs_, longest)) : std::nullopt;
}

}  // namespace feroma
