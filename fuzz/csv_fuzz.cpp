#include "feroma/data/csv.h"
#include "fuzz/guard.h"

// Every cell of what is accepted can be looked at, as text and as a number.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return feroma::fuzz::guarded([&] {
    const feroma::CsvTable table = feroma::parse_csv(feroma::fuzz::text_of(data, size), "input");
    for (std::size_t row = 0; row < table.rows(); ++row) {
      for (std::size_t column = 0; column < table.columns().size(); ++column) {
        (void)table.cell(row, column);
        feroma::fuzz::guarded([&] { (void)table.number(row, column); });
      }
    }
  });
}
