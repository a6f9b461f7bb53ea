#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "feroma/algorithms/feroma_options.h"
#include "feroma/client/trainer.h"
#include "feroma/data/view.h"
#include "feroma/models/message.h"
#include "feroma/models/spec.h"
#include "feroma/profile/profile.h"
#include "feroma/profile/projector.h"

namespace feroma {

/// What a client needs to summarise its data; sent once, the same for everybody.
struct Extractor {
  ParametersPtr encoder;  ///< null: the samples themselves are summarised
  Projector projector;
};

/// Before the keys of an extractor that takes the other one's place after it was used for the last time.
inline const std::string kNext = "next.";
[[nodiscard]] Message to_message(const Extractor& extractor, const std::string& prefix = "");
/// Reads it back; `width` is the encoder's output.
[[nodiscard]] Extractor extractor_from(const Message& message, int width, const std::string& prefix = "");

/// Width of what the encoder gives: a latent, or a sample.
[[nodiscard]] int encoder_width(const FeromaOptions& options, const ModelSpec& model);
/// The reference implementation fits its PCA to so many points.
inline constexpr int kPcaPoints = 200;
/// Most coordinates that a projection of them can have.
[[nodiscard]] int widest_profile(const FeromaOptions& options, const ModelSpec& model);
[[nodiscard]] ProfileShape profile_shape(const FeromaOptions& options, const ModelSpec& model);

/// Encoder outputs of a view, with labels (multi-label data: targets) where it has them.
struct EncodedSamples {
  Rows rows;
  std::vector<std::int32_t> labels;
  std::vector<float> targets = {};
};
[[nodiscard]] EncodedSamples encode_samples(const FeromaOptions& options, const ParametersPtr& encoder,
                                            Trainer& trainer, const View& view, bool labelled);

/// Every row scaled to length 1, by itself; a row of zeros stays.
void scale_to_unit_length(Rows& rows);

/// The samples of a client that its profile summarises.
[[nodiscard]] View profile_view(const FeromaOptions& options, const View& train, const View& held_out, Rng rng);

/// The profile of encoded samples; subsampling draws from `rng`.
[[nodiscard]] Profile extract_profile(const FeromaOptions& options, const Extractor& extractor,
                                      const EncodedSamples& samples, int classes, Subsampling subsampling, Rng rng);

}  // namespace feroma
