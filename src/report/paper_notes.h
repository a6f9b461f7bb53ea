#pragma once

#include "feroma/report/paper_table.h"
#include "report/paper_filler.h"

namespace feroma::detail {

/// Says below a table what its figures are, what is not compared, and what the search left out. `first` is one of the
/// figures.
void add_paper_notes(const Filler& filler, const PublishedFigure& first, PaperTable& table);

}  // namespace feroma::detail
