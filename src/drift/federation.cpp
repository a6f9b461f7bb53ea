#include "feroma/drift/federation.h"

#include <algorithm>
#include <utility>

#include "feroma/core/error.h"
#include "feroma/core/log.h"
#include "feroma/partition/partitioners.h"
#include "feroma/partition/pool.h"

namespace feroma {
namespace {

/// What a dataset must have for a shift, beyond the rules that need only its sizes.
void check_data_fit(const Dataset& dataset, const ScenarioOptions& options) {
  require(options.shift != Shift::natural || !dataset.domain_names.empty(), ErrorCode::invalid_config,
          "scenario.shift must not be natural because {} has no natural distributions", dataset.name);
  require(!dataset.train.multi_label() || !reads_labels(options.shift), ErrorCode::invalid_config,
          "scenario.shift must not be {} because samples of {} have several labels", name_of(options.shift),
          dataset.name);
  const int domains = static_cast<int>(dataset.domain_names.size());
  const int fewest = tests_drift(options.drift_mode) || options.force_change ? 2 : 1;
  require(options.shift != Shift::natural || domains >= fewest, ErrorCode::invalid_config,
          "scenario.drift_mode must not ask for other distributions because {} has only {}", dataset.name, domains);
}

std::shared_ptr<const Dataset> checked_dataset(std::shared_ptr<const Dataset> dataset, const ScenarioOptions& options) {
  require(dataset != nullptr, ErrorCode::internal, "[federation] a dataset must be given, got none");
  check_dataset(*dataset);
  Problems problems;
  options.check(dataset->classes, dataset->train.count(), dataset->test.count(), problems);
  problems.raise();
  check_data_fit(*dataset, options);
  return dataset;
}

std::shared_ptr<const Schedule> schedule_for(const Dataset& dataset, const ScenarioOptions& options, const Rng& rng) {
  Schedule schedule = make_schedule(options, dataset.classes, rng, static_cast<int>(dataset.domain_names.size()));
  if (options.shift == Shift::natural_id && !same_owners(dataset)) {
    // Tests are on other people, so on other distributions than those of training.
    for (int& id : schedule.test_ids) {
      id += options.clients;
    }
    schedule.bank.unlisted += options.clients;
  }
  return std::make_shared<const Schedule>(std::move(schedule));
}

std::variant<BankData, OwnData> make_data(const std::shared_ptr<const Dataset>& dataset, const ScenarioOptions& options,
                                          const std::shared_ptr<const Schedule>& schedule, const Rng& rng) {
  if (has_bank(options)) {
    return BankData(dataset, options, schedule, rng);
  }
  return OwnData(dataset, options, rng);
}

std::vector<std::uint32_t> sources_of(const SampleRows& rows) {
  std::vector<std::uint32_t> sources;
  sources.reserve(rows.items.size());
  for (const ViewItem& item : rows.items) {
    sources.push_back(item.source);
  }
  return sources;
}

SampleRows pick_rows(const SampleRows& rows, const std::vector<std::uint32_t>& positions) {
  SampleRows picked{.items = {}, .recipes = rows.recipes};
  picked.items.reserve(positions.size());
  for (const std::uint32_t position : positions) {
    picked.items.push_back(rows.items[position]);
  }
  return picked;
}

}  // namespace

SampleShape seen_shape(SampleShape stored, const ScenarioOptions& options) {
  if (changes_pictures(options.shift)) {
    require(can_be_turned(stored), ErrorCode::invalid_config,
            "scenario.shift {} needs square pictures of 1 or 3 channels, got {}x{}x{}; take the line out, so that the "
            "shift follows the data, or write one that changes no pictures, like \"{}\"",
            name_of(options.shift), stored.channels, stored.height, stored.width, name_of(Shift::dirichlet));
    stored.channels = 3;
  }
  return stored;
}

Federation::Federation(std::shared_ptr<const Dataset> dataset, const ScenarioOptions& options)
    : dataset_(checked_dataset(std::move(dataset), options)),
      options_(options),
      rng_(Rng(static_cast<std::uint64_t>(options.seed)).derive("scenario")),
      schedule_(schedule_for(*dataset_, options, rng_)),
      shape_(seen_shape(dataset_->train.shape, options)),
      data_(make_data(dataset_, options, schedule_, rng_)) {
  std::visit([this](const auto& data) { data.check(test_clients()); }, data_);
  log::info("{} clients, {} stages, {} distributions: {} changes of distribution over the run", options_.clients,
            options_.drifts, schedule_->bank.size(), schedule_->realised_changes());
}

void Federation::scale_inputs(InputScales scales) {
  require(scales.size() == scale_count(shape_), ErrorCode::internal, "[federation] {} scales are needed, got {}",
          scale_count(shape_), scales.size());
  scales_ = std::move(scales);
}

std::size_t Federation::test_clients() const {
  return static_cast<std::size_t>(options_.test_clients == 0 ? options_.clients : options_.test_clients);
}

View Federation::make_view(const Samples& samples, SampleRows rows) const {
  View view;
  view.samples = &samples;
  view.recipes = *rows.recipes;
  view.kept_recipes = std::move(rows.recipes);
  view.shape = shape_;
  view.items = std::move(rows.items);
  view.scales = scales_;
  return view;
}

ClientShard Federation::shard(ClientId client, Round round) const {
  const std::size_t k = to_index(client);
  require(k < schedule_->ids.size(), ErrorCode::internal, "[federation] client must be below {}, got {}",
          schedule_->ids.size(), k);
  require(round >= 1 && round <= options_.rounds, ErrorCode::internal, "[federation] round must be in 1..{}, got {}",
          options_.rounds, round);
  const int window = schedule_->stage_of_round[static_cast<std::size_t>(round)];
  const auto stage = static_cast<std::size_t>(window);
  const SampleRows rows = std::visit([&](const auto& data) { return data.train(k, stage); }, data_);
  const Rng split_rng = rng_.derive("held_out", k, stage);
  const HeldOutSplit split = options_.generator == Generator::clean ? split_sources(sources_of(rows), split_rng)
                                                                    : split_rows(rows.items.size(), split_rng);
  return {.window = window,
          .distribution = schedule_->ids[k][stage],
          .train = make_view(dataset_->train, pick_rows(rows, split.train)),
          .held_out = make_view(dataset_->train, pick_rows(rows, split.held_out))};
}

TestShard Federation::test(ClientId client, int labels_per_class) const {
  const std::size_t k = to_index(client);
  require(k < test_clients(), ErrorCode::internal, "[federation] test client must be below {}, got {}", test_clients(),
          k);
  require(labels_per_class >= 0, ErrorCode::internal, "[federation] labels per class must be >= 0, got {}",
          labels_per_class);
  return std::visit(
      [&](const auto& data) {
        return TestShard{.distribution = schedule_->test_ids[k],
                         .data = make_view(dataset_->test, data.test(k)),
                         .few_labels = make_view(dataset_->test, data.few_labels(k, labels_per_class))};
      },
      data_);
}

}  // namespace feroma
