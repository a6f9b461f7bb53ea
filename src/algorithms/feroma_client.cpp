#include "algorithms/feroma_client.h"

#include <algorithm>
#include <cmath>

#include "algorithms/published_noise.h"
#include "feroma/algorithms/extractor.h"

namespace feroma {
namespace {

/// An encoder that came with the question for bounds, until its projector comes.
const std::string kEarlyEncoder = "early.encoder";

/// The extractor arrives once and is kept.
void remember(ClientContext& context, const Message& received) {
  auto& kept = context.state.values;
  for (const auto& [key, value] : received.values) {
    kept[key] = value;
  }
  const std::string prefix = received.has(kNext + "projector.centre") ? kNext : "";
  if (auto early = kept.extract(kEarlyEncoder); !early.empty()) {
    kept.try_emplace(prefix + "encoder", std::move(early.mapped()));
  }
}

/// The next extractor takes the other one's place.
void change_extractor(Message& state) {
  for (const char* key : {"encoder", "projector.components", "projector.centre"}) {
    if (auto next = state.values.extract(kNext + key); !next.empty()) {
      state.values[key] = std::move(next.mapped());
    }
  }
}

View samples_of(const FeromaPlan& plan, ClientContext& context) {
  return profile_view(plan.options, context.train, context.held_out, context.rng.derive("profile"));
}

/// The latents of a client's samples, projected.
EncodedSamples projected_samples(const FeromaPlan& plan, ClientContext& context) {
  const Extractor extractor = extractor_from(context.state, encoder_width(plan.options, plan.model));
  EncodedSamples samples =
      encode_samples(plan.options, extractor.encoder, context.trainer, samples_of(plan, context), true);
  samples.rows = project(extractor.projector, samples.rows);
  return samples;
}

Profile exact_profile(const FeromaPlan& plan, ClientContext& context, const std::string& prefix = "") {
  const Extractor extractor = extractor_from(context.state, encoder_width(plan.options, plan.model), prefix);
  const EncodedSamples samples =
      encode_samples(plan.options, extractor.encoder, context.trainer, samples_of(plan, context), true);
  return published_form(plan, extractor, samples,
                        extract_profile(plan.options, extractor, samples, plan.model.classes, plan.options.subsampling,
                                        context.rng.derive("subsampling")),
                        context.rng);
}

/// Hits among the held-out samples; an AUROC counts as the share of hits that it is.
Ints held_out_hits(const Tally& tally) {
  return {std::llround(tally.accuracy() / 100.0 * static_cast<double>(tally.count)), tally.count};
}

}  // namespace

Message send_bounds(const FeromaPlan& plan, const PrivateProfiles* guarded, ClientContext& context,
                    const Message& received) {
  const StageTimer timer(context.seconds, Stage::profile);
  if (guarded != nullptr) {
    remember(context, received);
    return PrivateProfiles::tell_norms(context.disclosure, context.window, projected_samples(plan, context).rows);
  }
  ParametersPtr encoder;
  if (received.has("encoder")) {
    encoder = received.model("encoder");
    context.state.values[kEarlyEncoder] = encoder;
  }
  const Bounds bounds =
      bounds_of(encode_samples(plan.options, encoder, context.trainer, samples_of(plan, context), false).rows);
  return {{{"lower", bounds.lower}, {"upper", bounds.upper}}};
}

Message send_profile(const FeromaPlan& plan, const PrivateProfiles* guarded, ClientContext& context,
                     const Message& received) {
  const StageTimer timer(context.seconds, Stage::profile);
  remember(context, received);
  Message& state = context.state;
  if (guarded != nullptr) {
    return guarded->tell_profile(context.disclosure, state, context.window,
                                 [&] { return projected_samples(plan, context); });
  }
  const bool current = plan.options.cache && state.has("profile") && state.integer("profile_window") == context.window;
  if (!current) {
    const Profile profile = exact_profile(plan, context);
    state.values["profile"] = encode(profile, plan.shape);
    state.values["profile_samples"] = Ints{profile.num_samples};
    state.values["profile_window"] = Ints{context.window};
  }
  Message answer{{{"profile", state.floats("profile")}, {"num_samples", state.ints("profile_samples")}}};
  if (received.has(kNext + "projector.centre")) {
    state.values["profile"] = encode(exact_profile(plan, context, kNext), plan.shape);
    answer.values["next_profile"] = state.floats("profile");
    change_extractor(state);
  }
  return answer;
}

Message train_model(const FeromaPlan& plan, const FeromaExtras& wanted, ClientContext& context,
                    const Message& received) {
  Parameters trained = train_locally(context, *received.model("model"), plan.fit);
  Message answer;
  if (wanted.latent_max) {
    const StageTimer timer(context.seconds, Stage::profile);
    float largest = 0;
    context.trainer.latents(trained, context.held_out, plan.options.latent,
                            [&](std::span<const float> rows, int, const Batch&) {
                              largest = std::max(largest, *std::max_element(rows.begin(), rows.end()));
                            });
    answer.values["latent_max"] = Floats{largest};
  }
  if (wanted.held_out) {
    answer.values["held_out"] = held_out_hits(context.report.after);
  }
  if (wanted.gain) {
    const ClientReport& report = context.report;
    answer.values["gain"] = Ints{held_out_hits(report.after)[0] - held_out_hits(report.before)[0]};
    context.trainer.passes().forward += report.before.count;
  }
  if (wanted.held_out || wanted.gain) {
    context.trainer.passes().forward += context.report.after.count;
  }
  answer.values["model"] = share(std::move(trained));
  if (wanted.count) {
    answer.values["num_examples"] = Ints{context.report.num_examples};
  }
  return answer;
}

}  // namespace feroma
