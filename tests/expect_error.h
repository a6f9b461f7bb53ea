#pragma once

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "feroma/core/error.h"

namespace feroma {

/// Runs `action`, which must throw an Error with this code whose message contains `part`.
template <class Action>
void expect_error(ErrorCode code, std::string_view part, Action action) {
  try {
    static_cast<void>(action());
    ADD_FAILURE() << "no error, but expected one with \"" << part << '"';
  } catch (const Error& error) {
    EXPECT_EQ(static_cast<int>(error.code()), static_cast<int>(code)) << error.what();
    EXPECT_NE(std::string_view(error.what()).find(part), std::string_view::npos) << error.what();
  }
}

}  // namespace feroma
