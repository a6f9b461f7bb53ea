#include "net/client_hello.h"

#include <algorithm>

#include "tests/net/tls_tools.h"

namespace feroma::net::test {
namespace {

using Verdict = HelloVerdict;

HelloBytes modern_hello() { return hello_of(TLS1_2_VERSION, TLS1_3_VERSION); }

Verdict inspect(const HelloBytes& bytes) { return inspect_client_hello(bytes); }

Verdict inspect(std::string_view text) { return inspect_client_hello(std::as_bytes(std::span(text))); }

/// Where the extension of offered versions begins: its kind, 43, before its length and a list of whole pairs.
std::size_t versions_in(const HelloBytes& hello) {
  const std::array kind{std::byte{0}, std::byte{43}, std::byte{0}};
  const auto found = std::search(hello.begin() + 50, hello.end(), kind.begin(), kind.end());
  EXPECT_NE(found, hello.end());
  return static_cast<std::size_t>(found - hello.begin());
}

/// A hello with another record length and message length: both are larger by `more`.
HelloBytes lengthened(HelloBytes hello, std::size_t more) {
  const auto set = [&](std::size_t at, std::size_t value) {
    hello[at] = static_cast<std::byte>(value >> 8);
    hello[at + 1] = static_cast<std::byte>(value & 0xff);
  };
  set(3, hello.size() - 5 + more);
  set(7, hello.size() - 9 + more);
  return hello;
}

TEST(ClientHello, TellsTls13FromOlderVersions) {
  EXPECT_EQ(inspect(hello_of(TLS1_3_VERSION, TLS1_3_VERSION)), Verdict::tls13);
  EXPECT_EQ(inspect(modern_hello()), Verdict::tls13);
  EXPECT_EQ(inspect(hello_of(TLS1_VERSION, TLS1_3_VERSION)), Verdict::tls13);
  EXPECT_EQ(inspect(hello_of(TLS1_2_VERSION, TLS1_2_VERSION)), Verdict::older);
  EXPECT_EQ(inspect(hello_of(TLS1_1_VERSION, TLS1_1_VERSION)), Verdict::older);
  EXPECT_EQ(inspect(hello_of(TLS1_VERSION, TLS1_VERSION)), Verdict::older);
}

TEST(ClientHello, OfSsl2And3IsOld) {
  // Two bytes of length, client hello, version 2.
  EXPECT_EQ(inspect(std::string_view("\x80\x2e\x01\x00\x02\x00\x15", 7)), Verdict::older);
  EXPECT_EQ(inspect(std::string_view("\x80\x2e", 2)), Verdict::need_more);
  EXPECT_EQ(inspect(std::string_view("\x80\x2e\x07", 3)), Verdict::not_tls);
  // One of SSL 3 ends after the compressions: version, random, no session, one cipher, one compression.
  HelloBytes three;
  const auto add = [&](std::initializer_list<int> bytes) {
    for (const int byte : bytes) {
      three.push_back(static_cast<std::byte>(byte));
    }
  };
  add({22, 3, 0, 0, 45, 1, 0, 0, 41, 3, 0});
  three.resize(three.size() + 32);
  add({0, 0, 2, 0, 5, 1, 0});
  EXPECT_EQ(inspect(three), Verdict::older);
}

TEST(ClientHello, NeedsMoreUntilItIsWhole) {
  for (const int newest : {TLS1_2_VERSION, TLS1_3_VERSION}) {
    const HelloBytes hello = hello_of(TLS1_2_VERSION, newest);
    for (std::size_t size = 0; size < hello.size(); ++size) {
      ASSERT_EQ(inspect_client_hello(std::span(hello).first(size)), Verdict::need_more) << size;
    }
  }
  HelloBytes more = modern_hello();
  more.resize(more.size() + 100);
  EXPECT_EQ(inspect(more), Verdict::tls13) << "what follows is not looked at";
}

TEST(ClientHello, MayComeInSeveralRecords) {
  for (const std::size_t most : {1U, 2U, 3U, 4U, 5U, 100U}) {
    const HelloBytes pieces = in_records_of(most, modern_hello());
    EXPECT_EQ(inspect(pieces), Verdict::tls13) << most;
    for (std::size_t size = 0; size < pieces.size(); ++size) {
      ASSERT_EQ(inspect_client_hello(std::span(pieces).first(size)), Verdict::need_more) << most << " " << size;
    }
  }
  HelloBytes mixed = in_records_of(100, modern_hello());
  mixed[105] = std::byte{23};  // the second record is data
  EXPECT_EQ(inspect(mixed), Verdict::malformed);
  HelloBytes empty = modern_hello();
  empty.insert(empty.begin(), {empty[0], empty[1], empty[2], std::byte{0}, std::byte{0}});
  EXPECT_EQ(inspect(empty), Verdict::malformed) << "records must not be empty";
}

TEST(ClientHello, WhatIsNoneIsKnownEarly) {
  EXPECT_EQ(inspect("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), Verdict::not_tls);
  EXPECT_EQ(inspect("G"), Verdict::not_tls);
  EXPECT_EQ(inspect(std::string(100, '\0')), Verdict::not_tls);
  EXPECT_EQ(inspect("\x16\x05"), Verdict::not_tls) << "no version of TLS begins with 5";
  EXPECT_EQ(inspect("\x15\x03\x03"), Verdict::not_tls) << "an alert";
  HelloBytes other = modern_hello();
  other[5] = std::byte{2};  // a server's hello
  EXPECT_EQ(inspect_client_hello(std::span(other).first(6)), Verdict::malformed);
  EXPECT_EQ(inspect(std::string_view("\x16\x03\x01\x40\x01", 5)), Verdict::malformed) << "a record of 2^14 + 1 bytes";
  EXPECT_EQ(inspect(std::string_view("\x16\x03\x01\x40\x00\x01\x00\x3f\xfd", 9)), Verdict::malformed)
      << "a hello longer than any";
}

TEST(ClientHello, IsBounded) {
  // Records of one byte each: the hello is announced as large as may be, and all of it would not fit.
  HelloBytes drip;
  const auto add = [&](int byte) {
    for (const int part : {22, 3, 1, 0, 1, byte}) {
      drip.push_back(static_cast<std::byte>(part));
    }
  };
  for (const int byte : {1, 0, 0x3f, 0xfc}) {
    add(byte);
  }
  while (drip.size() + 6 < kLargestHello) {
    add(0);
  }
  EXPECT_EQ(inspect(drip), Verdict::need_more);
  add(0);
  EXPECT_EQ(inspect(drip), Verdict::malformed);
}

TEST(ClientHello, LengthsThatLieAreRefused) {
  const HelloBytes hello = modern_hello();
  EXPECT_EQ(inspect(lengthened(hello, 0)), Verdict::tls13);
  HelloBytes more = lengthened(hello, 1);
  more.push_back(std::byte{0});
  EXPECT_EQ(inspect(more), Verdict::malformed) << "a byte after the extensions";
  HelloBytes session = hello;
  session[5 + 4 + 2 + 32] = std::byte{33};
  EXPECT_EQ(inspect(session), Verdict::malformed);
  const std::size_t at = versions_in(hello);
  HelloBytes odd = hello;
  odd[at + 4] = static_cast<std::byte>(std::to_integer<int>(odd[at + 4]) - 1);
  EXPECT_EQ(inspect(odd), Verdict::malformed);
  HelloBytes none = hello;
  none[at + 4] = std::byte{0};
  EXPECT_EQ(inspect(none), Verdict::malformed);
}

// OpenSSL would take the one list and we the other.
TEST(ClientHello, OffersVersionsOnce) {
  HelloBytes twice = modern_hello();
  const std::size_t at = versions_in(twice);
  const std::size_t size = 4 + std::to_integer<std::size_t>(twice[at + 3]);
  const HelloBytes copy(twice.begin() + static_cast<std::ptrdiff_t>(at),
                        twice.begin() + static_cast<std::ptrdiff_t>(at + size));
  // The extensions' own length is behind session, ciphers and compressions.
  std::size_t length = 5 + 4 + 2 + 32;
  length += 1 + std::to_integer<std::size_t>(twice[length]);
  length += 2 + (std::to_integer<std::size_t>(twice[length]) << 8) + std::to_integer<std::size_t>(twice[length + 1]);
  length += 1 + std::to_integer<std::size_t>(twice[length]);
  const std::size_t whole = twice.size() - length - 2 + size;
  twice[length] = static_cast<std::byte>(whole >> 8);
  twice[length + 1] = static_cast<std::byte>(whole & 0xff);
  twice.insert(twice.end(), copy.begin(), copy.end());
  EXPECT_EQ(inspect(lengthened(twice, 0)), Verdict::malformed);
  HelloBytes other = modern_hello();
  other[at + 1] = std::byte{0xfe};  // an extension that nobody knows
  EXPECT_EQ(inspect(other), Verdict::older);
}

// Whatever is changed in it, a hello is judged; one of TLS 1.2 never passes by the change of one byte.
TEST(ClientHello, SurvivesEveryChangeOfAByte) {
  for (const int newest : {TLS1_2_VERSION, TLS1_3_VERSION}) {
    const HelloBytes hello = hello_of(TLS1_2_VERSION, newest);
    for (std::size_t at = 0; at < hello.size(); ++at) {
      for (int value = 0; value < 256; ++value) {
        HelloBytes changed = hello;
        changed[at] = static_cast<std::byte>(value);
        const Verdict verdict = inspect(changed);
        if (newest == TLS1_2_VERSION) {
          ASSERT_NE(verdict, Verdict::tls13) << at << " " << value;
        }
      }
    }
  }
}

}  // namespace
}  // namespace feroma::net::test
