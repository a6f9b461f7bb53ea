#pragma once

#include <array>
#include <memory>
#include <set>

#include "feroma/drift/federation.h"
#include "tests/data/synthetic.h"

namespace feroma::test {

inline constexpr std::array kShifts{Shift::covariate, Shift::label_prior, Shift::concept_label, Shift::concept_feature};
inline constexpr std::array kGenerators{Generator::clean, Generator::feroma};

inline ScenarioOptions scenario(Shift shift, Generator generator, int drifts = 10, int clients = 20) {
  ScenarioOptions options;
  options.shift = shift;
  options.generator = generator;
  options.drifts = drifts;
  options.clients = clients;
  return options;
}

/// Pictures are four pixels; only their number is MNIST's.
inline const std::shared_ptr<const Dataset>& mnist_sized() {
  static const std::shared_ptr<const Dataset> dataset = make_dataset(60000, 10000);
  return dataset;
}

inline ClientId client(std::uint32_t index) { return ClientId{index}; }

inline std::multiset<std::uint32_t> sources_of(const View& view) {
  std::multiset<std::uint32_t> sources;
  for (const ViewItem& item : view.items) {
    sources.insert(item.source);
  }
  return sources;
}

/// All rows of a shard, training and held out.
inline std::multiset<std::uint32_t> all_sources(const ClientShard& shard) {
  std::multiset<std::uint32_t> all = sources_of(shard.train);
  const std::multiset<std::uint32_t> held_out = sources_of(shard.held_out);
  all.insert(held_out.begin(), held_out.end());
  return all;
}

inline std::set<std::uint32_t> unique(const std::multiset<std::uint32_t>& sources) {
  return {sources.begin(), sources.end()};
}

inline bool same_shard(const ClientShard& a, const ClientShard& b) {
  return a.window == b.window && a.distribution == b.distribution && a.train.items == b.train.items &&
         a.held_out.items == b.held_out.items;
}

}  // namespace feroma::test
