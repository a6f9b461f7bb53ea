#include "feroma/drift/bank_data.h"

#include <algorithm>

#include "feroma/core/error.h"
#include "feroma/partition/pool.h"

namespace feroma {
namespace {

using Sources = std::vector<std::uint32_t>;

Sources keep(std::span<const std::uint32_t> sources, const Samples& samples, const Bank::Entry& entry) {
  Sources kept;
  for (const std::uint32_t source : sources) {
    if (entry.keeps(samples, source)) {
      kept.push_back(source);
    }
  }
  return kept;
}

Sources part(const Sources& rows, std::size_t first, std::size_t count) {
  const auto begin = rows.begin() + static_cast<std::ptrdiff_t>(first);
  return {begin, begin + static_cast<std::ptrdiff_t>(count)};
}

/// Whether a distribution has only some of the samples.
bool filters(Shift shift) { return shift == Shift::label_prior || shift == Shift::natural; }

std::shared_ptr<const std::vector<Recipe>> recipes_of(const Bank& bank) {
  std::vector<Recipe> recipes;
  recipes.reserve(bank.entries.size());
  for (const Bank::Entry& entry : bank.entries) {
    recipes.push_back(entry.recipe);
  }
  return std::make_shared<const std::vector<Recipe>>(std::move(recipes));
}

}  // namespace

BankData::BankData(std::shared_ptr<const Dataset> dataset, const ScenarioOptions& options,
                   std::shared_ptr<const Schedule> schedule, const Rng& rng)
    : dataset_(std::move(dataset)),
      options_(options),
      schedule_(std::move(schedule)),
      rng_(rng),
      holdings_(equal_holdings(*dataset_, options, rng)),
      recipes_(recipes_of(schedule_->bank)) {}

void BankData::check(std::size_t test_clients) const {
  if (!filters(options_.shift)) {
    return;
  }
  const bool draws = options_.samples_per_client > 0;
  const auto check = [&](std::size_t client, const Shares& shares, const Samples& samples, int id,
                         std::string_view split) {
    const Bank::Entry& entry = schedule_->bank.entry(id);
    const bool has_some = shares.any_of(client, [&](std::uint32_t source) { return entry.keeps(samples, source); });
    require(has_some, ErrorCode::invalid_config,
            "scenario.{} must be {} enough that every client has samples of its {}, got {}: client {} has "
            "no {} sample of distribution {}",
            draws ? "samples_per_client" : "clients", draws ? "large" : "small",
            options_.shift == Shift::natural ? "domains" : "classes",
            draws ? options_.samples_per_client : options_.clients, client, split, id);
  };
  for (std::size_t client = 0; client < schedule_->ids.size(); ++client) {
    for (const int id : schedule_->ids[client]) {
      check(client, holdings_.train, dataset_->train, id, "training");
    }
    if (client < test_clients) {
      check(client, holdings_.test, dataset_->test, schedule_->test_ids[client], "test");
    }
  }
}

std::size_t BankData::scaled(std::size_t count) const {
  return scaled_count(count, static_cast<std::size_t>(options_.drifts), holdings_.train.count(), scale_rule(options_));
}

SampleRows BankData::train(std::size_t client, std::size_t stage) const {
  if (!accumulates(options_.drift_mode)) {
    return rows_of(stage_sources(client, stage), schedule_->ids[client][stage]);
  }
  SampleRows all;
  std::vector<Recipe> fresh;
  for (std::size_t i = 0; i <= stage; ++i) {
    SampleRows rows = rows_of(stage_sources(client, i), schedule_->ids[client][i]);
    if (recipes_->empty()) {
      for (ViewItem& item : rows.items) {
        item.recipe = static_cast<std::uint32_t>(fresh.size());
      }
      fresh.push_back(rows.recipes->front());
    }
    all.items.insert(all.items.end(), rows.items.begin(), rows.items.end());
  }
  rng_.derive("accumulate", client, stage).shuffle(std::span(all.items));
  all.recipes = recipes_->empty() ? std::make_shared<const std::vector<Recipe>>(std::move(fresh)) : recipes_;
  return all;
}

Sources BankData::stage_sources(std::size_t client, std::size_t stage) const {
  const Sources pool = holdings_.train.of(client);
  const int id = schedule_->ids[client][stage];
  if (options_.shift == Shift::natural) {
    return domain_sample(pool, client, stage);
  }
  if (options_.shift == Shift::label_prior && options_.strict) {
    const Sources kept = keep(pool, dataset_->train, schedule_->bank.entry(id));
    return refilled(kept, id, rng_.derive("scaling", client));
  }
  if (options_.shift == Shift::label_prior && options_.generator == Generator::clean) {
    return chunk_of_classes(pool, client, stage);
  }
  const Sources rows = extend_pool(pool, scaled(pool.size()), rng_.derive("scaling", client));
  if (options_.shift == Shift::label_prior) {
    // The paper's P(Y) stages are the whole scaled pool, filtered: they grow with the number of stages.
    return keep(rows, dataset_->train, schedule_->bank.entry(id));
  }
  const Slice slice = stage_slice(rows.size(), static_cast<std::size_t>(options_.drifts), stage);
  return part(rows, slice.first, slice.count);
}

Sources BankData::chunk_of_classes(std::span<const std::uint32_t> pool, std::size_t client, std::size_t stage) const {
  const std::vector<int>& ids = schedule_->ids[client];
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
  const Sources kept = keep(pool, dataset_->train, schedule_->bank.entry(ids[stage]));
  const Sources rows = extend_pool(kept, std::max(wanted, kept.size()),
                                   rng_.derive("scaling", client, static_cast<std::uint64_t>(ids[stage])));
  return part(rows, first, stage_slice(scaled(pool.size()), stages, stage).count);
}

Sources BankData::domain_sample(std::span<const std::uint32_t> pool, std::size_t client, std::size_t stage) const {
  const Bank::Entry& entry = schedule_->bank.entry(schedule_->ids[client][stage]);
  const Sources kept = keep(pool, dataset_->train, entry);
  const auto most = static_cast<std::size_t>(options_.samples_per_stage);
  const std::size_t count = most == 0 ? kept.size() : std::min(most, kept.size());
  Sources drawn = rng_.derive("natural", client, stage).sample(kept.size(), count);
  for (std::uint32_t& source : drawn) {
    source = kept[source];
  }
  return drawn;
}

Sources BankData::refilled(std::span<const std::uint32_t> kept, int id, const Rng& rng) const {
  const std::vector<bool>& keeps_class = schedule_->bank.entry(id).keeps_class;
  const auto classes = static_cast<std::size_t>(std::count(keeps_class.begin(), keeps_class.end(), true));
  return extend_pool(kept, kept.size() * keeps_class.size() / classes, rng);
}

Recipe BankData::fresh_recipe(int id) const {
  const FreshPermutation place = fresh_place(options_, id);
  const Sources& pool = schedule_->bank.fresh_pool;
  Sources image = pool;
  Rng rng = place.test ? rng_.derive("test_permutation", place.client)
                       : rng_.derive("permutation", place.client, place.stage);
  rng.shuffle(std::span(image));
  return permuted_recipe(dataset_->classes, pool, image);
}

SampleRows BankData::rows_of(std::span<const std::uint32_t> sources, int id) const {
  const bool listed = !recipes_->empty();
  const std::uint32_t recipe = listed ? static_cast<std::uint32_t>(id - 1) : 0;
  SampleRows rows;
  rows.recipes = listed ? recipes_ : std::make_shared<const std::vector<Recipe>>(1, fresh_recipe(id));
  rows.items.reserve(sources.size());
  for (const std::uint32_t source : sources) {
    rows.items.push_back({source, recipe});
  }
  return rows;
}

SampleRows BankData::test(std::size_t client) const {
  Sources sources = holdings_.test.of(client);
  const int id = schedule_->test_ids[client];
  if (options_.shift == Shift::label_prior && options_.generator == Generator::feroma && !options_.strict) {
    sources = extend_pool(sources, scaled(sources.size()), rng_.derive("test_scaling", client));
  }
  if (filters(options_.shift)) {
    sources = keep(sources, dataset_->test, schedule_->bank.entry(id));
  }
  if (options_.shift == Shift::label_prior && options_.strict) {
    sources = refilled(sources, id, rng_.derive("test_scaling", client));
  }
  return rows_of(sources, id);
}

SampleRows BankData::few_labels(std::size_t client, int labels_per_class) const {
  const int id = schedule_->test_ids[client];
  const auto wanted = [&](std::uint32_t source) {
    return recipes_->empty() || schedule_->bank.entry(id).keeps(dataset_->test, source);
  };
  return rows_of(few_label_sources(dataset_->test, holdings_.test, holdings_.test.of(client), dataset_->classes,
                                   labels_per_class, wanted, rng_.derive("few_labels", client)),
                 id);
}

}  // namespace feroma
