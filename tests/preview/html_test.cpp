#include "feroma/preview/html.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <array>

#include "tests/preview/toy_scenario.h"

namespace feroma {
namespace {

std::string page(std::span<const std::byte> png) {
  return preview_html(make_preview(test::toy_federation(Shift::covariate), {}), png);
}

TEST(PreviewHtml, EmbedsThePicture) {
  // "Man" is RFC 4648's usual example; one and two bytes more are padded.
  const std::array<std::byte, 5> bytes{std::byte{'M'}, std::byte{'a'}, std::byte{'n'}, std::byte{'M'}, std::byte{'a'}};
  const std::span<const std::byte> all(bytes);
  EXPECT_NE(page(all.first(3)).find("data:image/png;base64,TWFu\""), std::string::npos);
  EXPECT_NE(page(all.first(4)).find("data:image/png;base64,TWFuTQ==\""), std::string::npos);
  EXPECT_NE(page(all).find("data:image/png;base64,TWFuTWE=\""), std::string::npos);
}

TEST(PreviewHtml, NeedsNothingElse) {
  const std::string html = page({});
  for (const char* link : {"http:", "https:", "<script", "<link", "url("}) {
    EXPECT_EQ(html.find(link), std::string::npos) << link;
  }
  EXPECT_NE(html.find("prefers-color-scheme: dark"), std::string::npos);
}

TEST(PreviewHtml, ListsIdsCountsAndWhatTheyAre) {
  const Federation federation = test::toy_federation(Shift::covariate);
  const Preview preview = make_preview(federation, {});
  const std::string html = preview_html(preview, {});
  EXPECT_NE(html.find("rounds 3–4"), std::string::npos);
  for (const DistributionNote& note : preview.legend) {
    EXPECT_NE(html.find(note.about), std::string::npos) << note.about;
  }
  const PreviewCell& cell = preview.rows[2].stages[1];
  EXPECT_NE(html.find(fmt::format(">{}</span><small>{}</small>", cell.distribution, cell.count)), std::string::npos);
}

TEST(PreviewHtml, EscapesNames) {
  Preview preview = make_preview(test::toy_federation(Shift::covariate), {});
  preview.scenario.dataset = "<b>";
  preview.legend[0].about = "a < b";
  const std::string html = preview_html(preview, {});
  EXPECT_EQ(html.find("<b>"), std::string::npos);
  EXPECT_NE(html.find("&lt;b&gt;"), std::string::npos);
  EXPECT_NE(html.find("a &lt; b"), std::string::npos);
}

}  // namespace
}  // namespace feroma
