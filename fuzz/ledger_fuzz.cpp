// A client's ledger: as it is, and with every checksum put right, so that the lines behind them are read.
#include <zlib.h>

#include "fuzz/guard.h"
#include "privacy/ledger_text.h"

namespace {

std::string with_right_checksums(std::string_view text) {
  std::string ledger = "feroma-ledger 1\n";
  std::string check;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string covered = check + std::string(text.substr(0, end));
    check = fmt::format("{:08x}", ::crc32_z(0, reinterpret_cast<const unsigned char*>(covered.data()), covered.size()));
    ledger += fmt::format("{} {}\n", text.substr(0, end), check);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return ledger;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = feroma::fuzz::text_of(data, size);
  feroma::fuzz::guarded([&] {
    const feroma::LedgerText ledger = feroma::read_ledger_text(text, "input");
    feroma::fuzz::expect(ledger.whole_size <= text.size(), "no more is read than there is");
    // What was read is written again as it was.
    std::string again;
    std::string check;
    for (const feroma::LedgerLine& line : ledger.lines) {
      again += feroma::write_line(line, check, check);
    }
    const feroma::LedgerText twice = feroma::read_ledger_text(again, "written again");
    feroma::fuzz::expect(twice.lines.size() == ledger.lines.size(), "every line is kept");
  });
  return feroma::fuzz::guarded([&] { (void)feroma::read_ledger_text(with_right_checksums(text), "input"); });
}
