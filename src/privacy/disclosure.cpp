#include "feroma/privacy/disclosure.h"

#include <algorithm>
#include <cmath>

#include "feroma/core/archive.h"
#include "feroma/core/error.h"
#include "feroma/privacy/release.h"

namespace feroma {

EntropyFor system_entropy() {
  return [](const ReleaseKey&) { return std::make_unique<SystemEntropy>(); };
}

Disclosure::Disclosure(const PrivacyOptions& options, LedgerPlace place, std::string job, EntropyFor entropy,
                       std::int64_t version)
    : options_(options),
      place_(std::move(place)),
      job_(std::move(job)),
      entropy_(std::move(entropy)),
      version_(version),
      plan_(options.plan()),
      test_plan_(options.of_test_client().plan()) {
  std::optional<WitnessFile> witness = open_witness();
  if (!std::filesystem::exists(place_.folder)) {
    check(nullptr, witness);
    return;
  }
  const Ledger ledger(place_.folder, options_.budget());
  check(&ledger, witness);
  remember(ledger, witness);
}

std::optional<WitnessFile> Disclosure::open_witness() const {
  return place_.witness.empty() ? std::nullopt : std::optional<WitnessFile>(place_.witness);
}

void Disclosure::check(const Ledger* ledger, const std::optional<WitnessFile>& witness) const {
  const std::vector<LedgerLine> none;
  const std::vector<LedgerLine>& lines = ledger == nullptr ? none : ledger->lines();
  const ReleaseCounts has = counts_of(lines);
  const bool begins = std::all_of(lines.begin(), lines.end(), [](const LedgerLine& line) { return line.is_vouched(); });
  if (witness) {
    require_not_behind(place_.folder, has, place_.witness.string(), witness->known(place_.folder, job_, begins));
  }
  require_not_behind(place_.folder, has, "this process", counts_);
}

void Disclosure::remember(const Ledger& ledger, std::optional<WitnessFile>& witness) {
  spent_ = ledger.spent();
  counts_ = counts_of(ledger.lines());
  if (witness) {
    witness->note(place_.folder, counts_);
  }
}

void Disclosure::hold_to(const std::string& witness, const ReleaseCounts& known) const {
  ReleaseCounts at_least = known;
  const bool pure = options_.mode == PrivacyMode::pure;
  for (auto& [job, count] : at_least) {
    const double planned = static_cast<double>(count.releases) * plan_.release;
    count.rho = std::fmax(count.rho, pure ? static_cast<double>(count.releases) * rho_of_pure(plan_.release) : planned);
    count.epsilon = pure ? std::optional(std::fmax(count.epsilon.value_or(0), planned)) : count.epsilon;
  }
  require_not_behind(place_.folder, counts_, witness, at_least);
}

std::optional<Bytes> Disclosure::bytes_for(const ReleaseKey& key, const ReleaseCost& cost,
                                           const std::function<Bytes()>& make) try {
  // Opened for each release: a simulation has more clients than a process may have files.
  std::optional<WitnessFile> witness = open_witness();
  Ledger ledger(place_.folder, options_.budget());
  check(&ledger, witness);
  std::optional<Bytes> bytes = ledger.release(key, cost, make);
  // The ledger first and the file before anything is told: after a crash in between the ledger is ahead.
  remember(ledger, witness);
  return bytes;
} catch (const Error& error) {
  // A ledger that is not to be trusted is no round's bad luck, which a client would sit out: it ends the client.
  throw Error(error.code() == ErrorCode::invalid_data ? ErrorCode::io : error.code(), error.what());
}

template <class Make>
std::optional<std::vector<std::int64_t>> Disclosure::tell(const ReleaseKey& key, const ReleaseCost& cost,
                                                          std::size_t size, Make&& make) {
  const std::optional<Bytes> bytes = bytes_for(key, cost, [&] {
    ArchiveWriter archive;
    const std::unique_ptr<EntropySource> entropy = entropy_(key);
    archive.put(make(*entropy));
    return archive.take();
  });
  if (!bytes) {
    return std::nullopt;
  }
  ArchiveReader archive(*bytes, (place_.folder / "released").string());
  std::vector<std::int64_t> values = archive.get_vector<std::int64_t>();
  archive.expect_end();
  require(values.size() == size, ErrorCode::invalid_data, "{}: a release of {} must have {} values, got {}",
          place_.folder.string(), key.kind, size, values.size());
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
