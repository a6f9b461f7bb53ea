#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "tests/places.h"

namespace feroma::test {

/// Real data that no package holds: $FEROMA_SHARED_DATA, else ../shared/data beside the source folder.
inline std::filesystem::path shared_data(const std::string& name) {
  const char* set = std::getenv("FEROMA_SHARED_DATA");
  const std::filesystem::path root = set != nullptr ? std::filesystem::path(set) : source_file("../shared/data");
  return root / name;
}

}  // namespace feroma::test

/// Skips the test, loudly, where the real data are absent.
#define FEROMA_NEEDS_SHARED_DATA(name)                                                                           \
  if (!std::filesystem::exists(feroma::test::shared_data(name))) {                                               \
    GTEST_SKIP() << "SKIPPED: " << feroma::test::shared_data(name) << " is absent; FEROMA_SHARED_DATA may name " \
                 << "the folder that holds " << name;                                                            \
  }
