#include "feroma/drift/federation.h"

#include <algorithm>

#include "feroma/core/error.h"
#include "feroma/core/log.h"
#include "feroma/partition/pool.h"

namespace feroma {
namespace {

using Sources = std::vector<std::uint32_t>;

std::shared_ptr<const Dataset> checked_dataset(std::shared_ptr<const Dataset> dataset, const ScenarioOptions& options) {
  require(dataset != nullptr, ErrorCode::internal, "[federation] a dataset must be given, got none");
  check_dataset(*dataset);
  Problems problems;
  options.check(dataset->classes, dataset->train.count(), dataset->test.count(), problems);
  problems.raise();
  return dataset;
}

bool changes_pictures(Shift shift) { return shift == Shift::covariate || shift == Shift::concept_feature; }

/// Gray pictures become colour pictures in every distribution of a shift that turns or tints, also where it does not.
SampleShape seen_shape(SampleShape stored, const ScenarioOptions& options) {
  if (changes_pictures(options.shift)) {
    require(stored.height == stored.width, ErrorCode::unsupported,
            "[federation] shift {} needs square pictures, got {}x{}", name_of(options.shift), stored.height,
            stored.width);
    require(stored.channels == 1 || stored.channels == 3, ErrorCode::unsupported,
            "[federation] shift {} needs 1 or 3 channels, got {}", name_of(options.shift), stored.channels);
    stored.channels = 3;
  }
  return stored;
}

Sources keep_classes(std::span<const std::uint32_t> sources, const Samples& samples, const Bank::Entry& entry) {
  Sources kept;
  for (const std::uint32_t source : sources) {
    if (entry.keeps_class[static_cast<std::size_t>(samples.labels[source])]) {
      kept.push_back(source);
    }
  }
  return kept;
}

bool has_kept_class(const Shares& shares, std::size_t client, const Samples& samples, const Bank::Entry& entry) {
  return shares.any_of(client, [&](std::uint32_t source) {
    return entry.keeps_class[static_cast<std::size_t>(samples.labels[source])];
  });
}

Shares make_train_shares(const Dataset& dataset, const ScenarioOptions& options, const Rng& rng) {
  return {dataset.train.count(), static_cast<std::size_t>(options.clients),
          static_cast<std::size_t>(options.samples_per_client), rng.derive("train_pool")};
}

Shares make_test_shares(const Dataset& dataset, const ScenarioOptions& options, const Rng& rng) {
  const auto drawn = static_cast<std::size_t>(options.samples_per_client);
  return {dataset.test.count(), static_cast<std::size_t>(options.clients),
          drawn == 0 ? 0 : drawn_test_samples(drawn, dataset.train.count(), dataset.test.count()),
          rng.derive("test_pool")};
}

}  // namespace

Federation::Federation(std::shared_ptr<const Dataset> dataset, const ScenarioOptions& options)
    : dataset_(checked_dataset(std::move(dataset), options)),
      options_(options),
      rng_(Rng(static_cast<std::uint64_t>(options.seed)).derive("scenario")),
      schedule_(make_schedule(options, dataset_->classes, rng_)),
      shape_(seen_shape(dataset_->train.shape, options)),
      train_shares_(make_train_shares(*dataset_, options, rng_)),
      test_shares_(make_test_shares(*dataset_, options, rng_)) {
  recipes_.reserve(schedule_.bank.entries.size());
  for (const Bank::Entry& entry : schedule_.bank.entries) {
    recipes_.push_back(entry.recipe);
  }
  if (options_.shift == Shift::label_prior) {
    check_every_client_has_data();
  }
  log::info("{} clients, {} stages, {} distributions: {} changes of distribution over the run", options_.clients,
            options_.drifts, schedule_.bank.size(), schedule_.realised_changes());
}

void Federation::check_every_client_has_data() const {
  const bool draws = options_.samples_per_client > 0;
  const auto check = [&](std::size_t client, const Shares& shares, const Samples& samples, int id,
                         std::string_view split) {
    require(has_kept_class(shares, client, samples, schedule_.bank.entry(id)), ErrorCode::invalid_config,
            "scenario.{} must be {} enough that every client has samples of its classes, got {}: client {} has "
            "no {} sample of distribution {}",
            draws ? "samples_per_client" : "clients", draws ? "large" : "small",
            draws ? options_.samples_per_client : options_.clients, client, split, id);
  };
  for (std::size_t client = 0; client < schedule_.ids.size(); ++client) {
    for (const int id : schedule_.ids[client]) {
      check(client, train_shares_, dataset_->train, id, "training");
    }
    if (client < test_clients()) {
      check(client, test_shares_, dataset_->test, schedule_.test_ids[client], "test");
    }
  }
}

std::size_t Federation::test_clients() const {
  return static_cast<std::size_t>(options_.test_clients == 0 ? options_.clients : options_.test_clients);
}

std::size_t Federation::scaled(std::size_t count) const {
  return scaled_count(count, static_cast<std::size_t>(options_.drifts), train_shares_.count());
}

Sources Federation::stage_sources(std::size_t client, std::size_t stage) const {
  const Sources pool = train_shares_.of(client);
  if (options_.shift == Shift::label_prior && options_.generator == Generator::clean) {
    return chunk_of_classes(pool, client, stage);
  }
  const Sources rows = extend_pool(pool, scaled(pool.size()), rng_.derive("scaling", client));
  if (options_.shift == Shift::label_prior) {
    // The paper's P(Y) stages are the whole scaled pool, filtered: they grow with the number of stages.
    return keep_classes(rows, dataset_->train, schedule_.bank.entry(schedule_.ids[client][stage]));
  }
  const Slice slice = stage_slice(rows.size(), static_cast<std::size_t>(options_.drifts), stage);
  const auto first = rows.begin() + static_cast<std::ptrdiff_t>(slice.first);
  return {first, first + static_cast<std::ptrdiff_t>(slice.count)};
}

Sources Federation::chunk_of_classes(std::span<const std::uint32_t> pool, std::size_t client, std::size_t stage) const {
  const std::vector<int>& ids = schedule_.ids[client];
  const auto stages = static_cast<std::size_t>(options_.drifts);
  // Stages with the same distribution share one list and take consecutive chunks of it.
  std::size_t first = 0;
  std::size_t wanted = 0;
  for (std::size_t i = 0; i < stages; ++i) {
    if (ids[i] == ids[stage]) {
      first = i == stage ? wanted : first;
      wanted += stage_slice(scaled(pool.size()), stages, i).count;
    }
  }
  const Sources kept = keep_classes(pool, dataset_->train, schedule_.bank.entry(ids[stage]));
  const Sources rows = extend_pool(kept, std::max(wanted, kept.size()),
                                   rng_.derive("scaling", client, static_cast<std::uint64_t>(ids[stage])));
  const auto begin = rows.begin() + static_cast<std::ptrdiff_t>(first);
  return {begin, begin + static_cast<std::ptrdiff_t>(stage_slice(scaled(pool.size()), stages, stage).count)};
}

View Federation::make_view(const Samples& samples, std::span<const std::uint32_t> sources, int id) const {
  View view;
  view.samples = &samples;
  view.recipes = recipes_;
  view.shape = shape_;
  view.items.reserve(sources.size());
  for (const std::uint32_t source : sources) {
    view.items.push_back({source, static_cast<std::uint32_t>(id - 1)});
  }
  return view;
}

ClientShard Federation::shard(ClientId client, Round round) const {
  const std::size_t k = to_index(client);
  require(k < schedule_.ids.size(), ErrorCode::internal, "[federation] client must be below {}, got {}",
          schedule_.ids.size(), k);
  require(round >= 1 && round <= options_.rounds, ErrorCode::internal, "[federation] round must be in 1..{}, got {}",
          options_.rounds, round);
  const int window = schedule_.stage_of_round[static_cast<std::size_t>(round)];
  const auto stage = static_cast<std::size_t>(window);
  const Sources sources = stage_sources(k, stage);
  const Rng split_rng = rng_.derive("held_out", k, stage);
  const HeldOutSplit split = options_.generator == Generator::clean ? split_sources(sources, split_rng)
                                                                    : split_rows(sources.size(), split_rng);
  const auto pick = [&sources](const std::vector<std::uint32_t>& rows) {
    Sources picked;
    picked.reserve(rows.size());
    for (const std::uint32_t row : rows) {
      picked.push_back(sources[row]);
    }
    return picked;
  };
  const int id = schedule_.ids[k][stage];
  return {.window = window,
          .distribution = id,
          .train = make_view(dataset_->train, pick(split.train), id),
          .held_out = make_view(dataset_->train, pick(split.held_out), id)};
}

TestShard Federation::test(ClientId client, int labels_per_class) const {
  const std::size_t k = to_index(client);
  require(k < test_clients(), ErrorCode::internal, "[federation] test client must be below {}, got {}", test_clients(),
          k);
  require(labels_per_class >= 0, ErrorCode::internal, "[federation] labels per class must be >= 0, got {}",
          labels_per_class);
  const Sources share = test_shares_.of(k);
  const int id = schedule_.test_ids[k];
  Sources sources = share;
  if (options_.shift == Shift::label_prior) {
    if (options_.generator == Generator::feroma) {
      sources = extend_pool(share, scaled(share.size()), rng_.derive("test_scaling", k));
    }
    sources = keep_classes(sources, dataset_->test, schedule_.bank.entry(id));
  }
  return {.distribution = id,
          .data = make_view(dataset_->test, sources, id),
          .few_labels = make_view(dataset_->test, few_label_sources(k, share, labels_per_class), id)};
}

Sources Federation::few_label_sources(std::size_t client, std::span<const std::uint32_t> share,
                                      int labels_per_class) const {
  const Bank::Entry& entry = schedule_.bank.entry(schedule_.test_ids[client]);
  std::vector<int> missing(static_cast<std::size_t>(dataset_->classes), labels_per_class);
  Sources chosen;
  if (labels_per_class == 0) {
    return chosen;
  }
  const std::span<const std::uint32_t> pool = test_shares_.pool();
  std::vector<bool> is_own(pool.size(), false);
  for (const std::uint32_t source : share) {
    is_own[source] = true;
  }
  for (const std::uint32_t position : rng_.derive("few_labels", client).permutation(pool.size())) {
    const std::uint32_t source = pool[position];
    const auto label = static_cast<std::size_t>(dataset_->test.labels[source]);
    if (!is_own[source] && entry.keeps_class[label] && missing[label] > 0) {
      --missing[label];
      chosen.push_back(source);
    }
  }
  return chosen;
}

}  // namespace feroma
