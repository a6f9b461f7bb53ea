#pragma once

#include <vector>

#include "feroma/report/published.h"
#include "report/paper_map.h"

namespace feroma::detail {

/// The same experiments of algorithms that the paper does not have, in tables of which it is of interest; else empty.
[[nodiscard]] std::vector<PaperCell> cells_of_others(const PublishedFigure& figure);
/// Experiments that belong beside a figure and must not be subtracted from it; else empty. Those of distances on other
/// datasets, budgets of other privacy modes than the paper's, and few labels where its means have the association
/// known.
[[nodiscard]] std::vector<PaperCell> cells_aside(const PublishedFigure& figure);

/// The figures whose mean gives `figure` anew with few labels on P(Y|X), where the paper has them; else empty. Its
/// printed means use the known association there: in the main tables in their place, in that of distances beside them.
[[nodiscard]] std::vector<const PublishedFigure*> few_label_parts(const PublishedFigure& figure,
                                                                  const std::vector<PublishedFigure>& all);

/// Whether the paper's other tables show that a figure, or part of a mean, is of other data than it says, so that ours
/// must not be subtracted from it. Its rows of subsamples (MNIST, M=3, threshold off) and of distances (C.C.) are those
/// of the main tables to the last digit on three shifts, and on P(Y) 3 to 17 points below; on CIFAR-10, 22 to 34.
[[nodiscard]] bool is_of_other_data(const PublishedFigure& figure);

}  // namespace feroma::detail
