#include "report/record_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <string_view>

#include "feroma/core/error.h"
#include "feroma/core/label.h"
#include "report/result_fields.h"

namespace feroma::detail {
namespace {

using Json = nlohmann::ordered_json;

/// Records of earlier versions do not have these.
constexpr std::array<std::string_view, 9> kAddedLater{"not_applicable",       "dp_guarantee",  "test_forward_passes",
                                                      "test_backward_passes", "test_bytes_up", "test_bytes_down",
                                                      "test_accuracy",        "failed",        "detection_auroc"};

/// One list of fields serves writing and reading, so the two cannot differ.
template <class Record, class Visit>
void visit_round(Record& record, Visit&& visit) {
  visit("algorithm", record.algorithm);
  visit("round", record.round);
  visit("loss", record.loss);
  visit("accuracy_before", record.accuracy_before);
  visit("accuracy_after", record.accuracy_after);
  visit("validation_loss", record.validation_loss);
  visit("validation_accuracy", record.validation_accuracy);
  visit("global_share", record.global_share);
  visit("clustered_share", record.clustered_share);
  visit("personal_share", record.personal_share);
  visit("mixing_auc", record.mixing_auc);
  visit("contraction", record.contraction);
  visit("column_sum_min", record.column_sum_min);
  visit("column_sum_max", record.column_sum_max);
  visit("seconds", record.seconds);
  visit("bytes_up", record.bytes_up);
  visit("bytes_down", record.bytes_down);
  visit("epsilon", record.epsilon);
  visit("test_accuracy", record.test_accuracy);
}

Json value_json(const std::string& text) { return text; }
Json value_json(int value) { return value; }
Json value_json(std::int64_t value) { return value; }
// JSON has no infinities; null says that there is no usable value.
Json value_json(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }
template <class T>
Json value_json(const std::optional<T>& value) {
  return value ? value_json(*value) : Json(nullptr);
}
Json value_json(const std::map<std::string, double>& seconds) {
  for (const auto& [stage, value] : seconds) {
    require(std::find(kStages.begin(), kStages.end(), stage) != kStages.end(), ErrorCode::internal,
            "[report] seconds has no stage {}", stage);
  }
  Json json = Json::object();
  for (const char* stage : kStages) {
    const auto found = seconds.find(stage);
    json[stage] = found == seconds.end() ? Json(nullptr) : value_json(found->second);
  }
  return json;
}

/// Reads one field of an object.
class FieldReader {
 public:
  FieldReader(const Json& json, const std::string& where) : json_(json), where_(where) {
    require(json.is_object(), ErrorCode::invalid_data, "{}: must be an object", where);
  }

  template <class T>
  void operator()(const char* key, T& target) const {
    const auto found = json_.find(key);
    if (found == json_.end() && std::find(kAddedLater.begin(), kAddedLater.end(), key) != kAddedLater.end()) {
      return;
    }
    require(found != json_.end(), ErrorCode::invalid_data, "{}: {} is missing", where_, key);
    read(*found, key, target);
  }

 private:
  void check(bool good, const char* key, std::string_view rule, const Json& json) const {
    require(good, ErrorCode::invalid_data, "{}: {} must be {}, got {}", where_, key, rule, json.dump());
  }
  void read(const Json& json, const char* key, std::string& target) const {
    check(json.is_string(), key, "a string", json);
    target = json.get<std::string>();
  }
  void read(const Json& json, const char* key, std::int64_t& target) const {
    check(json.is_number_integer() &&
              (!json.is_number_unsigned() || json.get<std::uint64_t>() <= std::numeric_limits<std::int64_t>::max()),
          key, "an integer", json);
    target = json.get<std::int64_t>();
  }
  void read(const Json& json, const char* key, int& target) const {
    std::int64_t wide = 0;
    read(json, key, wide);
    check(wide >= std::numeric_limits<int>::min() && wide <= std::numeric_limits<int>::max(), key, "a 32-bit integer",
          json);
    target = static_cast<int>(wide);
  }
  void read(const Json& json, const char* key, double& target) const {
    check(json.is_number() || json.is_null(), key, "a number or null", json);
    target = json.is_null() ? std::numeric_limits<double>::quiet_NaN() : json.get<double>();
  }
  template <class T>
  void read(const Json& json, const char* key, std::optional<T>& target) const {
    target.reset();
    if (!json.is_null()) {
      read(json, key, target.emplace());
    }
  }
  void read(const Json& json, const char* key, std::map<std::string, double>& target) const {
    check(json.is_object(), key, "an object", json);
    target.clear();
    for (const auto& [stage, value] : json.items()) {
      if (!value.is_null()) {
        read(value, stage.c_str(), target[stage]);
      }
    }
  }

