#include "feroma/core/options.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "feroma/core/config_identity.h"

namespace feroma {
namespace {

/// Names that other federated-learning tools use for the same thing.
constexpr std::array<std::pair<std::string_view, std::string_view>, 29> kForeignNames{{
    {"num_clients", "clients"},
    {"n_clients", "clients"},
    {"num_supernodes", "clients"},
    {"num_rounds", "rounds"},
    {"n_rounds", "rounds"},
    {"num_server_rounds", "rounds"},
    {"fraction_fit", "participation"},
    {"fraction_train", "participation"},
    {"lr", "learning_rate"},
    {"epochs", "local_epochs"},
    {"num_epochs", "local_epochs"},
    {"bs", "batch_size"},
    {"batch", "batch_size"},
    {"random_seed", "seed"},
    {"non_iid_type", "shift"},
    {"scaling", "level"},
    {"drifting", "drifts"},
    {"client_num", "clients"},
    {"global_rounds", "rounds"},
    {"join_ratio", "participation"},
    {"DA_max_dist", "max_distributions"},
    {"DA_continual", "continual"},
    {"DA_random_locker", "random_lockers"},
    {"num_classes_per_partition", "classes_per_client"},
    {"feature_skew", "anda2024:feature_skew"},
    {"label_skew", "anda2024:label_skew"},
    {"feature_condition_skew", "anda2024:feature_condition_skew"},
    {"label_condition_skew", "anda2024:label_condition_skew"},
    {"split_unbalanced", "anda2024:split_unbalanced"},
}};

/// As many names as a message may list beside the right one.
constexpr std::size_t kShortList = 8;

/// A word this long that begins a name is taken for its abbreviation.
constexpr std::size_t kAbbreviation = 3;

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) {
    row[j] = j;
  }
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t substitute = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, substitute});
    }
  }
  return row[b.size()];
}

std::string_view last_part(std::string_view key) { return key.substr(key.rfind('.') + 1); }

/// The table of an array that a key belongs to, with its dot: "algorithm.0."; empty for other keys.
std::string array_table_of(const std::string& key) {
  const std::size_t dot = key.find('.');
  const std::size_t next = dot == std::string::npos ? dot : key.find('.', dot + 1);
  const bool numbered = next != std::string::npos && next > dot + 1 &&
                        key.substr(dot + 1, next - dot - 1).find_first_not_of("0123456789") == std::string::npos;
  return numbered ? key.substr(0, next + 1) : "";
}

std::string join(std::span<const std::string> words) {
  std::string text;
  for (const std::string& word : words) {
    text += (text.empty() ? "" : ", ") + word;
  }
  return text;
}

std::string_view kind_of(const SettingValue& value) {
  constexpr std::array<std::string_view, 4> kKinds{"a boolean", "an integer", "a number", "a string"};
  return kKinds[value.index()];
}

/// Integers are accepted where a number is asked for, and nothing else is converted.
std::optional<double> as_number(const SettingValue& value) {
  if (const auto* integer = std::get_if<std::int64_t>(&value)) {
    return static_cast<double>(*integer);
  }
  if (const auto* number = std::get_if<double>(&value)) {
    return *number;
  }
  return std::nullopt;
}

