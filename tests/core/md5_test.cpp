#include <gtest/gtest.h>

#include <string>

#include "feroma/core/files.h"

namespace feroma {
namespace {

std::string md5_of(const std::string& text) { return md5(std::as_bytes(std::span(text))); }

// The test suite of RFC 1321, A.5.
TEST(Md5, MatchesTheVectorsOfTheStandard) {
  EXPECT_EQ(md5_of(""), "d41d8cd98f00b204e9800998ecf8427e");
  EXPECT_EQ(md5_of("abc"), "900150983cd24fb0d6963f7d28e17f72");
  EXPECT_EQ(md5_of("message digest"), "f96b697d7cb7938d525a2f31aaf161d0");
  EXPECT_EQ(md5_of("12345678901234567890123456789012345678901234567890123456789012345678901234567890"),
            "57edf4a22be3c955ac49da2e2107b67a");
}

// 55 bytes is the longest message whose padding fits in its own block. Expected values: md5sum of GNU coreutils.
TEST(Md5, PadsAroundTheBlockBoundary) {
  EXPECT_EQ(md5_of(std::string(55, 'a')), "ef1772b6dff9a122358552954ad0df65");
  EXPECT_EQ(md5_of(std::string(56, 'a')), "3b0c8ac703f828b04c6c197006d17218");
  EXPECT_EQ(md5_of(std::string(64, 'a')), "014842d480b571495a4a0363793f7367");
}

}  // namespace
}  // namespace feroma
