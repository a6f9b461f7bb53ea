#include "terminal.h"

#include <fmt/core.h>
#include <unistd.h>

#include <cstdlib>

namespace feroma::cli {

bool is_terminal(std::FILE* stream) { return isatty(fileno(stream)) != 0; }

bool wants_colour(std::FILE* stream) {
  const char* no_colour = std::getenv("NO_COLOR");
  return (no_colour == nullptr || *no_colour == '\0') && is_terminal(stream);
}

std::string red(std::string_view text, std::FILE* stream) {
  return wants_colour(stream) ? fmt::format("\033[31m{}\033[0m", text) : std::string(text);
}

}  // namespace feroma::cli
