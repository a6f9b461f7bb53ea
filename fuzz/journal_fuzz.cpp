// A journal's file as it was found: read without holding it, opened, gone on with, and opened again.
#include "feroma/store/journal.h"
#include "fuzz/guard.h"
#include "fuzz/scratch.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::filesystem::path path = feroma::fuzz::scratch().file(feroma::fuzz::bytes_of(data, size));
  return feroma::fuzz::guarded([&] {
    const feroma::JournalContent content = feroma::examine_journal(path);
    content.require_undamaged(path);
    const std::vector<feroma::Bytes>& records = content.records;
    {
      feroma::Journal journal(path);
      feroma::fuzz::expect(journal.take_records() == records, "whoever opens a journal reads the same");
      journal.append(feroma::fuzz::bytes_of(data, std::min<std::size_t>(size, 10)));
    }
    feroma::Journal again(path);
    feroma::fuzz::expect(again.take_records().size() == records.size() + 1 && again.cut() == 0, "a record is kept");
  });
}
