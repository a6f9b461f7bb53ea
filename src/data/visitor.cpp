#include "feroma/data/visitor.h"

#include <numeric>
#include <vector>

#include "feroma/data/own_folder.h"
#include "feroma/data/plain_view.h"

namespace feroma {

VisitorData read_visitor_data(const std::filesystem::path& folder, const DataNames& model) {
  VisitorData visitor;
  visitor.dataset = read_own_folder(folder, FolderRole::visitor, model);
  std::vector<std::uint32_t> rows(visitor.dataset->train.count());
  std::iota(rows.begin(), rows.end(), 0U);
  visitor.all = plain_view(*visitor.dataset, rows);
  visitor.labelled = plain_view(*visitor.dataset, visitor.dataset->labelled_rows);
  return visitor;
}

}  // namespace feroma
