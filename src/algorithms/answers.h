#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "feroma/core/ids.h"
#include "feroma/models/message.h"

namespace feroma {

/// How many examples are behind an answer; a negative number is an invalid_data error naming the method.
[[nodiscard]] std::int64_t examples_of(std::string_view method, ClientId client, const Message& answer);

/// The model under `key`, which must be finite and as large as `like`.
[[nodiscard]] const ParametersPtr& model_of(std::string_view method, ClientId client, const Message& answer,
                                            const std::string& key, const Parameters& like);

/// The mean of the answers' models under `key`, weighted by their examples; null where there is nothing to average.
[[nodiscard]] ParametersPtr mean_of_answers(std::string_view method, const std::map<ClientId, Message>& answers,
                                            const std::string& key, const Parameters& like);

}  // namespace feroma
