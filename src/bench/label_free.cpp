#include <fmt/core.h>

#include <bit>
#include <cstdint>

#include "bench/requirement_parts.h"

namespace feroma::detail {
namespace {

/// Floats of the label-free prefix whose bits differ.
std::size_t different_floats(const Profile& a, const Profile& b, const ProfileShape& shape) {
  const std::vector<float> x = encode(a, shape);
  const std::vector<float> y = encode(b, shape);
  std::size_t different = 0;
  for (std::size_t i = 0; i < shape.label_free_size(); ++i) {
    different += std::bit_cast<std::uint32_t>(x[i]) != std::bit_cast<std::uint32_t>(y[i]) ? 1U : 0U;
  }
  return different;
}

}  // namespace

void measure_label_free(Probe& probe, std::string_view preset, Requirement& r2) {
  const std::vector<DataVersion>& versions = probe.versions();
  std::vector<std::size_t> permuted(versions.size());
  std::vector<std::size_t> unlabelled(versions.size());
  std::vector<char> labels_matter(versions.size());
  probe.cell().each(versions.size(), [&](std::size_t v, Trainer& trainer) {
    const DataVersion& version = versions[v];
    const Round round = version.rounds.front();
    EncodedSamples samples = probe.profiled_samples(version, round, trainer);
    const Profile full = probe.profile_of(version, round, samples);
    Rng(v).shuffle(std::span(samples.labels));
    const Profile other = probe.profile_of(version, round, samples);
    samples.labels.clear();
    permuted[v] = different_floats(full, other, probe.shape());
    unlabelled[v] = different_floats(full, probe.profile_of(version, round, samples), probe.shape());
    labels_matter[v] = full.per_class != other.per_class ? 1 : 0;
  });
  double checked = 0;
  double differ_permuted = 0;
  double differ_unlabelled = 0;
  double matter = 0;
  for (std::size_t v = 0; v < versions.size(); ++v) {
    checked += static_cast<double>(probe.shape().label_free_size());
    differ_permuted += static_cast<double>(permuted[v]);
    differ_unlabelled += static_cast<double>(unlabelled[v]);
    matter += static_cast<double>(labels_matter[v]);
  }
  const Target none{Target::Side::at_most, 0};
  r2.results.push_back({fmt::format("changed_by_permuted_labels_{}", preset),
                        fmt::format("floats of the label-free prefix whose bits differ, preset {}", preset),
                        differ_permuted, none});
  r2.results.push_back(
      {fmt::format("changed_by_no_labels_{}", preset), "the same without labels", differ_unlabelled, none});
  r2.results.push_back({fmt::format("floats_{}", preset), "floats compared, over all data versions", checked});
  r2.results.push_back({fmt::format("labels_matter_{}", preset), "share of profiles whose class part did change",
                        matter / static_cast<double>(versions.size()), Target{Target::Side::at_least, 1}});
}

}  // namespace feroma::detail
