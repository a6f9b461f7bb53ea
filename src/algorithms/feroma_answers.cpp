#include "algorithms/feroma_answers.h"

namespace feroma {

FeromaExtras wanted_extras(const FeromaOptions& options, bool warming) {
  return {warming && options.projection == Projection::pca_cube,
          (warming && options.warmup_auto) || options.retained_models > 0, options.server_momentum > 0};
}

void check_bounds_answer(const Answer& answer, int width) {
  const Floats& lower = answer.floats("lower", static_cast<std::size_t>(width));
  const Floats& upper = answer.floats("upper", static_cast<std::size_t>(width));
  for (std::size_t i = 0; i < lower.size(); ++i) {
    answer.expect(lower[i] <= upper[i], "upper", "be no less than lower", upper[i]);
  }
}

void check_profile_answer(const Answer& answer, const ProfileShape& shape, bool both) {
  if (answer.has("unprofiled")) {
    answer.integer("unprofiled", 1, 1);  // it makes no profiles, and says so
    return;
  }
  answer.floats("profile", shape.size());
  if (both) {
    answer.floats("next_profile", shape.size());
  }
  answer.integer("num_samples", 0, kMostExamples);
}

void check_training_answer(const Answer& answer, const Parameters& like, const FeromaExtras& extras) {
  answer.model("model", like);
  if (extras.count) {
    answer.examples(/*least=*/1);
  }
  if (extras.latent_max) {
    answer.floats("latent_max", 1);
  }
  if (extras.held_out) {
    const Ints& hits = answer.integers("held_out", 2, 0, kMostExamples);
    answer.expect(hits[0] <= hits[1], "held_out", "have no more hits than samples",
                  fmt::format("{} of {}", hits[0], hits[1]));
  }
  if (extras.gain) {
    answer.integer("gain", -kMostExamples, kMostExamples);
  }
}

}  // namespace feroma
