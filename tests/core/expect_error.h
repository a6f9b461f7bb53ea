#pragma once

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "feroma/core/error.h"

namespace feroma::test {

/// Runs `action`, which must throw a feroma::Error with this code; returns its message ("" after a failure).
template <class Action>
std::string error_of(ErrorCode code, Action action) {
  try {
    action();
  } catch (const Error& error) {
    EXPECT_EQ(static_cast<int>(error.code()), static_cast<int>(code)) << error.what();
    return error.what();
  }
  ADD_FAILURE() << "no error was thrown";
  return "";
}

/// True if `text` holds `part`; on failure the whole text is shown.
inline ::testing::AssertionResult holds(std::string_view text, std::string_view part) {
  if (text.find(part) != std::string_view::npos) {
    return ::testing::AssertionSuccess();
  }
  return ::testing::AssertionFailure() << "\"" << part << "\" is not in:\n" << text;
}

}  // namespace feroma::test
