#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "feroma/algorithms/offer.h"
#include "feroma/data/visitor.h"
#include "feroma/privacy/disclosure.h"
#include "feroma/runtime/store_models.h"

namespace feroma {

/// What a client that takes no part in training was given, and how it came to that.
struct Assigned {
  std::string algorithm;  ///< label of the run or federation
  Round round = 0;        ///< the last one that was finished then
  std::string model;      ///< a name that `feroma list models` knows, or a TorchScript file
  SampleShape input;
  int classes = 0;
  bool multi_label = false;
  bool standardise = false;            ///< whether its inputs are scaled
  InputScales scales;                  ///< by these
  DataNames names;                     ///< of columns and classes; none where an earlier version assigned it
  Choice choice = Choice::as_offered;  ///< how it was chosen
  int candidates = 1;                  ///< among so many models
  std::int64_t bytes_down = 0;         ///< what travelled, or would have
  std::int64_t bytes_up = 0;
  Offer offer;  ///< settled
};

/// The client's data as a visit needs them: all of them, and those with labels where it is to choose by them.
struct VisitorSamples {
  const View& all;
  const View* labelled = nullptr;
  std::int64_t version = 0;  ///< under a budget, what was told of it is told again
};

/// The samples as a model with these names takes them; what they borrow lives until the next call.
using ReadVisitor = std::function<VisitorSamples(const DataNames& model)>;

/// A visitor's trainer and what belongs to it.
[[nodiscard]] std::unique_ptr<Engine> visitor_engine(const Experiment& experiment, const ModelSpec& model);

/// The same samples at a model's scale, which must outlive them.
class ScaledSamples {
 public:
  ScaledSamples(const VisitorSamples& samples, std::span<const InputScale> scales);

  [[nodiscard]] const View& all() const { return all_; }
  [[nodiscard]] const View* labelled() const { return labelled_ ? &*labelled_ : nullptr; }

 private:
  View all_;
  std::optional<View> labelled_;
};

/// Serves a client from a store in this process. `disclosure` is needed where profiles are under a budget.
[[nodiscard]] Assigned assign_from(const OpenedStore& store, const VisitorSamples& samples, const VisitorWish& wish,
                                   Disclosure* disclosure);

/// Writes `assigned.json` and its models into `folder`, which becomes theirs.
void write_assigned(const std::filesystem::path& folder, const Assigned& assigned);
/// Reads them back; what does not fit together is an invalid_data error.
[[nodiscard]] Assigned read_assigned(const std::filesystem::path& folder);

}  // namespace feroma
