#include "feroma/algorithms/foogd.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "algorithms/amplitude_mix.h"
#include "algorithms/batch_rows.h"
#include "algorithms/dense.h"
#include "algorithms/momentum_sgd.h"
#include "algorithms/score_learning.h"
#include "algorithms/stein.h"
#include "feroma/algorithms/answers.h"
#include "feroma/core/error.h"
#include "feroma/core/portable_math.h"

namespace feroma {
namespace {

constexpr Latent kFoogdLatent = Latent::penultimate;

class Foogd final : public Algorithm {
 public:
  explicit Foogd(const FoogdOptions& options) : options_(options) {}

  void init(const ServerContext& context) override {
    require(!context.multi_label, ErrorCode::unsupported, "[foogd] samples need one class each, got multi-label data");
    const SampleShape shape = context.model.input;
    if (options_.augment == Augmentation::amplitude) {
      require(shape.height > 1 && shape.width > 1, ErrorCode::unsupported,
              "[foogd] Fourier amplitudes are mixed between pictures, got samples of {} x {}; augment = none takes all",
              shape.height, shape.width);
      mix_.emplace(shape);
    }
    fit_ = with_momentum(context.fit, options_.momentum_reset);
    global_ = context.initial;
    network_ = ScoreNetwork(static_cast<std::size_t>(latent_size(context.model, kFoogdLatent)),
                            static_cast<std::size_t>(options_.score_width));
    score_ = network_.initial(context.rng.derive("score network"));
    normals_ = NormalPool(context.rng.derive("normals"));
    const int levels = std::max(context.model.classes, 2);
    for (int i = 0; i < levels; ++i) {
      const double share = static_cast<double>(i) / (levels - 1);
      levels_.push_back(portable_exp((1 - share) * portable_log(options_.smallest_noise) +
                                     share * portable_log(options_.largest_noise)));
    }
  }

  [[nodiscard]] Message downlink(Round, int, ClientId) const override {
    return {{{"model", global_}, {"score", score_}}};
  }

  [[nodiscard]] Message client_step(Round, int, ClientContext& context, const Message& received) const override {
    const Parameters& model = *received.model("model");
    Floats score = received.floats("score");
    require(score.size() == network_.weights(), ErrorCode::invalid_data,
            "[foogd] the score network must have {} values, got {}", network_.weights(), score.size());
    context.report.before = score_for_the_record(context, model);
    context.report.num_examples = static_cast<std::int64_t>(context.train.size());
    Parameters params = model.clone();
    {
      const StageTimer timer(context.seconds, Stage::train);
      train(context, params, score);
    }
    context.report.after = score_for_the_record(context, params);
    return {{{"model", share(std::move(params))},
             {"score", std::move(score)},
             {"num_examples", Ints{context.report.num_examples}}}};
  }

  void check_answer(Round, int, ClientId client, const Message& message) const override {
    const Answer answer("foogd", client, message);
    answer.examples();
    answer.model("model", *global_);
    answer.floats("score", score_.size());
    answer.expect_nothing_else();
  }

  void uplink(Round, int, std::map<ClientId, Message>& answers, StageSeconds& seconds) override {
    const StageTimer timer(seconds, Stage::aggregate);
    std::vector<double> sums(score_.size());
    double total = 0;
    for (const auto& [client, answer] : answers) {
      const Floats& one = answer.floats("score");
      const auto weight = static_cast<double>(answer.integer("num_examples"));
      for (std::size_t i = 0; i < sums.size(); ++i) {
        sums[i] += weight * static_cast<double>(one[i]);
      }
      total += weight;
    }
    const ParametersPtr mean = mean_of_answers(answers, "model");
    if (mean == nullptr) {
      return;
    }
    global_ = mean;
    std::transform(sums.begin(), sums.end(), score_.begin(),
                   [&](double sum) { return static_cast<float>(sum / total); });
  }

