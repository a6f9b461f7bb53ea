#include "feroma/store/safetensors.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string_view>
#include <vector>

#include "feroma/core/error.h"
#include "feroma/core/files.h"

namespace feroma {
namespace {

using Json = nlohmann::ordered_json;

static_assert(std::endian::native == std::endian::little, "tensors are read and written in place");

constexpr std::size_t kLengthBytes = sizeof(std::uint64_t);
constexpr const char* kMetadataKey = "__metadata__";

/// Where a tensor's bytes lie behind the header.
struct Range {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
};

/// Parses JSON and refuses an object that holds a key twice, of which the library would silently keep one.
Json parse_header(std::string_view text, const std::string& name) {
  std::vector<std::set<std::string>> open_objects;
  std::optional<std::string> duplicate;
  const auto watch = [&](int, Json::parse_event_t event, const Json& parsed) {
    if (event == Json::parse_event_t::object_start) {
      open_objects.emplace_back();
    } else if (event == Json::parse_event_t::object_end) {
      open_objects.pop_back();
    } else if (event == Json::parse_event_t::key && !open_objects.back().insert(parsed.get<std::string>()).second) {
      duplicate = parsed.get<std::string>();
    }
    return true;
  };
  Json header = Json::parse(text, watch, /*allow_exceptions=*/false);
  require(header.is_object(), ErrorCode::invalid_data, "{}: the header is not a JSON object", name);
  require(!duplicate, ErrorCode::invalid_data, "{}: {} stands twice in the header", name, duplicate.value_or(""));
  return header;
}

/// The tensor's range, after every field of its entry was checked against the segment and the data behind the header.
Range checked_range(const Json& entry, const Segment& segment, std::size_t data_size, const std::string& name) {
  const auto check = [&](bool good, std::string_view rule) {
    require(good, ErrorCode::invalid_data, "{}: tensor {} {}, got {}", name, segment.name, rule, entry.dump());
  };
  check(entry.is_object() && entry.size() == 3 && entry.contains("dtype") && entry.contains("shape") &&
            entry.contains("data_offsets"),
        "must have dtype, shape and data_offsets");
  check(entry["dtype"] == "F32", "must have dtype F32");
  check(entry["shape"] == Json(segment.shape), fmt::format("must have shape {}", Json(segment.shape).dump()));
  const Json& offsets = entry["data_offsets"];
  check(offsets.is_array() && offsets.size() == 2 && offsets[0].is_number_unsigned() && offsets[1].is_number_unsigned(),
        "must have two data_offsets");
  const Range range{offsets[0].get<std::uint64_t>(), offsets[1].get<std::uint64_t>()};
  check(range.begin <= range.end && range.end <= data_size,
        fmt::format("must lie inside the {} bytes of data", data_size));
  check(range.end - range.begin == segment.size * sizeof(float),
        fmt::format("must take {} bytes", segment.size * sizeof(float)));
  return range;
}

std::map<std::string, std::string> read_metadata(const Json& header, const std::string& name) {
  std::map<std::string, std::string> metadata;
  const auto found = header.find(kMetadataKey);
  if (found == header.end()) {
    return metadata;
  }
  require(found->is_object(), ErrorCode::invalid_data, "{}: {} must be an object", name, kMetadataKey);
  for (const auto& [key, value] : found->items()) {
    require(value.is_string(), ErrorCode::invalid_data, "{}: {} of {} must be a string", name, key, kMetadataKey);
    metadata[key] = value.get<std::string>();
  }
  return metadata;
}

/// Every byte behind the header belongs to exactly one tensor.
void require_no_holes(std::vector<Range> ranges, std::size_t data_size, const std::string& name) {
  std::sort(ranges.begin(), ranges.end(),
            [](const Range& a, const Range& b) { return a.begin != b.begin ? a.begin < b.begin : a.end < b.end; });
  std::uint64_t expected = 0;
  for (const Range& range : ranges) {
    require(range.begin == expected, ErrorCode::invalid_data,
            "{}: tensors overlap or leave a hole at byte {} of the data", name, std::min(range.begin, expected));
    expected = range.end;
  }
  require(expected == data_size, ErrorCode::invalid_data, "{}: {} bytes of data belong to no tensor", name,
          data_size - expected);
}

}  // namespace

Bytes safetensors_bytes(const Parameters& params, const std::map<std::string, std::string>& metadata) {
  Json header = Json::object();
  if (!metadata.empty()) {
    header[kMetadataKey] = metadata;
  }
  for (const Segment& segment : params.layout().segments) {
    require(segment.name != kMetadataKey && !header.contains(segment.name), ErrorCode::internal,
            "[safetensors] tensor names must be unique, got {} twice", segment.name);
    header[segment.name] = {
        {"dtype", "F32"},
        {"shape", segment.shape},
        {"data_offsets", {segment.offset * sizeof(float), (segment.offset + segment.size) * sizeof(float)}}};
  }
  std::string text = header.dump();
  text.append((kLengthBytes - text.size() % kLengthBytes) % kLengthBytes, ' ');  // the data start aligned
  const std::uint64_t length = text.size();
  const std::span<const std::byte> data = std::as_bytes(params.values());
  Bytes bytes(kLengthBytes + text.size() + data.size());
  std::memcpy(bytes.data(), &length, kLengthBytes);
  std::memcpy(bytes.data() + kLengthBytes, text.data(), text.size());
  if (!data.empty()) {
    std::memcpy(bytes.data() + kLengthBytes + text.size(), data.data(), data.size());
  }
  return bytes;
}

std::string write_safetensors(const std::filesystem::path& path, const Parameters& params,
                              const std::map<std::string, std::string>& metadata) {
  const Bytes bytes = safetensors_bytes(params, metadata);
  write_file_atomically(path, bytes);
  return sha256(bytes);
}

ModelFile read_safetensors(const std::filesystem::path& path, const std::shared_ptr<const ParamLayout>& layout,
                           const std::string& digest) {
  const Bytes bytes = read_file(path);
  if (!digest.empty()) {
    const std::string found = sha256(bytes);
    require(found == digest, ErrorCode::invalid_data,
            "{}: is damaged, or another model: its SHA-256 must be {}, got {}", path.string(), digest, found);
  }
  return parse_safetensors(bytes, path.string(), layout);
}

ModelFile parse_safetensors(std::span<const std::byte> bytes, const std::string& name,
                            const std::shared_ptr<const ParamLayout>& layout) {
  std::uint64_t length = 0;
  require(bytes.size() >= kLengthBytes, ErrorCode::invalid_data, "{}: is not a safetensors file", name);
  std::memcpy(&length, bytes.data(), kLengthBytes);
  require(length <= bytes.size() - kLengthBytes, ErrorCode::invalid_data,
          "{}: the header claims {} bytes, the file has {} left", name, length, bytes.size() - kLengthBytes);
  std::string text(static_cast<std::size_t>(length), '\0');
  std::memcpy(text.data(), bytes.data() + kLengthBytes, text.size());
  const std::span<const std::byte> data = bytes.subspan(kLengthBytes + text.size());

  const Json header = parse_header(text, name);
  ModelFile file{Parameters(layout), read_metadata(header, name)};
  std::set<std::string> expected{kMetadataKey};
  std::vector<Range> ranges;
  for (std::size_t i = 0; i < layout->segments.size(); ++i) {
    const Segment& segment = layout->segments[i];
    const auto found = header.find(segment.name);
    require(found != header.end(), ErrorCode::invalid_data, "{}: tensor {} is missing", name, segment.name);
    ranges.push_back(checked_range(*found, segment, data.size(), name));
    expected.insert(segment.name);
    const std::span<float> target = file.params.segment(i);
    if (!target.empty()) {
      std::memcpy(target.data(), data.data() + ranges.back().begin, target.size_bytes());
    }
  }
  for (const auto& [key, value] : header.items()) {
    require(expected.contains(key), ErrorCode::invalid_data, "{}: tensor {} is not part of the model", name, key);
  }
  require_no_holes(std::move(ranges), data.size(), name);
  return file;
}

}  // namespace feroma
