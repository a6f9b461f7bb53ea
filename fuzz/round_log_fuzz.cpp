// A server's state: records of a journal whose checksums are right, and the state file that the last of them names.
#include "feroma/store/round_log.h"
#include "fuzz/chunks.h"
#include "fuzz/guard.h"
#include "fuzz/scratch.h"
#include "fuzz/tiny_model.h"

namespace {

using feroma::fuzz::Chunk;

/// Even kinds are records; odd ones are states, kept under their digest and named by a record of the round `kind`.
void write_log(const std::filesystem::path& folder, feroma::fuzz::Chunks chunks) {
  feroma::Journal journal(folder / "journal");
  feroma::BlobStore blobs(folder / "models");
  while (const std::optional<Chunk> chunk = chunks.next()) {
    if (chunk->kind % 2 == 0) {
      journal.append(chunk->bytes);
      continue;
    }
    constexpr std::uint8_t kCommit = 3;
    feroma::ArchiveWriter record;
    record.put(kCommit);
    record.put<std::int32_t>(chunk->kind);
    record.put(std::string_view(blobs.put(chunk->bytes)));
    record.put<std::uint32_t>(0);
    journal.append(record.bytes());
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::filesystem::path folder = feroma::fuzz::scratch().folder() / "state";
  write_log(folder, feroma::fuzz::Chunks(feroma::fuzz::bytes_of(data, size)));
  // A state file that is not there is the system's error, not the content's.
  return feroma::fuzz::guarded(
      [&] {
        const feroma::RoundLog log(folder, [] { return feroma::JobRecord{"job", ""}; });
        if (log.committed() > 0) {
          log.load(feroma::fuzz::tiny_model()->shared_layout(), [](feroma::ModelReader& in) {
            (void)in.get_message();
            (void)in.get_model();
          });
        }
      },
      {feroma::ErrorCode::io});
}