  [[nodiscard]] std::unique_ptr<Predictor> predictor(TestPolicy policy, TestContext&) const override {
    const bool serves = policy == TestPolicy::native || policy == TestPolicy::known_association;
    return serves ? make_single_model_predictor(global_) : nullptr;
  }
  [[nodiscard]] Passes passes_to_serve(int, bool) const override { return {1, 0}; }
  /// The length of the score at each sample's latent: where the density is high it is near 0.
  [[nodiscard]] std::vector<double> strangeness(Trainer& trainer, const View& view) const override {
    std::vector<double> lengths;
    trainer.latents(*global_, view, kFoogdLatent, [&](std::span<const float> rows, int, const Batch&) {
      for (const double squared : squared_norms(network_.forward(score_, rows).out, network_.size())) {
        lengths.push_back(std::isnan(squared) ? std::numeric_limits<double>::infinity() : std::sqrt(squared));
      }
    });
    return lengths;
  }
  [[nodiscard]] std::vector<ServedModel> served() const override { return {{std::nullopt, 0, global_, {}, 0}}; }

  void save(ModelWriter& out) const override {
    out.put(global_);
    out.put(Message{{{"score", score_}}});
  }
  void load(ModelReader& in) override {
    global_ = in.get_model();
    const Message rest = in.get_message();
    require(rest.floats("score").size() == score_.size(), ErrorCode::invalid_data,
            "[foogd] the score network must have {} values, got {}", score_.size(), rest.floats("score").size());
    score_ = rest.floats("score");
  }

 private:
  /// On every batch a step of the model, held to the density as the score network has it, then one of the network.
  void train(ClientContext& context, Parameters& params, Floats& score) const {
    MomentumSgd sgd(fit_, params.size(), context.train.size());
    std::vector<float> gradient(params.size());
    std::vector<float> latents;
    Rng partners = context.rng.derive("augment");
    Rng noise = context.rng.derive("score");
    double seen = 0;
    double loss_sum = 0;
    context.trainer.for_each_minibatch(context.train, fit_, context.rng.derive("train"), [&](const Batch& batch) {
      const double loss = mix_ ? model_gradient(context.trainer, params, with_copy(batch, partners), batch.size, score,
                                                latents, gradient)
                               : model_gradient(context.trainer, params, batch, batch.size, score, latents, gradient);
      require_finite(std::isfinite(loss), "foogd", fit_.learning_rate);
      sgd.step(params.values(), gradient);
      score_step(latents, noise, score);
      seen += batch.size;
      loss_sum += loss * batch.size;
    });
    require_finite(
        params.all_finite() && std::all_of(score.begin(), score.end(), [](float v) { return std::isfinite(v); }),
        "foogd", fit_.learning_rate);
    context.report.train_loss = seen > 0 ? loss_sum / seen : 0;
  }

  /// The batch and behind it its pictures with some of one another's amplitudes.
  [[nodiscard]] Batch with_copy(const Batch& batch, Rng& rng) const {
    const std::vector<std::uint32_t> partners = rng.permutation(static_cast<std::size_t>(batch.size));
    std::vector<double> shares(partners.size());
    for (double& share : shares) {
      share = rng.uniform(0, options_.amplitude_share);
    }
    return with_rows(batch, (*mix_)(rows_of(batch), partners, shares), batch.labels);
  }

  /// The gradient of cross-entropy and Stein discrepancy; leaves the latents of the first `originals` samples.
  double model_gradient(Trainer& trainer, Parameters& params, const Batch& batch, int originals, const Floats& score,
                        std::vector<float>& latents, std::span<float> gradient) const {
    Objective objective;
    objective.latent = kFoogdLatent;
    objective.latent_loss = [&](std::span<const float> rows, std::span<float> slope) {
      const std::size_t first = static_cast<std::size_t>(originals) * network_.size();
      latents.assign(rows.begin(), rows.begin() + static_cast<std::ptrdiff_t>(first));
      return options_.stein_weight > 0 ? add_stein_loss(rows, first, score, slope) : 0.0;
    };
    return trainer.gradient(params, batch, objective, gradient);
  }