  const Json& json_;
  const std::string& where_;
};

/// Refuses figures that no run can have. What is not a number is null in the file: there is no figure.
class RangeCheck {
 public:
  explicit RangeCheck(const std::string& where) : where_(where) {}

  void operator()(std::string_view key, double value) const {
    const double most = key.starts_with("accuracy")                       ? 100
                        : key == "match_rate" || key == "detection_auroc" ? 1
                                                                          : kNoLimit;
    constexpr double kRounding = 1e-9;
    require(std::isnan(value) || (value >= 0 && value <= most + kRounding), ErrorCode::invalid_data,
            "{}: {} must be {}, got {}", where_, key, most == kNoLimit ? ">= 0" : fmt::format("in 0..{}", most), value);
  }
  void operator()(std::string_view key, std::int64_t value) const {
    require(key == "seed" || value >= 0, ErrorCode::invalid_data, "{}: {} must be >= 0, got {}", where_, key, value);
  }
  template <class T>
  void operator()(std::string_view key, const std::optional<T>& value) const {
    if (value) {
      (*this)(key, *value);
    }
  }
  void operator()(std::string_view key, const std::map<std::string, double>& seconds) const {
    for (const auto& [stage, value] : seconds) {
      (*this)(fmt::format("{}.{}", key, stage), value);
    }
  }
  void operator()(std::string_view, const std::string&) const {}

 private:
  static constexpr double kNoLimit = std::numeric_limits<double>::infinity();
  const std::string& where_;
};

}  // namespace

Json json_of(const RoundRecord& record) {
  Json json = Json::object();
  visit_round(record, [&json](const char* key, const auto& value) { json[key] = value_json(value); });
  return json;
}

Json json_of(const ResultRecord& record) {
  Json json = Json::object();
  visit_result(record, [&json](const char* key, const auto& value) { json[key] = value_json(value); });
  return json;
}

Json json_of(const SettingValue& value) {
  return std::visit([](const auto& held) { return Json(held); }, value);
}

void check_schema(const Json& json, int known, const std::string& where) {
  const auto schema = json.find("schema");
  if (schema == json.end()) {
    return;
  }
  require(schema->is_number_integer() && schema->get<std::int64_t>() >= 1, ErrorCode::invalid_data,
          "{}: schema must be an integer >= 1, got {}", where, schema->dump());
  require(schema->get<std::int64_t>() <= known, ErrorCode::invalid_data,
          "{}: schema {} is newer than {}, the newest that this version reads", where, schema->dump(), known);
}

int round_number(const Json& json, const std::string& where) {
  int round = 0;
  FieldReader(json, where)("round", round);
  require(round >= 0 && round <= kMostRounds, ErrorCode::invalid_data, "{}: round must be in 0..{}, got {}", where,
          kMostRounds, round);
  return round;
}

RoundRecord round_of(const Json& json, const std::string& where) {
  RoundRecord record;
  visit_round(record, FieldReader(json, where));
  record.round = round_number(json, where);
  return record;
}

ResultRecord result_of(const Json& json, const std::string& where) {
  ResultRecord record;
  visit_result(record, FieldReader(json, where));
  require(is_algorithm_label(record.label), ErrorCode::invalid_data, "{}: label must be {}, got {}", where, kLabelRule,
          json["label"].dump());
  visit_result(record, RangeCheck(where));
  return record;
}

SettingValue setting_of(const Json& json, const std::string& where) {
  if (json.is_boolean()) {
    return json.get<bool>();
  }
  if (json.is_number_integer()) {
    return json.get<std::int64_t>();
  }
  if (json.is_number()) {
    return json.get<double>();
  }
  require(json.is_string(), ErrorCode::invalid_data, "{}: must be a boolean, number or string, got {}", where,
          json.dump());
  return json.get<std::string>();
}

void undo_adapted(Settings& config, const Json& manifest, const char* list) {
  const Json keys = manifest.is_object() ? manifest.value(list, Json()) : Json();
  for (const auto& [key, was] : keys.items()) {
    if (config.contains(key) && was.is_string()) {
      apply_override(config, fmt::format("{}={}", key, was.get<std::string>()));
    }
  }
}

}  // namespace feroma::detail
