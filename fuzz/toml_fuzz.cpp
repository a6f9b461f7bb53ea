#include "feroma/core/setting_lists.h"
#include "fuzz/guard.h"
#include "src/data/own_dataset.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = feroma::fuzz::text_of(data, size);
  feroma::fuzz::guarded([&] { (void)feroma::parse_setting_lists(text, "input"); });
  return feroma::fuzz::guarded([&] { (void)feroma::detail::parse_own_options(text, "input"); });
}