/// Stores `value` in the field; returns what is wrong with it, or nothing.
std::string assign(const Field& field, const SettingValue& value) {
  const auto wrong_type = [&] {
    return fmt::format("must be {}, got {} ({})", field.type_name(), kind_of(value), to_string(value));
  };
  const auto broken_rule = [&] { return fmt::format("must be {}, got {}", field.rule.text(), to_string(value)); };

  if (auto* const* flag = std::get_if<bool*>(&field.target)) {
    const auto* given = std::get_if<bool>(&value);
    return given == nullptr ? wrong_type() : (**flag = *given, "");
  }
  if (auto* const* number = std::get_if<double*>(&field.target)) {
    const std::optional<double> given = as_number(value);
    if (!given) {
      return wrong_type();
    }
    return field.rule.allows(*given) ? (**number = *given, "") : broken_rule();
  }
  if (auto* const* text = std::get_if<std::string*>(&field.target)) {
    const auto* given = std::get_if<std::string>(&value);
    return given == nullptr ? wrong_type() : (**text = *given, "");
  }
  if (const auto* choice = std::get_if<Field::Choice>(&field.target)) {
    const auto* given = std::get_if<std::string>(&value);
    if (given != nullptr && choice->set(*given)) {
      return "";
    }
    const std::string near = given == nullptr ? "" : nearest_name(*given, choice->names);
    // Whoever is told the right name need not read thirty others.
    const bool is_long = choice->names.size() > kShortList;
    const std::string rule = near.empty() || !is_long ? fmt::format("must be one of {}", join(choice->names))
                                                      : fmt::format("must be one of {} names", choice->names.size());
    return fmt::format("{}, got {}{}", rule, to_string(value),
                       near.empty() ? "" : fmt::format("; did you mean \"{}\"?", near));
  }
  const auto* given = std::get_if<std::int64_t>(&value);
  if (given == nullptr) {
    return wrong_type();
  }
  if (!field.rule.allows(static_cast<double>(*given))) {
    return broken_rule();
  }
  if (auto* const* wide = std::get_if<std::int64_t*>(&field.target)) {
    **wide = *given;
    return "";
  }
  if (*given < std::numeric_limits<int>::min() || *given > std::numeric_limits<int>::max()) {
    return fmt::format("must fit in 32 bits, got {}", *given);
  }
  *std::get<int*>(field.target) = static_cast<int>(*given);
  return "";
}

/// The known keys of an unknown one's table: which options a method has is not to be guessed.
std::string keys_beside(const std::string& key, const std::set<std::string>& known, const Settings& settings) {
  const std::string table = array_table_of(key);
  std::vector<std::string> names;
  for (auto it = known.lower_bound(table); !table.empty() && it != known.end() && it->starts_with(table); ++it) {
    names.push_back(it->substr(table.size()));
  }
  if (names.empty()) {
    return "";
  }
  const auto name = settings.find(table + "name");
  return fmt::format("; {} has {}", name == settings.end() ? table : to_string(name->second.value), join(names));
}

/// The names of a choice; other spellings stand beside the one that is written back: "covariate P(X) | ...".
std::string spellings(const Field::Choice& choice) {
  std::vector<std::pair<std::string, std::string>> values;  // as written back, with all its spellings
  for (std::size_t i = 0; i < choice.names.size(); ++i) {
    const auto known =
        std::find_if(values.begin(), values.end(), [&](const auto& value) { return value.first == choice.written[i]; });
    if (known == values.end()) {
      values.emplace_back(choice.written[i], choice.names[i]);
    } else {
      known->second += " " + choice.names[i];
    }
  }
  std::string text;
  for (const auto& [written, names] : values) {
    text += (text.empty() ? "" : " | ") + names;
  }
  return text;
}

/// What a field may be, for people.
std::string range_of(const Field& field) {
  if (const auto* choice = std::get_if<Field::Choice>(&field.target)) {
    return spellings(*choice);
  }
  if (std::holds_alternative<bool*>(field.target)) {
    return "true | false";
  }
  if (std::holds_alternative<std::string*>(field.target)) {
    return "text";
  }
  return field.rule.text();
}

}  // namespace

bool Rule::allows(double value) const {
  return std::isfinite(value) && (min_excluded ? value > min : value >= min) && value <= max;
}

std::string Rule::text() const {
  if (std::isfinite(min) && std::isfinite(max)) {
    return min_excluded ? fmt::format("> {} and <= {}", min, max) : fmt::format("in {}..{}", min, max);
  }
  if (std::isfinite(min)) {
    return fmt::format("{} {}", min_excluded ? ">" : ">=", min);
  }
  return std::isfinite(max) ? fmt::format("<= {}", max) : "a finite number";
}

