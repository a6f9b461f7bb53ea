#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace feroma::detail {

inline constexpr std::string_view kMetricsHeader =
    "algorithm,round,loss,accuracy_before,accuracy_after,global_share,clustered_share,personal_share,seconds,bytes_up,"
    "bytes_down,epsilon";
inline constexpr std::string_view kClientsHeader =
    "algorithm,round,client,distribution,num_examples,loss,accuracy_before,accuracy_after,strategy";

/// A text as one field of a line: quoted where it has to be.
[[nodiscard]] std::string csv_field(std::string_view text);

/// The fields of one line without its end; a quote out of place is an invalid_data error that names `where`.
[[nodiscard]] std::vector<std::string> split_csv_line(std::string_view line, const std::string& where);

}  // namespace feroma::detail
