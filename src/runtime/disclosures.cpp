#include "feroma/runtime/disclosures.h"

#include <algorithm>

namespace feroma {
namespace {

/// Noise from a run's seed: it repeats exactly and protects nothing.
class SeededNoise final : public EntropySource {
 public:
  explicit SeededNoise(Rng rng) : rng_(std::move(rng)) {}

  void fill(std::span<std::byte> out) override {
    for (std::byte& byte : out) {
      byte = static_cast<std::byte>(rng_.next_u64() >> 56);
    }
  }

 private:
  Rng rng_;
};

}  // namespace

Disclosures::Disclosures(const PrivacyOptions& options, std::filesystem::path folder, std::string job, const Rng& rng)
    : options_(options), folder_(std::move(folder)), job_(std::move(job)), rng_(rng.derive("privacy")) {}

Disclosure& Disclosures::of(std::string_view kind, ClientId client) {
  const std::pair key{std::string(kind), client};
  const auto found = clients_.find(key);
  if (found != clients_.end()) {
    return found->second;
  }
  const std::uint32_t number = to_index(client);
  EntropyFor entropy = system_entropy();
  if (options_.noise == NoiseSource::seeded) {
    // By what is released, so that a run that was interrupted draws the same.
    entropy = [rng = rng_.derive(kind, number)](const ReleaseKey& release) {
      return std::make_unique<SeededNoise>(rng.derive(release.kind, static_cast<std::uint64_t>(release.version),
                                                      static_cast<std::uint64_t>(release.epoch)));
    };
  }
  Disclosure disclosure(options_, folder_ / fmt::format("{}-{}", kind, number), job_, std::move(entropy));
  return clients_.emplace(key, std::move(disclosure)).first->second;
}

double Disclosures::epsilon() const {
  double most = 0;
  for (const auto& [key, disclosure] : clients_) {
    most = std::max(most, disclosure.spent().epsilon);
  }
  return most;
}

}  // namespace feroma
