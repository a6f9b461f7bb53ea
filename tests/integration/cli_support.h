#pragma once

#include <gtest/gtest.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "tests/places.h"

namespace feroma::test {

struct Result {
  int exit_code = -1;
  std::string output;  ///< of the stream asked for
};

enum class Stream { out, err };

inline Result shell(const std::string& command) {
  std::FILE* pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) {
    return {};
  }
  Result result;
  std::array<char, 4096> buffer{};
  std::size_t count = 0;
  while ((count = std::fread(buffer.data(), 1, buffer.size(), pipe)) > 0) {
    result.output.append(buffer.data(), count);
  }
  const int status = pclose(pipe);
  result.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return result;
}

inline Result feroma_cli(const std::string& arguments, Stream stream = Stream::out) {
  const std::string redirect = stream == Stream::out ? " 2>/dev/null" : " 2>&1 >/dev/null";
  return shell(std::string(kProgram) + " " + arguments + redirect);
}

inline bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

inline std::string text_of(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

inline std::string trimmed(const std::string& text) {
  const std::size_t begin = std::min(text.find_first_not_of(" \t"), text.size());
  return text.substr(begin, text.find_last_not_of(" \t") + 1 - begin);
}

/// The parts of a line that are commands of their own, without comments and where their output goes.
inline std::vector<std::string> commands_of(const std::string& line) {
  std::vector<std::string> commands(1);
  char quote = 0;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (quote != 0) {
      quote = c == quote ? 0 : quote;
    } else if (c == '"' || c == '\'') {
      quote = c;
    } else if (c == '#' && (i == 0 || line[i - 1] == ' ')) {
      break;
    } else if (c == '&' || c == '|' || c == ';') {
      commands.emplace_back();
      continue;
    }
    commands.back() += c;
  }
  for (std::string& command : commands) {
    command = trimmed(command.substr(0, command.find(" > ")));
    for (const std::string prefix : {"do ", "sudo ", "$ "}) {
      command = command.starts_with(prefix) ? trimmed(command.substr(prefix.size())) : command;
    }
  }
  return commands;
}

/// A test with a folder of its own, removed at the end.
class CliFiles : public ::testing::Test {
 protected:
  CliFiles() {
    std::string name = (std::filesystem::temp_directory_path() / "feroma-cli-XXXXXX").string();
    if (mkdtemp(name.data()) != nullptr) {
      folder_ = name;
    }
  }
  ~CliFiles() override { std::filesystem::remove_all(folder_); }

  [[nodiscard]] std::string path(const std::string& name) const { return (folder_ / name).string(); }

 private:
  std::filesystem::path folder_;
};

}  // namespace feroma::test
