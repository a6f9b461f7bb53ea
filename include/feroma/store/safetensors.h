#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>

#include "feroma/core/archive.h"
#include "feroma/models/parameters.h"

namespace feroma {

/// A model as it is kept in a file: its tensors and free text about it.
struct ModelFile {
  Parameters params;
  std::map<std::string, std::string> metadata;
};

/// The content of a safetensors file: one F32 tensor per segment, in the layout's order.
[[nodiscard]] Bytes safetensors_bytes(const Parameters& params, const std::map<std::string, std::string>& metadata);
/// Writes the model atomically; returns the SHA-256 of the file.
std::string write_safetensors(const std::filesystem::path& path, const Parameters& params,
                              const std::map<std::string, std::string>& metadata);

/// Reads a model that must have exactly the tensors of `layout`; otherwise an invalid_data error names the tensor.
/// Where the file's SHA-256 is known it must be that.
[[nodiscard]] ModelFile read_safetensors(const std::filesystem::path& path,
                                         const std::shared_ptr<const ParamLayout>& layout,
                                         const std::string& digest = {});
[[nodiscard]] ModelFile parse_safetensors(std::span<const std::byte> bytes, const std::string& name,
                                          const std::shared_ptr<const ParamLayout>& layout);

}  // namespace feroma
