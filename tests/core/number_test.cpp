#include "feroma/core/number.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace feroma {
namespace {

TEST(Number, IsTheWholeText) {
  EXPECT_EQ(parse_number<int>("-42"), -42);
  EXPECT_EQ(parse_number<double>("1.5e3"), 1500.0);
  EXPECT_EQ(parse_number<std::uint16_t>("65535"), 65535);
  for (const char* text : {"", " 1", "1 ", "+1", "1x", "x", "-"}) {
    EXPECT_FALSE(parse_number<int>(text)) << text;
    EXPECT_FALSE(parse_number<double>(text)) << text;
  }
}

TEST(Number, MustFit) {
  EXPECT_FALSE(parse_number<std::uint16_t>("65536"));
  EXPECT_FALSE(parse_number<std::uint32_t>("-1"));
  EXPECT_FALSE(parse_number<int>("1.5"));
  EXPECT_FALSE(parse_number<double>("1e999"));
}

}  // namespace
}  // namespace feroma
