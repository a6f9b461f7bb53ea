#include "engine/torch/tensors.h"

#include "feroma/core/error.h"

namespace feroma {

at::Tensor view_of(std::span<const float> values, at::IntArrayRef shape) {
  return at::from_blob(const_cast<float*>(values.data()), shape, at::kFloat);
}

at::Tensor input_of(const Batch& batch) {
  return view_of(batch.inputs, {batch.size, batch.shape.channels, batch.shape.height, batch.shape.width});
}

namespace {

/// One loss per sample.
at::Tensor losses_of(const at::Tensor& logits, const Batch& batch, Loss loss) {
  switch (loss) {
    case Loss::cross_entropy: {
      const at::Tensor labels = at::from_blob(const_cast<std::int32_t*>(batch.labels.data()), {batch.size}, at::kInt);
      return at::nll_loss(at::log_softmax(logits, /*dim=*/1), labels.to(at::kLong), /*weight=*/{}, at::Reduction::None);
    }
    case Loss::binary_cross_entropy: {
      const at::Tensor targets = view_of(batch.targets, {batch.size, logits.size(1)}).to(logits.scalar_type());
      return at::binary_cross_entropy_with_logits(logits, targets, /*weight=*/{}, /*pos_weight=*/{},
                                                  at::Reduction::None)
          .mean(1);
    }
    case Loss::entropy: {
      const at::Tensor log_p = at::log_softmax(logits, /*dim=*/1);
      return -(log_p.exp() * log_p).sum(1);
    }
  }
  unreachable();
}

}  // namespace

at::Tensor mean_loss(const at::Tensor& logits, const Batch& batch, Loss loss) {
  const at::Tensor losses = losses_of(logits, batch, loss);
  if (batch.weights.empty()) {
    return losses.mean();
  }
  return (losses * view_of(batch.weights, {batch.size})).sum() / batch.size;
}

std::vector<float> values_of(const at::Tensor& tensor) {
  const at::Tensor dense = tensor.to(at::kFloat).contiguous();
  const float* first = dense.data_ptr<float>();
  return {first, first + dense.numel()};
}

Total add_latent_loss(const at::Tensor& loss, const at::Tensor& latent, const Objective& objective) {
  const auto value = loss.item<double>();
  if (!objective.latent_loss) {
    return {loss, value};
  }
  const std::vector<float> rows = values_of(latent.detach());
  std::vector<float> gradient(rows.size());
  const double more = objective.latent_loss(rows, gradient);
  // Linear in the latent with this slope: to the backward pass it is the latent loss.
  const at::Tensor slope = view_of(gradient, latent.sizes()).to(latent.scalar_type());
  return {loss + (latent * slope.clone()).sum(), value + more};
}

}  // namespace feroma
