#include "report/file_stem.h"

#include <cctype>

namespace feroma::detail {

std::string file_stem(std::string_view text) {
  std::string name;
  for (const char c : text) {
    const bool plain = std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '.' || c == '_';
    if (plain || (!name.empty() && name.back() != '-')) {
      name += plain ? c : '-';
    }
  }
  while (name.ends_with('-') || name.ends_with('.')) {
    name.pop_back();
  }
  return name;
}

}  // namespace feroma::detail
