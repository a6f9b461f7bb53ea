#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "feroma/core/settings.h"
#include "feroma/report/record.h"

namespace feroma::detail {

/// The numbers of a round, without its clients.
[[nodiscard]] nlohmann::ordered_json json_of(const RoundRecord& record);
/// A result with the keys of summary.json, in their order; absent and non-finite values are null.
[[nodiscard]] nlohmann::ordered_json json_of(const ResultRecord& record);
[[nodiscard]] nlohmann::ordered_json json_of(const SettingValue& value);

/// Refuses a file whose `schema` is newer than `known`; one without it is older than the field and fine.
void check_schema(const nlohmann::ordered_json& json, int known, const std::string& where);

/// Whoever draws rounds has a place for each: a damaged number must not ask for all memory. A scenario has a tenth of
/// it at most, and methods add a few.
inline constexpr int kMostRounds = 10'000'000;

/// The `round` of an event, in 0..kMostRounds.
[[nodiscard]] int round_number(const nlohmann::ordered_json& json, const std::string& where);

/// Read back what json_of wrote; a missing key, a wrong type or a figure that no run can have is an
/// invalid_data error that names `where` and the key.
[[nodiscard]] RoundRecord round_of(const nlohmann::ordered_json& json, const std::string& where);
[[nodiscard]] ResultRecord result_of(const nlohmann::ordered_json& json, const std::string& where);
[[nodiscard]] SettingValue setting_of(const nlohmann::ordered_json& json, const std::string& where);

/// Gives keys of a run's config back the defaults that gave way, as a list of its manifest has them; a manifest without
/// the list, or one that is no object, leaves all as it is.
void undo_adapted(Settings& config, const nlohmann::ordered_json& manifest, const char* list);
/// The lists: of keys that followed what was written, and of those that followed the data.
inline constexpr const char* kAdaptedList = "adapted";
inline constexpr const char* kFittedList = "fitted";

}  // namespace feroma::detail
