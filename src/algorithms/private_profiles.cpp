#include "algorithms/private_profiles.h"

#include <algorithm>
#include <cmath>

#include "feroma/privacy/noisy_moments.h"
#include "feroma/profile/jitter.h"
#include "feroma/profile/scaler.h"

namespace feroma {
namespace {

/// Far beyond any sum of a client's, near nothing that could overflow.
constexpr std::int64_t kLargestSum = std::int64_t{1} << 52;
Disclosure& required(Disclosure* disclosure) {
  require(disclosure != nullptr, ErrorCode::internal, "[privacy] a private profile needs a ledger to stand in");
  return *disclosure;
}

std::vector<RecordLabels> labels_of(const EncodedSamples& samples, int classes) {
  std::vector<RecordLabels> labels;
  for (const std::int32_t label : samples.labels) {
    labels.push_back({label});
  }
  const auto width = static_cast<std::size_t>(classes);
  for (std::size_t begin = 0; begin < samples.targets.size(); begin += width) {
    RecordLabels& present = labels.emplace_back();
    for (std::size_t u = 0; u < width; ++u) {
      if (samples.targets[begin + u] > 0.5F) {
        present.push_back(static_cast<int>(u));
      }
    }
  }
  return labels;
}

/// Moments in the units of the bounds become moments of projected latents; variances of noise follow in `noise`.
Moments in_latent_units(const NoisyMoments& moments, const ClipBounds& bounds, std::vector<float>& noise) {
  Moments result;
  for (std::size_t i = 0; i < moments.mean.size(); ++i) {
    const auto scale = static_cast<double>(bounds.scale[i]);
    result.mean.push_back(static_cast<float>(static_cast<double>(bounds.centre[i]) + scale * moments.mean[i]));
    result.std.push_back(static_cast<float>(scale * moments.spread[i]));
    noise.push_back(static_cast<float>(scale * scale * moments.mean_noise[i]));
  }
  for (std::size_t i = 0; i < moments.mean.size(); ++i) {
    const auto scale = static_cast<double>(bounds.scale[i]);
    noise.push_back(static_cast<float>(scale * scale * moments.spread_noise[i]));
  }
  return result;
}

Profile moved_profile(const Profile& profile, const ProfileShape& shape, Rng rng) {
  Profile moved = jittered(profile, shape, std::move(rng));
  const Signature signature = signature_of(profile, shape, /*label_free=*/false);
  moved.added_noise = profile.added_noise;
  for (std::size_t i = 0; i < moved.added_noise.size(); ++i) {
    moved.added_noise[i] += static_cast<float>(std::max(signature.noise[i], 0.0));
  }
  return moved;
}

/// Whether the client tells nothing, because its budget is spent.
bool says_spent(const Answer& answer) { return answer.has("spent") && answer.integer("spent", 1, 1) == 1; }

}  // namespace

FeromaOptions private_form(FeromaOptions options, const PrivacyOptions& privacy) {
  const auto needs = [&](bool holds, std::string_view key, std::string_view rule) {
    require(holds, ErrorCode::unsupported, "[feroma] privacy.mode {} needs {} {}", name_of(privacy.mode), key, rule);
  };
  needs(options.projection == Projection::orthonormal, "profile.projection", "orthonormal");
  needs(options.metric == Metric::reliable, "mapping.metric", "reliable");
  needs(options.assign_metric == Metric::reliable, "assign.metric", "reliable");
  needs(options.subsampling == Subsampling::off, "profile.subsampling", "off");
  needs(options.data == ProfileData::all, "profile.data", "all: which records are held out depends on the others");
  needs(options.encoder_refresh == 0, "profile.encoder_refresh", "0: every encoder would cost a release");
  needs(!options.warmup_auto, "warmup_auto", "false: accuracies do not leave clients");
  needs(options.retained_models == 0 || options.retention_accuracy == 0, "retention.accuracy",
        "0: accuracies do not leave clients");
  options.full_marginal = false;
  options.max_samples = 0;
  options.cache = true;
  options.unit_norm = options.unit_norm || privacy.bounds == BoundsRule::fixed;
  return options;
}

PrivateProfiles::PrivateProfiles(const PrivacyOptions& options, const ProfileShape& shape, int width, bool multi_label)
    : options_(options),
      shape_(shape),
      labelled_(options.shape(shape.conditional, shape.classes, multi_label)),
      unlabelled_(options.shape(shape.conditional, 1, false)) {
  require(multi_label || options.max_labels == 1, ErrorCode::invalid_config,
          "privacy.max_labels would be ignored: samples have one label each");
  // What cannot be protected is refused before anything is trained.
  for (const SumShape& sums : {labelled_, unlabelled_}) {
    static_cast<void>(release_noise(sums, options.neighbours, options.plan().release));
  }
  if (options.bounds == BoundsRule::fixed) {
    bounds_.push_back(fixed_bounds(labelled_, width));
  }
}

Message PrivateProfiles::bounds_message() const {
  return {{{"clip.centre", bounds_.back().centre},
           {"clip.scale", bounds_.back().scale},
           {"clip.epoch", Ints{static_cast<std::int64_t>(bounds_.size()) - 1}}}};
}

Message PrivateProfiles::tell_norms(Disclosure* disclosure, int version, const Rows& projected) {
  const NormHistogram histogram = norm_histogram(projected.values, std::max(projected.width, 1));
  std::optional<Ints> told = required(disclosure).norms(version, histogram);
  return told ? Message{{{"norms", std::move(*told)}}} : Message{{{"spent", Ints{1}}}};
}

Message PrivateProfiles::tell_profile(Disclosure* disclosure, Message& memory, int version,
                                      const Projected& projected) const {
  const std::int64_t epoch = memory.integer("clip.epoch");
  const bool told_before = memory.has("sums") && memory.integer("sums_version") == version;
  // Narrower bounds mean less noise, which is worth a release of the same data once.
  if (!told_before || memory.integer("sums_epoch") != epoch) {
    const ClipBounds bounds{memory.floats("clip.centre"), memory.floats("clip.scale")};
    const EncodedSamples samples = projected();
    const std::vector<RecordLabels> labels = labels_of(samples, labelled_.classes);
    std::optional<Ints> told =
        required(disclosure)
            .profile(version, epoch, labelled_, sums_of(labelled_, bounds, samples.rows.values, labels));
    if (told) {
      memory.values["sums"] = std::move(*told);
      memory.values["sums_version"] = Ints{version};
      memory.values["sums_epoch"] = Ints{epoch};
    } else if (!told_before) {
      return {{{"spent", Ints{1}}}};
    }
  }
  return {{{"sums", memory.ints("sums")}, {"epoch", memory.ints("sums_epoch")}}};
}

Message PrivateProfiles::tell_unlabelled(Disclosure* disclosure, const Message& bounds, const Rows& projected) const {
  const std::int64_t epoch = bounds.integer("clip.epoch");
  const ClipBounds clip{bounds.floats("clip.centre"), bounds.floats("clip.scale")};
  std::optional<Ints> told =
      required(disclosure).unlabelled(epoch, unlabelled_, sums_of(unlabelled_, clip, projected.values, {}));
  return told ? Message{{{"sums", std::move(*told)}, {"epoch", Ints{epoch}}}} : Message{{{"spent", Ints{1}}}};
}

std::optional<Profile> PrivateProfiles::read_unlabelled(const Message& told) const {
  const Answer answer("feroma", ClientId{0}, told);
  if (says_spent(answer)) {
    answer.expect_nothing_else();
    return std::nullopt;
  }
  const Ints& sums = answer.integers("sums", unlabelled_.size(), -kLargestSum, kLargestSum);
  const std::int64_t epoch = answer.integer("epoch", 0, static_cast<std::int64_t>(bounds_.size()) - 1);
  answer.expect_nothing_else();
  return profile_of(unlabelled_, static_cast<std::size_t>(epoch), sums);
}

void PrivateProfiles::check_norms(const Answer& answer) {
  if (!says_spent(answer)) {
    answer.integers("norms", kNormBins, -kLargestSum, kLargestSum);
  }
}

void PrivateProfiles::check_profile(const Answer& answer) const {
  if (!says_spent(answer)) {
    answer.integers("sums", labelled_.size(), -kLargestSum, kLargestSum);
    answer.integer("epoch", 0, static_cast<std::int64_t>(bounds_.size()) - 1);
  }
}

void PrivateProfiles::take_norms(const std::map<ClientId, Message>& answers) {
  std::vector<Ints> histograms;
  for (const auto& [client, answer] : answers) {
    if (answer.has("norms")) {
      histograms.push_back(answer.ints("norms"));
    }
  }
  bounds_.push_back(bounds_of_radius(labelled_, norm_quantile(histograms, options_.radius_quantile)));
}

void PrivateProfiles::learn(const std::map<ClientId, Message>& answers) {
  if (!reference_.empty()) {
    return;
  }
  std::vector<Ints> releases;
  for (const auto& [client, answer] : answers) {
    if (answer.has("sums")) {
      releases.push_back(answer.ints("sums"));
    }
  }
  if (releases.empty()) {
    return;
  }
  const ClipBounds& bounds = bounds_.back();
  const PooledMoments pooled = pooled_moments(labelled_, releases);
  for (std::size_t i = 0; i < pooled.variance.size(); ++i) {
    reference_.push_back(static_cast<double>(bounds.scale[i]) * std::sqrt(pooled.variance[i]));
  }
  if (options_.recenter == Recentre::once) {
    bounds_.push_back(recentred(labelled_, bounds, releases));
  }
}

std::optional<Profile> PrivateProfiles::read(ClientId client, const Message& answer, const Rng& rng) {
  const bool again = !answer.has("sums") || last_[client].sums == answer.ints("sums");
  if (answer.has("sums")) {
    last_[client] = {answer.ints("sums"), static_cast<std::size_t>(answer.integer("epoch"))};
  }
  const auto found = last_.find(client);
  if (found == last_.end()) {
    return std::nullopt;
  }
  Profile profile = profile_of(labelled_, found->second.epoch, found->second.sums);
  return again && options_.jitter ? moved_profile(profile, shape_, rng.derive("jitter", to_index(client))) : profile;
}

Profile PrivateProfiles::profile_of(const SumShape& sums, std::size_t epoch,
                                    std::span<const std::int64_t> released) const {
  const ClipBounds& bounds = bounds_[epoch];
  std::vector<double> reference;
  for (std::size_t i = 0; i < bounds.scale.size(); ++i) {
    reference.push_back(reference_.empty() ? 1.0 : reference_[i] / static_cast<double>(bounds.scale[i]));
  }
  const bool unlabelled = sums.classes != shape_.classes;
  const ReleasePlan plan = unlabelled ? options_.of_test_client().plan() : options_.plan();
  const double noise = release_noise(sums, options_.neighbours, plan.release);
  const NoisyStatistics read = read_statistics(sums, released, noise, reference);
  Profile profile;
  profile.num_samples = std::max<std::int64_t>(1, std::llround(read.marginal.count));
  profile.marginal = in_latent_units(read.marginal, bounds, profile.added_noise);
  if (unlabelled) {
    return profile;
  }
  double total = 0;
  double present = 0;
  for (const NoisyMoments& moments : read.classes) {
    total += moments.present ? moments.count : 0.0;
    present += moments.present ? 1 : 0;
  }
  // Shares of one label per record sum to 1; of several labels each is a share of the records.
  total = sums.multi_label ? read.marginal.count : std::max(total, 1.0);
  const double count_noise = read.classes.front().count_noise / total;
  // A share moves with its own count and against the total: all counts together, or the records'.
  const double others = sums.multi_label ? 1.0 : std::max(present - 1, 0.0);
  const std::vector<float> nothing(2 * bounds.scale.size());
  const Moments absent{std::vector<float>(bounds.scale.size()), std::vector<float>(bounds.scale.size())};
  std::vector<float> shares_noise;
  for (const NoisyMoments& moments : read.classes) {
    const double share = moments.present ? std::min(moments.count / total, 1.0) : 0.0;
    const double own = sums.multi_label ? 1.0 : 1 - share;
    profile.prior.push_back(static_cast<float>(share));
    shares_noise.push_back(static_cast<float>(count_noise * count_noise * (own * own + others * share * share)));
    if (moments.present) {
      profile.per_class.push_back(in_latent_units(moments, bounds, profile.added_noise));
    } else {
      profile.per_class.push_back(absent);
      profile.added_noise.insert(profile.added_noise.end(), nothing.begin(), nothing.end());
    }
  }
  profile.added_noise.insert(profile.added_noise.end(), shares_noise.begin(), shares_noise.end());
  return profile;
}

void PrivateProfiles::save(ArchiveWriter& out) const {
  out.put<std::uint64_t>(bounds_.size());
  for (const ClipBounds& bounds : bounds_) {
    out.put(bounds.centre);
    out.put(bounds.scale);
  }
  out.put(reference_);
  out.put<std::uint64_t>(last_.size());
  for (const auto& [client, told] : last_) {
    out.put(client);
    out.put(told.sums);
    out.put<std::uint64_t>(told.epoch);
  }
}

void PrivateProfiles::load(ArchiveReader& in) {
  bounds_.clear();
  const auto epochs = in.get<std::uint64_t>();
  for (std::uint64_t i = 0; i < epochs; ++i) {
    ClipBounds bounds;
    bounds.centre = in.get_vector<float>();
    bounds.scale = in.get_vector<float>();
    bounds_.push_back(std::move(bounds));
  }
  reference_ = in.get_vector<double>();
  last_.clear();
  const auto clients = in.get<std::uint64_t>();
  for (std::uint64_t i = 0; i < clients; ++i) {
    const auto client = in.get<ClientId>();
    Ints sums = in.get_vector<std::int64_t>();
    last_[client] = {std::move(sums), in.get<std::uint64_t>()};
  }
}

}  // namespace feroma