SettingValue Field::value() const {
  return std::visit(
      [](const auto& held) -> SettingValue {
        using T = std::decay_t<decltype(held)>;
        if constexpr (std::is_same_v<T, Choice>) {
          return held.get();
        } else if constexpr (std::is_same_v<T, int*>) {
          return static_cast<std::int64_t>(*held);
        } else {
          return *held;
        }
      },
      target);
}

std::string Field::type_name() const {
  constexpr std::array<std::string_view, 6> kNames{"a boolean", "an integer", "an integer",
                                                   "a number",  "a string",   "one of"};
  return std::string(kNames[target.index()]);
}

OptionInfo Field::describe(const std::string& prefix) const {
  constexpr std::array<std::string_view, 6> kTypes{"boolean", "integer", "integer", "number", "string", "choice"};
  const std::string type(kTypes[target.index()]);
  return {prefix + "." + name, type, value(), range_of(*this), help};
}

void SettingsReader::read(std::span<const Field> fields, const std::string& prefix) {
  for (const Field& field : fields) {
    options_.push_back(field.describe(prefix));
    const std::string& key = options_.back().key;
    known_.insert(key);
    const auto found = settings_.find(key);
    if (found == settings_.end()) {
      continue;
    }
    const std::string wrong = assign(field, found->second.value);
    if (!wrong.empty()) {
      problems_.add("{}: {} {}", found->second.where, key, wrong);
    }
  }
}

void SettingsReader::reject_unknown() {
  const std::vector<std::string> known(known_.begin(), known_.end());
  for (const auto& [key, setting] : settings_) {
    if (known_.contains(key)) {
      continue;
    }
    if (const RetiredKey* gone = config_identity().find_retired(key)) {
      problems_.add("{}: {} is no key any more; {}", setting.where, key, gone->hint);
      continue;
    }
    const std::string near = nearest_name(key, known);
    problems_.add("{}: unknown key {}{}", setting.where, key,
                  near.empty() ? keys_beside(key, known_, settings_) : fmt::format("; did you mean {}?", near));
  }
}

void SettingsReader::ignore(const std::string& prefix) {
  for (const auto& [key, setting] : settings_) {
    if (key.starts_with(prefix + ".")) {
      known_.insert(key);
    }
  }
}

int SettingsReader::table_count(const std::string& prefix) const {
  int count = 0;
  for (;; ++count) {
    const std::string start = fmt::format("{}.{}.", prefix, count);
    const auto next = settings_.lower_bound(start);
    if (next == settings_.end() || !next->first.starts_with(start)) {
      return count;
    }
  }
}

void write_settings(std::span<const Field> fields, const std::string& prefix, Settings& settings) {
  for (const Field& field : fields) {
    settings[prefix + "." + field.name] = {field.value(), "resolved"};
  }
}

std::string nearest_name(std::string_view word, std::span<const std::string> candidates) {
  std::string_view wanted = last_part(word);
  for (const auto& [foreign, ours] : kForeignNames) {
    if (foreign == wanted) {
      wanted = ours;
    }
  }
  std::string best;
  // A name is close if at most a third of it (two letters of a short one, but never all of it) would have to change.
  const std::size_t limit = std::min(std::max<std::size_t>(2, wanted.size() / 3) + 1, wanted.size());
  std::pair best_cost{limit, std::size_t{0}};
  for (const std::string& candidate : candidates) {
    // The same last part in another table is as good as a small misspelling; among equals the nearer table wins.
    const std::size_t whole = edit_distance(word, candidate);
    const std::string_view name = last_part(candidate);
    const bool abbreviates = wanted.size() >= kAbbreviation && name.starts_with(wanted);
    const std::pair cost{abbreviates ? 1 : std::min(whole, edit_distance(wanted, name)), whole};
    if (cost.first < limit && (best.empty() || cost < best_cost)) {
      best_cost = cost;
      best = candidate;
    }
  }
  return best;
}

}  // namespace feroma
