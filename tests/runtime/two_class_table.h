#pragma once

#include <filesystem>
#include <fstream>

namespace feroma::test {

/// A table with a dataset.toml in `folder`: one column that tells the two classes apart.
inline void write_two_class_table(const std::filesystem::path& folder, int rows = 80) {
  std::ofstream(folder / "dataset.toml") << "[dataset]\nkind = \"csv\"\nfile = \"rows.csv\"\nlabel_column = \"y\"\n";
  std::ofstream table(folder / "rows.csv");
  table << "x,y\n";
  for (int i = 0; i < rows; ++i) {
    table << (i % 2 == 0 ? 1 : 3) << ',' << i % 2 << '\n';
  }
}

}  // namespace feroma::test
