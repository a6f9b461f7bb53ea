#include "feroma/partition/shift.h"

#include "feroma/core/error.h"

namespace feroma {

Shift appearance_of(Shift shift) {
  switch (shift) {
    case Shift::covariate:
    case Shift::covariate_and_label_prior:
    case Shift::covariate_and_quantity: return Shift::covariate;
    case Shift::concept_label:
    case Shift::concept_label_and_label_prior:
    case Shift::concept_label_and_quantity: return Shift::concept_label;
    case Shift::concept_feature:
    case Shift::concept_feature_and_label_prior:
    case Shift::concept_feature_and_quantity: return Shift::concept_feature;
    case Shift::label_prior:
    case Shift::label_prior_and_quantity:
    case Shift::quantity:
    case Shift::natural:
    case Shift::iid:
    case Shift::dirichlet:
    case Shift::pathological:
    case Shift::shard:
    case Shift::natural_id: return Shift::iid;
  }
  unreachable();
}

bool skews_labels(Shift shift) {
  return shift == Shift::label_prior || shift == Shift::covariate_and_label_prior ||
         shift == Shift::concept_label_and_label_prior || shift == Shift::concept_feature_and_label_prior ||
         shift == Shift::label_prior_and_quantity;
}

bool has_unequal_sizes(Shift shift) {
  return shift == Shift::quantity || shift == Shift::covariate_and_quantity ||
         shift == Shift::label_prior_and_quantity || shift == Shift::concept_label_and_quantity ||
         shift == Shift::concept_feature_and_quantity;
}

bool is_single(Shift shift) {
  return shift == Shift::covariate || shift == Shift::label_prior || shift == Shift::concept_label ||
         shift == Shift::concept_feature;
}

bool may_drift(Shift shift) { return is_single(shift) || shift == Shift::natural; }

bool is_one_distribution(Shift shift) { return shift == Shift::iid || shift == Shift::quantity; }

bool changes_pictures(Shift shift) {
  return appearance_of(shift) == Shift::covariate || appearance_of(shift) == Shift::concept_feature;
}

bool can_be_turned(SampleShape shape) {
  return shape.height == shape.width && (shape.channels == 1 || shape.channels == 3);
}

bool reads_labels(Shift shift) {
  return skews_labels(shift) || appearance_of(shift) == Shift::concept_label ||
         appearance_of(shift) == Shift::concept_feature || shift == Shift::dirichlet || shift == Shift::pathological ||
         shift == Shift::shard;
}

}  // namespace feroma
