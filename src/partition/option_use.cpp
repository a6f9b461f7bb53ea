#include "feroma/partition/option_use.h"

#include <fmt/core.h>

#include "feroma/core/options.h"

namespace feroma {
namespace {

/// An option that would be ignored is a mistake, so it is reported, with the one setting that rules it out.
class Uses {
 public:
  Uses(const ScenarioOptions& options, Problems& problems)
      : problems_(problems),
        shift_(fmt::format("shift \"{}\"", name_of(options.shift))),
        mode_(fmt::format("drift_mode \"{}\"", name_of(options.drift_mode))) {}

  /// Options of a number or a switch; unset is 0 or false.
  template <class Value>
  void check(std::string_view key, Value value, bool by_shift, bool by_mode = true) {
    if (value != Value{} && !(by_shift && by_mode)) {
      problems_.add("scenario.{} must be {} because {} does not use it, got {}", key, Value{}, reason(by_shift), value);
    }
  }
  template <NamedEnum E>
  void check_choice(std::string_view key, E value, E unset, bool by_shift, bool by_mode = true) {
    if (value != unset && !(by_shift && by_mode)) {
      problems_.add("scenario.{} must be \"{}\" because {} does not use it, got \"{}\"", key, name_of(unset),
                    reason(by_shift), name_of(value));
    }
  }

 private:
  [[nodiscard]] const std::string& reason(bool by_shift) const { return by_shift ? mode_ : shift_; }

  Problems& problems_;
  std::string shift_;
  std::string mode_;
};

void check_shift_in_mode(const ScenarioOptions& options, Problems& problems) {
  if (options.drift_mode != DriftMode::fixed && !may_drift(options.shift)) {
    problems.add("scenario.drift_mode must be \"static\" because shift \"{}\" does not change over time, got \"{}\"",
                 name_of(options.shift), name_of(options.drift_mode));
  }
  if (!has_stages(options.drift_mode) && options.drifts != 1) {
    problems.add("scenario.drifts must be 1 because {}, got {}",
                 may_drift(options.shift)
                     ? fmt::format("drift_mode \"{}\" has a single stage", name_of(options.drift_mode))
                     : fmt::format("shift \"{}\" does not change over time", name_of(options.shift)),
                 options.drifts);
  }
}

/// A rule of the other kind would contradict the mode's name.
void check_test_rule(const ScenarioOptions& options, Problems& problems) {
  const bool stages = has_stages(options.drift_mode);
  const bool unseen = options.test_rule == TestRule::unseen;
  if (options.test_rule != TestRule::automatic && (!stages || unseen != tests_drift(options.drift_mode))) {
    problems.add("scenario.test_rule must be {} because drift_mode is \"{}\", got \"{}\"",
                 !stages                           ? "\"auto\""
                 : tests_drift(options.drift_mode) ? "\"auto\" or \"unseen\""
                                                   : "a rule of distributions that occur in training",
                 name_of(options.drift_mode), name_of(options.test_rule));
  }
}

void check_bank_parameters(const ScenarioOptions& o, Uses& uses) {
  const bool banked = has_bank(o);
  const Shift appearance = appearance_of(o.shift);
  const bool class_sets = o.shift == Shift::label_prior || o.shift == Shift::concept_feature;
  const bool targets = appearance == Shift::concept_feature;
  uses.check("rotations", o.rotations, changes_pictures(o.shift));
  uses.check("colours", o.colours, changes_pictures(o.shift));
  uses.check("bank", o.bank, class_sets, banked && !(o.strict && targets));
  uses.check("classes_per_entry", o.classes_per_entry, class_sets || targets, banked || targets);
  uses.check("swapped_classes", o.swapped_classes, appearance == Shift::concept_label);
  uses.check("perm_bank", o.perm_bank, o.shift == Shift::concept_label, banked);
}

void check_skew_parameters(const ScenarioOptions& o, Uses& uses) {
  const Shift appearance = appearance_of(o.shift);
  const bool ranked = appearance == Shift::covariate || appearance == Shift::concept_label;
  const bool own = !has_bank(o);
  uses.check("skew_min", o.skew_min, ranked, own);
  uses.check("skew_max", o.skew_max, ranked, own);
  uses.check("label_skew_min", o.label_skew_min, skews_labels(o.shift), own);
  uses.check("label_skew_max", o.label_skew_max, skews_labels(o.shift), own);
  uses.check("quantity_std", o.quantity_std, has_unequal_sizes(o.shift));
  uses.check("alpha", o.alpha, o.shift == Shift::dirichlet);
  uses.check("classes_per_client", o.classes_per_client, o.shift == Shift::pathological);
  uses.check("shards_per_client", o.shards_per_client, o.shift == Shift::shard);
  const bool order_matters = o.shift == Shift::covariate || o.shift == Shift::label_prior;
  uses.check_choice("test_order", o.test_order, TestOrder::reversed, order_matters,
                    o.drift_mode == DriftMode::trND_teDR);
}

/// Who may draw its data instead of dividing the dataset.
bool divides_evenly(const ScenarioOptions& o) {
  const Shift appearance = appearance_of(o.shift);
  return has_bank(o) || o.shift == Shift::iid ||
         (appearance != Shift::iid && !skews_labels(o.shift) && !has_unequal_sizes(o.shift));
}

}  // namespace

void check_option_use(const ScenarioOptions& o, Problems& problems) {
  Uses uses(o, problems);
  const bool stages = has_stages(o.drift_mode);
  const bool leveled = o.shift != Shift::iid && o.shift != Shift::natural_id;
  check_shift_in_mode(o, problems);
  check_test_rule(o, problems);
  check_bank_parameters(o, uses);
  check_skew_parameters(o, uses);
  uses.check_choice("level", o.level, Level::medium, leveled);
  uses.check("samples_per_client", o.samples_per_client, divides_evenly(o));
  uses.check("samples_per_stage", o.samples_per_stage, o.shift == Shift::natural);
  uses.check("domain_factors", o.domain_factors, o.shift == Shift::natural);
  uses.check("strict", o.strict, is_single(o.shift), o.drift_mode == DriftMode::fixed);
  if (o.in_turn && !o.strict) {
    problems.add("scenario.in_turn must be false without scenario.strict, got true");
  }
  uses.check("force_change", o.force_change, true, stages);
  uses.check("continual", o.continual, true, stages);
  uses.check("max_distributions", o.max_distributions, true, stages);
  uses.check("random_lockers", o.random_lockers, true, stages);
  uses.check_choice("scale_rule", o.scale_rule, ScaleRule::automatic, o.shift != Shift::natural, stages);
  uses.check("unseen_rate", o.unseen_rate, is_single(o.shift), has_bank(o) && !tests_drift(o.drift_mode));
  uses.check_choice("unseen_from", o.unseen_from, UnseenFrom::outside, o.shift == Shift::covariate,
                    has_bank(o) && !tests_drift(o.drift_mode));
}

}  // namespace feroma
