#include "feroma/privacy/disclosure.h"

#include "feroma/core/archive.h"
#include "feroma/core/error.h"
#include "feroma/privacy/release.h"

namespace feroma {

EntropyFor system_entropy() {
  return [](const ReleaseKey&) { return std::make_unique<SystemEntropy>(); };
}

Disclosure::Disclosure(const PrivacyOptions& options, std::filesystem::path folder, std::string job, EntropyFor entropy,
                       std::int64_t version)
    : options_(options),
      folder_(std::move(folder)),
      job_(std::move(job)),
      entropy_(std::move(entropy)),
      version_(version),
      plan_(options.plan()),
      test_plan_(options.of_test_client().plan()) {
  if (std::filesystem::exists(folder_)) {
    spent_ = Ledger(folder_, options_.budget()).spent();
  }
}

template <class Make>
std::optional<std::vector<std::int64_t>> Disclosure::tell(const ReleaseKey& key, const ReleaseCost& cost,
                                                          std::size_t size, Make&& make) {
  // Opened for each release: a simulation has more clients than a process may have files.
  Ledger ledger(folder_, options_.budget());
  const std::optional<Bytes> bytes = ledger.release(key, cost, [&] {
    ArchiveWriter archive;
    const std::unique_ptr<EntropySource> entropy = entropy_(key);
    archive.put(make(*entropy));
    return archive.take();
  });
  spent_ = ledger.spent();
  if (!bytes) {
    return std::nullopt;
  }
  ArchiveReader archive(*bytes, (folder_ / "released").string());
  std::vector<std::int64_t> values = archive.get_vector<std::int64_t>();
  archive.expect_end();
  require(values.size() == size, ErrorCode::invalid_data, "{}: a release of {} must have {} values, got {}",
          folder_.string(), key.kind, size, values.size());
  return values;
}

std::optional<std::vector<std::int64_t>> Disclosure::profile(std::int64_t version, std::int64_t epoch,
                                                             const SumShape& shape,
                                                             std::span<const std::int64_t> sums) {
  const bool pure = options_.mode == PrivacyMode::pure;
  const bool unlabelled = shape.classes == 1;
  const double told = (unlabelled ? test_plan_ : plan_).release;
  const ReleaseCost cost{pure ? rho_of_pure(told) : told, pure ? std::optional(told) : std::nullopt};
  return tell({unlabelled ? "unlabelled" : "profile", job_, version, epoch}, cost, shape.size(),
              [&](EntropySource& entropy) { return release(shape, options_.neighbours, told, sums, entropy); });
}

std::optional<std::vector<std::int64_t>> Disclosure::norms(std::int64_t version, const NormHistogram& histogram) {
  const double epsilon = options_.bounds_epsilon;
  return tell({"bounds", job_, version, 0}, {rho_of_pure(epsilon), epsilon}, kNormBins, [&](EntropySource& entropy) {
    // A record is in one bin; exchanging it touches two.
    const LaplaceScale scale = laplace_scale(options_.neighbours == Neighbours::add_remove ? 1 : 2, epsilon);
    DiscreteNoise noise(entropy);
    std::vector<std::int64_t> noisy(histogram.begin(), histogram.end());
    for (std::int64_t& count : noisy) {
      count += noise.laplace(scale.scale, scale.denominator);
    }
    return noisy;
  });
}

}  // namespace feroma
