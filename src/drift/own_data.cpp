#include "feroma/drift/own_data.h"

#include <string_view>
#include <vector>

#include "feroma/core/error.h"

namespace feroma {

OwnData::OwnData(std::shared_ptr<const Dataset> dataset, const ScenarioOptions& options, const Rng& rng)
    : dataset_(std::move(dataset)),
      options_(options),
      rng_(rng),
      holdings_(make_holdings(*dataset_, options, rng)),
      appearance_(options, dataset_->classes, rng) {}

SampleRows OwnData::train(std::size_t client, std::size_t) const {
  return appearance_.rows(client, Appearance::Part::train, holdings_.train.of(client));
}

SampleRows OwnData::test(std::size_t client) const {
  return appearance_.rows(client, Appearance::Part::test, holdings_.test.of(client));
}

SampleRows OwnData::few_labels(std::size_t client, int labels_per_class) const {
  const std::vector<std::uint32_t> share = holdings_.test.of(client);
  const Samples& samples = dataset_->test;
  std::vector<bool> has_class(static_cast<std::size_t>(dataset_->classes), false);
  for (const std::uint32_t source : share) {
    has_class[static_cast<std::size_t>(samples.labels[source])] = true;
  }
  const auto wanted = [&](std::uint32_t source) { return has_class[static_cast<std::size_t>(samples.labels[source])]; };
  return appearance_.rows(client, Appearance::Part::few_labels,
                          few_label_sources(samples, holdings_.test, share, dataset_->classes, labels_per_class, wanted,
                                            rng_.derive("few_labels", client)));
}

void OwnData::check(std::size_t test_clients) const {
  const auto check = [&](const Shares& shares, std::size_t client, std::string_view split) {
    require(shares.any_of(client, [](std::uint32_t) { return true; }), ErrorCode::invalid_config,
            "scenario.clients must be small enough that every client has samples, got {}: client {} has no {} sample",
            options_.clients, client, split);
  };
  for (std::size_t client = 0; client < static_cast<std::size_t>(options_.clients); ++client) {
    check(holdings_.train, client, "training");
    if (client < test_clients) {
      check(holdings_.test, client, "test");
    }
  }
}

}  // namespace feroma
