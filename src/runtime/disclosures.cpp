#include "feroma/runtime/disclosures.h"

#include <algorithm>

#include "feroma/core/error.h"
#include "feroma/core/number.h"

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

std::string name_of_ledger(std::string_view kind, ClientId client) {
  return fmt::format("{}-{}", kind, to_index(client));
}

}  // namespace

Disclosures::Disclosures(const PrivacyOptions& options, LedgerPlace place, std::string job, const Rng& rng)
    : options_(options), place_(std::move(place)), job_(std::move(job)), rng_(rng.derive("privacy")) {}

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
  const std::string name = name_of_ledger(kind, client);
  const LedgerPlace place(place_.folder / name, place_.witness.empty() ? "" : place_.witness / name);
  Disclosure disclosure(options_, place, job_, std::move(entropy));
  return clients_.emplace(key, std::move(disclosure)).first->second;
}

double Disclosures::epsilon() const {
  double most = 0;
  for (const auto& [key, disclosure] : clients_) {
    most = std::max(most, disclosure.spent().epsilon);
  }
  return most;
}

Disclosures::Counts Disclosures::counts() const {
  Counts counts;
  for (const auto& [key, disclosure] : clients_) {
    if (!disclosure.counts().empty()) {
      counts[name_of_ledger(key.first, key.second)] = disclosure.counts();
    }
  }
  return counts;
}

void Disclosures::hold_to(const std::string& witness, const Counts& known) {
  for (const auto& [name, counts] : known) {
    const std::size_t dash = name.rfind('-');
    const auto number = parse_number<std::uint32_t>(std::string_view(name).substr(dash + 1));
    require(dash != std::string::npos && number, ErrorCode::invalid_data, "{}: counts releases of \"{}\", no client",
            witness, name);
    of(name.substr(0, dash), static_cast<ClientId>(*number)).hold_to(witness, counts);
  }
}

}  // namespace feroma
