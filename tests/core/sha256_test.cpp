#include <gtest/gtest.h>

#include <string>

#include "core/sha256_blocks.h"
#include "feroma/core/files.h"
#include "feroma/core/rng.h"

namespace feroma {
namespace {

std::string sha256_of(const std::string& text) { return sha256(std::as_bytes(std::span(text))); }

// Known answers of FIPS 180-4 and of NIST's SHA-256 test vectors.
TEST(Sha256, MatchesTheVectorsOfTheStandard) {
  EXPECT_EQ(sha256_of(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sha256_of("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(sha256_of("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
}

TEST(Sha256, HashesAMillionLetters) {
  EXPECT_EQ(sha256_of(std::string(1'000'000, 'a')), "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

// 55 bytes is the longest message whose padding fits in its own block; 56 and 64 need another one.
// Expected values: sha256sum of GNU coreutils.
TEST(Sha256, PadsAroundTheBlockBoundary) {
  EXPECT_EQ(sha256_of(std::string(55, 'a')), "9f4390f8d30c2dd92ec9f095b65e2b9ae9b0a925a5258e241c9f1e910f734318");
  EXPECT_EQ(sha256_of(std::string(56, 'a')), "b35439a4ac6f0948b6d6f9e3c6af0f5f590ce20f1bde7090ef7970686ec6738a");
  EXPECT_EQ(sha256_of(std::string(64, 'a')), "ffe054fe7ae0cb6dc65c3af9b61d5209f439851db43d0ba5997337df154668eb");
}

TEST(Sha256, TheProcessorsInstructionsAndPlainCodeAgree) {
  if (!detail::has_sha256_instructions()) {
    GTEST_SKIP() << "this processor has no SHA-256 instructions: there is only the plain code";
  }
  Rng rng(7);
  for (std::size_t blocks = 0; blocks < 20; ++blocks) {
    detail::Sha256Words plain{};
    for (std::uint32_t& word : plain) {
      word = static_cast<std::uint32_t>(rng.below(1ULL << 32));
    }
    Bytes message(blocks * detail::kSha256BlockBytes);
    for (std::byte& byte : message) {
      byte = static_cast<std::byte>(rng.below(256));
    }
    detail::Sha256Words fast = plain;
    detail::add_blocks_portably(plain, message);
    detail::add_blocks_by_instruction(fast, message);
    EXPECT_EQ(fast, plain) << blocks << " blocks";
  }
}

}  // namespace
}  // namespace feroma
