#pragma once

#include <memory>
#include <span>
#include <string>

#include "feroma/core/archive.h"
#include "feroma/models/message.h"

namespace feroma {

/// SHA-256 of a model's names and shapes in hex: models of another layout cannot be mixed with ours.
[[nodiscard]] std::string layout_digest(const ParamLayout& layout);

/// A message as it travels: the layout's digest, then named values.
[[nodiscard]] Bytes encode_message(const Message& message, const ParamLayout& layout);

/// Bytes of an answer and of a task with so many models, at most.
[[nodiscard]] std::uint64_t largest_answer(std::uint64_t models, const ParamLayout& layout);
[[nodiscard]] std::uint64_t largest_task(std::uint64_t models, const ParamLayout& layout);

/// Reads a message from elsewhere. Anything but what `encode_message` writes for this layout is an invalid_data error
/// that begins with `what`; nothing is allocated from a length that was not checked against what is there.
[[nodiscard]] Message decode_message(std::span<const std::byte> bytes, const std::shared_ptr<const ParamLayout>& layout,
                                     const std::string& what);

}  // namespace feroma