  /// Between a batch's latents and its copy's, or its own again where there is no copy.
  double add_stein_loss(std::span<const float> rows, std::size_t first, const Floats& score,
                        std::span<float> slope) const {
    const std::size_t width = network_.size();
    const std::span<const float> a = rows.first(first);
    const std::size_t copy = rows.size() == first ? 0 : first;
    const std::span<const float> b = rows.subspan(copy);
    const double kernel = std::max(stein_width(a, b, width), options_.smallest_kernel);
    const ScoreNetwork::Pass pass = network_.forward(score, rows);
    const std::span<const float> scores = pass.out;
    const Stein stein =
        stein_discrepancy({a, scores.first(first), b, scores.subspan(copy), width}, kernel, options_.kernel_gradients);
    std::vector<float> score_slope(rows.size());
    const auto weight = static_cast<float>(options_.stein_weight);
    for (std::size_t i = 0; i < first; ++i) {
      score_slope[i] += weight * stein.scores_a[i];
      score_slope[copy + i] += weight * stein.scores_b[i];
      slope[i] += weight * stein.a[i];
      slope[copy + i] += weight * stein.b[i];
    }
    const std::vector<float> through = network_.backward(score, pass, score_slope, {});
    for (std::size_t i = 0; i < slope.size(); ++i) {
      slope[i] += through[i];
    }
    return options_.stein_weight * stein.value;
  }

  void score_step(std::span<const float> latents, Rng& rng, Floats& score) const {
    std::vector<float> gradient(score.size());
    add_matching_loss_(network_, score, add_noise(latents, network_.size(), levels_, normals_, rng),
                       options_.score_target == ScoreTarget::scaled, gradient);
    if (options_.sample_weight > 0) {
      add_sample_loss_(network_, score, latents, {options_.samples, options_.sampler_steps, options_.sampler_rate},
                       options_.sample_weight, normals_, rng, gradient);
    }
    for (std::size_t i = 0; i < score.size(); ++i) {
      score[i] -= static_cast<float>(options_.score_rate) * gradient[i];
    }
  }

  FoogdOptions options_;
  FitOptions fit_;
  std::optional<AmplitudeMix> mix_;
  ScoreNetwork network_{0, 0};
  NormalPool normals_;
  std::vector<double> levels_;  ///< deviations of noise
  ParametersPtr global_;
  Floats score_;
};

}  // namespace

void FoogdOptions::check(const FoogdOptions& preset, Problems& problems, const std::string& where) const {
  if (largest_noise < smallest_noise) {
    problems.add("{}.largest_noise must be >= smallest_noise, got {} and {}", where, largest_noise, smallest_noise);
  }
  const auto ignored = [&](std::string_view key, bool changed, bool used, std::string_view need) {
    if (changed && !used) {
      problems.add("{}.{} would be ignored: it needs {}", where, key, need);
    }
  };
  ignored("amplitude_share", amplitude_share != preset.amplitude_share, augment == Augmentation::amplitude,
          "augment amplitude");
  ignored("smallest_kernel", smallest_kernel != preset.smallest_kernel, stein_weight > 0, "stein_weight > 0");
  ignored("kernel_gradients", kernel_gradients != preset.kernel_gradients, stein_weight > 0, "stein_weight > 0");
  ignored("samples", samples != preset.samples, sample_weight > 0, "sample_weight > 0");
  ignored("sampler_steps", sampler_steps != preset.sampler_steps, sample_weight > 0, "sample_weight > 0");
  ignored("sampler_rate", sampler_rate != preset.sampler_rate, sample_weight > 0, "sample_weight > 0");
}

std::unique_ptr<Algorithm> make_foogd(const FoogdOptions& options) { return std::make_unique<Foogd>(options); }

}  // namespace feroma
