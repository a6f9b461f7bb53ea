#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "feroma/privacy/disclosure.h"
#include "feroma/runtime/store_models.h"

namespace feroma {

// What a client that takes no part in training tells of its data under a budget is told once for each version of them.

/// The version of the data in a folder: where the folder is and what its files look like from outside, as a number. The
/// same files have the same one for ever, from whatever working folder they are looked at.
[[nodiscard]] std::int64_t visitor_version(const std::filesystem::path& data);

/// Where the ledger is kept unless somebody says otherwise: beside the data, so that the same data always find it.
[[nodiscard]] std::filesystem::path visitor_state(const std::filesystem::path& data);

/// The file that counts what is told of the data in a folder: beside it, or in `folder` where one is named.
[[nodiscard]] std::filesystem::path witness_file(const std::filesystem::path& data,
                                                 const std::filesystem::path& folder);

/// A name for the data in a folder, by its place, that says nothing else: a server counts visits by it.
[[nodiscard]] std::string data_name(const std::filesystem::path& data);

/// How a client tells a store of its data; nothing where profiles are not under a budget. The ledger knows the store by
/// its encoder and bounds and not by its place: a copy is told the same bytes, another run in that place is not.
[[nodiscard]] std::optional<Disclosure> store_disclosure(const OpenedStore& store, const std::filesystem::path& state,
                                                         std::int64_t version,
                                                         const std::filesystem::path& witness = {});

}  // namespace feroma
