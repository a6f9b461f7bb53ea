#pragma once

#include <span>
#include <vector>

#include "feroma/data/view.h"
#include "feroma/models/message.h"

namespace feroma {

/// One row per component, one column per sample.
using ComponentTable = std::vector<std::vector<double>>;

/// Shares that sum to 1 and of which none is too small to ever grow again.
[[nodiscard]] std::vector<double> floored_shares(std::span<const float> shares);

/// How common each label is among all: the mass by label, summed up over clients, brought to the sum 1. No label is
/// impossible, and in a component that nobody uses all are alike.
[[nodiscard]] std::vector<double> label_priors(std::vector<double> mass);
/// The same where a sample may have several labels or none: the share of `samples` with each, never quite 0 or 1.
[[nodiscard]] std::vector<double> label_rates(std::vector<double> mass, double samples);

/// ln C[m](y_i), from priors of components x classes: how common each sample's label is in each component. Where a
/// sample may have several labels, a prior is the share of samples with the label, and the mean of the labels' terms
/// is taken, as the loss takes it.
[[nodiscard]] ComponentTable log_label_priors(std::span<const float> priors, std::size_t components, const View& view);

/// The E-step: the softmax over components of ln share - loss - log prior. No priors: FedEM; with them: FedRC. A loss
/// that is not a number counts as infinite, so the component does not explain the sample; a sample that none explains
/// is divided by the shares.
[[nodiscard]] ComponentTable responsibilities(std::span<const double> shares, const ComponentTable& losses,
                                              const ComponentTable& log_priors = {});

/// The mean responsibility of each component; `otherwise` where there are no samples.
[[nodiscard]] std::vector<double> shares_from(const ComponentTable& responsibilities,
                                              std::span<const double> otherwise);

/// The shares of a client that began with all components alike, after so many E-steps on samples of these losses.
[[nodiscard]] std::vector<double> shares_after(int steps, const ComponentTable& losses,
                                               const ComponentTable& log_priors = {});

/// Responsibility summed up by component and label (components x classes).
[[nodiscard]] Floats label_mass(const ComponentTable& responsibilities, const View& view, std::size_t classes);

}  // namespace feroma
