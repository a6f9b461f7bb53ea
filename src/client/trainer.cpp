#include "feroma/client/trainer.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "feroma/core/error.h"
#include "feroma/core/portable_math.h"

namespace feroma {
namespace {

/// Samples per evaluation pass: large enough to keep an engine busy, small enough to stay in cache.
constexpr std::size_t kEvaluationBatch = 256;

std::vector<std::uint32_t> stored_order(std::size_t size) {
  std::vector<std::uint32_t> order(size);
  std::iota(order.begin(), order.end(), 0U);
  return order;
}

std::vector<std::uint32_t> epoch_order(const Rng& rng, int epoch, std::size_t size) {
  return rng.derive("epoch", static_cast<std::uint64_t>(epoch)).permutation(size);
}

/// What may help against numbers that run away.
std::string rate_advice(double rate) { return fmt::format("a learning rate of {:g} may be too large", rate); }

/// Calls `use` with consecutive pieces of at most `size` elements.
template <class Use>
void for_each_batch(std::span<const std::uint32_t> order, std::size_t size, Use use) {
  for (std::size_t start = 0; start < order.size(); start += size) {
    use(order.subspan(start, std::min(size, order.size() - start)));
  }
}

/// exp(logit - largest) over its sum, row by row.
void append_softmax(std::vector<float>& out, std::span<const float> logits, std::size_t classes) {
  for (std::size_t start = 0; start < logits.size(); start += classes) {
    const std::span<const float> row = logits.subspan(start, classes);
    const auto shift = static_cast<double>(*std::max_element(row.begin(), row.end()));
    double sum = 0;
    for (const float logit : row) {
      sum += portable_exp(static_cast<double>(logit) - shift);
    }
    for (const float logit : row) {
      out.push_back(static_cast<float>(portable_exp(static_cast<double>(logit) - shift) / sum));
    }
  }
}

void append_sigmoid(std::vector<float>& out, std::span<const float> logits) {
  for (const float logit : logits) {
    out.push_back(static_cast<float>(1.0 / (1.0 + portable_exp(-static_cast<double>(logit)))));
  }
}

Loss loss_of(const View& view) {
  return view.samples->multi_label() ? Loss::binary_cross_entropy : Loss::cross_entropy;
}

/// The loss of every sample, from its row of probabilities.
std::vector<double> losses_of(std::span<const float> all, const View& view) {
  const std::size_t classes = all.size() / std::max<std::size_t>(view.size(), 1);
  std::vector<double> losses(view.size());
  const std::vector<float> targets = view.samples->multi_label() ? targets_of(view) : std::vector<float>();
  for (std::size_t i = 0; i < losses.size(); ++i) {
    const std::span<const float> row = all.subspan(i * classes, classes);
    const std::int32_t label = targets.empty() ? view.label(i) : 0;
    const Tally one = targets.empty() ? tally_probabilities(row, static_cast<int>(classes), std::span(&label, 1))
                                      : tally_multi_label(row, static_cast<int>(classes),
                                                          std::span(targets).subspan(i * classes, classes));
    losses[i] = one.loss();
  }
  return losses;
}

std::vector<const Parameters*> borrowed(std::span<const ParametersPtr> models) {
  std::vector<const Parameters*> pointers;
  for (const ParametersPtr& model : models) {
    pointers.push_back(model.get());
  }
  return pointers;
}

void check(const FitOptions& options, const View& view, const FitHooks& hooks) {
  require(options.batch_size >= 1, ErrorCode::invalid_config, "[training] batch_size must be >= 1, got {}",
          options.batch_size);
  require(options.local_epochs >= 0, ErrorCode::invalid_config, "[training] local_epochs must be >= 0, got {}",
          options.local_epochs);
  require(hooks.sample_weights.empty() || hooks.sample_weights.size() == view.size(), ErrorCode::internal,
          "[training] {} samples need as many weights or none, got {}", view.size(), hooks.sample_weights.size());
}

/// Each learner's momentum buffer: the caller's, or one of `own`.
std::vector<std::span<float>> velocities_of(std::span<const Learner> learners, std::vector<std::vector<float>>& own) {
  own.resize(learners.size());
  std::vector<std::span<float>> velocities;
  for (std::size_t i = 0; i < learners.size(); ++i) {
    const std::span<float> kept = learners[i].hooks.velocity;
    const std::size_t size = learners[i].params.size();
    require(kept.empty() || kept.size() == size, ErrorCode::internal,
            "[training] {} parameters need as many values of momentum or none, got {}", size, kept.size());
    own[i].resize(kept.empty() ? size : 0);
    velocities.push_back(kept.empty() ? std::span<float>(own[i]) : kept);
  }
  return velocities;
}

}  // namespace

void require_finite(bool finite, std::string_view method, double rate) {
  require(finite, ErrorCode::invalid_data, "[{}] losses and models must stay finite, got a value that is not; {}",
          method, rate_advice(rate));
}

double Trainer::fit(Parameters& params, const View& view, const FitOptions& options, Rng rng, const FitHooks& hooks) {
  const Learner learner{params, hooks};
  return fit_together(std::span(&learner, 1), view, options, rng).front();
}

std::vector<double> Trainer::fit_together(std::span<const Learner> learners, const View& view,
                                          const FitOptions& options, Rng rng) {
  return epochs(learners, view, options, [&](int epoch) { return epoch_order(rng, epoch, view.size()); });
}

double Trainer::fit_in_order(Parameters& params, const View& view, const FitOptions& options) {
  const Learner learner{params};
  return epochs(std::span(&learner, 1), view, options, [&](int) { return stored_order(view.size()); }).front();
}

std::vector<double> Trainer::epochs(std::span<const Learner> learners, const View& view, const FitOptions& options,
                                    const OrderOfEpoch& order_of) {
  for (const Learner& learner : learners) {
    check(options, view, learner.hooks);
  }
  std::vector<double> losses(learners.size());
  if (view.size() == 0 || options.local_epochs == 0) {
    return losses;
  }
  std::vector<std::vector<float>> own_velocities;
  const std::vector<std::span<float>> velocities = velocities_of(learners, own_velocities);
  const Loss own_loss = loss_of(view);
  for (int epoch = 0; epoch < options.local_epochs; ++epoch) {
    if (options.momentum_reset == MomentumReset::epoch) {
      for (const std::span<float> velocity : velocities) {
        std::fill(velocity.begin(), velocity.end(), 0.0F);
      }
    }
    int steps = 0;
    for_each_batch(order_of(epoch), static_cast<std::size_t>(options.batch_size), [&](auto items) {
      assemble_(batch_, view, items, engine_.layout());
      ++steps;
      for (std::size_t i = 0; i < learners.size(); ++i) {
        const double loss = step(learners[i], items, options, own_loss, velocities[i]);
        require(std::isfinite(loss), ErrorCode::invalid_data,
                "[training] the loss must stay finite, got {} at step {} of epoch {}; {}", std::abs(loss), steps,
                epoch + 1, rate_advice(options.learning_rate));
        losses[i] += loss * static_cast<double>(items.size());
      }
    });
  }
  for (std::size_t i = 0; i < learners.size(); ++i) {
    require_finite(learners[i].params.all_finite(), "training", options.learning_rate);
    losses[i] /= static_cast<double>(view.size()) * options.local_epochs;
  }
  return losses;
}

double Trainer::step(const Learner& learner, std::span<const std::uint32_t> items, const FitOptions& options,
                     Loss own_loss, std::span<float> velocity) {
  batch_.weights.clear();
  if (!learner.hooks.sample_weights.empty()) {
    for (const std::uint32_t item : items) {
      batch_.weights.push_back(learner.hooks.sample_weights[item]);
    }
  }
  gradient_.resize(learner.params.size());
  Objective wanted{own_loss, {}, learner.hooks.latent};
  if (learner.hooks.latent_loss) {
    wanted.latent_loss = [&](std::span<const float> latents, std::span<float> slope) {
      return learner.hooks.latent_loss(batch_, latents, slope);
    };
  }
  const double loss = gradient(learner.params, batch_, wanted, gradient_);
  if (learner.hooks.edit_gradient) {
    learner.hooks.edit_gradient(learner.params.values(), gradient_);
  }
  sgd_step(learner.params.values(), velocity, gradient_, options.learning_rate, options.momentum);
  return loss;
}

void Trainer::for_each_minibatch(const View& view, const FitOptions& options, const Rng& rng,
                                 const std::function<void(const Batch& batch)>& use) {
  check(options, view, {});
  for (int epoch = 0; epoch < options.local_epochs; ++epoch) {
    for_each_batch(epoch_order(rng, epoch, view.size()), static_cast<std::size_t>(options.batch_size), [&](auto items) {
      assemble_(batch_, view, items, engine_.layout());
      use(batch_);
    });
  }
}

double Trainer::gradient(Parameters& params, const Batch& batch, std::span<float> gradient) {
  Objective objective;
  objective.loss = batch.targets.empty() ? Loss::cross_entropy : Loss::binary_cross_entropy;
  return this->gradient(params, batch, objective, gradient);
}

double Trainer::gradient(Parameters& params, const Batch& batch, const Objective& objective,
                         std::span<float> gradient) {
  passes_.forward += batch.size;
  passes_.backward += batch.size;
  return engine_.gradient(params, batch, objective, gradient);
}

Parameters Trainer::with_batch_statistics(const Parameters& params, const Batch& batch) {
  passes_.forward += batch.size;
  return engine_.with_batch_statistics(params, batch);
}

Activations Trainer::forward(const Parameters& params, const Batch& batch, Latent latent) {
  passes_.forward += batch.size;
  return engine_.forward(params, batch, latent);
}

Tally Trainer::evaluate(const Parameters& params, const View& view) {
  const Parameters* const model = &params;
  return tallies_of(std::span(&model, 1), view).front();
}

std::vector<Tally> Trainer::evaluate(std::span<const ParametersPtr> models, const View& view) {
  return tallies_of(borrowed(models), view);
}

std::vector<Tally> Trainer::tallies_of(std::span<const Parameters* const> models, const View& view) {
  std::vector<Tally> totals(models.size());
  if (view.samples->multi_label()) {  // the ranking of all samples cannot be summed up from batches
    const std::vector<float> targets = targets_of(view);
    const std::vector<std::vector<float>> all = probabilities_of(models, view);
    for (std::size_t m = 0; m < models.size(); ++m) {
      const std::size_t classes = all[m].size() / std::max<std::size_t>(view.size(), 1);
      totals[m] = tally_multi_label(all[m], static_cast<int>(std::max<std::size_t>(classes, 1)), targets);
    }
    return totals;
  }
  for_each_batch(stored_order(view.size()), kEvaluationBatch, [&](auto items) {
    assemble_(batch_, view, items, engine_.layout());
    for (std::size_t m = 0; m < models.size(); ++m) {
      const Activations out = forward(*models[m], batch_, Latent::penultimate);
      totals[m] += tally_logits(out.logits, out.classes, batch_.labels);
    }
  });
  return totals;
}

void Trainer::latents(const Parameters& params, const View& view, Latent latent, const LatentSink& use) {
  for_each_batch(stored_order(view.size()), kEvaluationBatch, [&](auto items) {
    assemble_(batch_, view, items, engine_.layout());
    passes_.forward += batch_.size;
    const Activations out = engine_.latents(params, batch_, latent);
    use(out.latents, out.latent_size, batch_);
  });
}

std::vector<float> Trainer::probabilities(const Parameters& params, const View& view) {
  const Parameters* const model = &params;
  return std::move(probabilities_of(std::span(&model, 1), view).front());
}

std::vector<std::vector<float>> Trainer::probabilities_of(std::span<const Parameters* const> models, const View& view) {
  std::vector<std::vector<float>> all(models.size());
  for_each_batch(stored_order(view.size()), kEvaluationBatch, [&](auto items) {
    assemble_(batch_, view, items, engine_.layout(), /*labelled=*/false);
    for (std::size_t m = 0; m < models.size(); ++m) {
      const Activations out = forward(*models[m], batch_, Latent::penultimate);
      if (view.samples->multi_label()) {
        append_sigmoid(all[m], out.logits);
      } else {
        append_softmax(all[m], out.logits, static_cast<std::size_t>(out.classes));
      }
    }
  });
  return all;
}

std::vector<double> Trainer::losses(const Parameters& params, const View& view) {
  return losses_of(probabilities(params, view), view);
}

std::vector<std::vector<double>> Trainer::losses(std::span<const ParametersPtr> models, const View& view) {
  std::vector<std::vector<double>> losses;
  for (const std::vector<float>& probabilities : probabilities_of(borrowed(models), view)) {
    losses.push_back(losses_of(probabilities, view));
  }
  return losses;
}

}  // namespace feroma
