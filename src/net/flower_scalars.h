#pragma once

// Angle brackets: made by protoc, no folder of ours.
#include <flwr/proto/transport.pb.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace feroma::net {

namespace flower = flwr::proto;

/// What Flower's messages call config, metrics or properties: named values of a few kinds.
using Scalars = google::protobuf::Map<std::string, flower::Scalar>;

void put(Scalars& scalars, const std::string& key, std::int64_t value);
void put(Scalars& scalars, const std::string& key, double value);
void put(Scalars& scalars, const std::string& key, bool value);
void put(Scalars& scalars, const std::string& key, const std::string& text);
/// Bytes, such as a .npy file.
void put(Scalars& scalars, const std::string& key, std::span<const std::byte> bytes);

/// A finite number of any kind; absent where there is none under this name.
[[nodiscard]] std::optional<double> number_in(const Scalars& scalars, const std::string& key);
/// A whole number, also one that is written as text.
[[nodiscard]] std::optional<std::int64_t> integer_in(const Scalars& scalars, const std::string& key);
[[nodiscard]] bool is_true(const Scalars& scalars, const std::string& key);

/// The numbers of a JSON list, which may hold lists in turn; anything else, more than `most` of them or one that is not
/// finite is an invalid_data error that begins with `what`.
[[nodiscard]] std::vector<float> numbers_in_json(std::string_view text, std::size_t most, std::string_view what);

}  // namespace feroma::net
