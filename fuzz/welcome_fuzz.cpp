// What a client makes of a server's config, up to the point where it would take steps. A server may ask for as much
// work as it likes, so only configs of small numbers are prepared for; of all others the reading is what is looked at.
#include <algorithm>
#include <cmath>
#include <string>

#include "feroma/core/settings.h"
#include "feroma/net/codec.h"
#include "fuzz/few_samples.h"
#include "fuzz/guard.h"
#include "net/client_work.h"

namespace {

constexpr int kSmall = 64;

bool is_small(const feroma::SettingValue& value) {
  if (const auto* whole = std::get_if<std::int64_t>(&value)) {
    return *whole >= -kSmall && *whole <= kSmall;
  }
  const auto* real = std::get_if<double>(&value);
  return real == nullptr || std::abs(*real) <= kSmall;
}

/// The layout of the smallest of the models that a config can name; any other's client is refused before it begins.
const std::string& layout_of_mlp() {
  static const std::string digest = feroma::layout_digest(
      *feroma::make_layout(feroma::make_model("mlp", feroma::fuzz::kFewShape, feroma::fuzz::kFewClasses)));
  return digest;
}

feroma::v1::Welcome welcome_with(std::string_view config) {
  feroma::v1::Welcome welcome;
  welcome.set_job("job");
  welcome.set_config(std::string(config));
  welcome.mutable_samples()->set_channels(feroma::fuzz::kFewShape.channels);
  welcome.mutable_samples()->set_height(feroma::fuzz::kFewShape.height);
  welcome.mutable_samples()->set_width(feroma::fuzz::kFewShape.width);
  welcome.mutable_samples()->set_classes(feroma::fuzz::kFewClasses);
  const feroma::Settings settings = feroma::parse_settings(config, "fuzz");
  const bool small =
      std::all_of(settings.begin(), settings.end(), [](const auto& entry) { return is_small(entry.second.value); });
  welcome.set_layout(small ? layout_of_mlp() : "another");
  return welcome;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  // A client that asks for nothing, and one that asks for privacy: what it cannot agree to is an error that says so.
  for (const feroma::PrivacyMode mode : {feroma::PrivacyMode::off, feroma::PrivacyMode::gaussian}) {
    feroma::fuzz::guarded(
        [&] {
          feroma::PrivacyOptions own;
          own.mode = mode;
          const feroma::net::ClientWork work =
              feroma::net::make_client_work(welcome_with(feroma::fuzz::text_of(data, size)),
                                            {feroma::fuzz::kFewShape, feroma::fuzz::kFewClasses, false}, own);
          feroma::fuzz::expect(mode == feroma::PrivacyMode::off || work.experiment.privacy.guarded(),
                               "who asks for privacy has it");
          feroma::fuzz::expect(work.largest_task() > 0, "a task may have some bytes");
        },
        {feroma::ErrorCode::unsupported});
  }
  return 0;
}
