#pragma once

namespace feroma {

/// Versions of the files that people read, in their `schema` field; docs/files.md describes them. A version is raised
/// when a reader of the old one would misunderstand the new one; added fields alone do not raise it.
inline constexpr int kSummarySchema = 1;
inline constexpr int kEventsSchema = 1;
inline constexpr int kManifestSchema = 1;

}  // namespace feroma
