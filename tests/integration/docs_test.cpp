// What README and docs tell people to type is read by the program itself, and what they name is there.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <vector>

#include "feroma/report/console.h"
#include "feroma/report/record.h"
#include "tests/integration/known_keys.h"
#include "tests/places.h"

namespace feroma::test {
namespace {

namespace fs = std::filesystem;

const fs::path kRoot = kSourceFolder;

/// Something that a page shows as code, and where.
struct Code {
  std::string where;
  std::string text;
  bool whole = true;  ///< a line of a block; false: a mention within a sentence
};

/// A page taken apart.
struct Page {
  fs::path file;
  std::vector<Code> commands;  ///< lines of blocks that are typed, and mentions of anything
  std::vector<Code> toml;      ///< blocks
  std::vector<Code> links;
  std::set<std::string> anchors;
};

/// As GitHub names a heading.
std::string slug(const std::string& heading) {
  std::string out;
  for (const char c : heading) {
    const auto letter = static_cast<unsigned char>(c);
    if (std::isalnum(letter) != 0 || c == '-' || c == '_' || letter >= 0x80) {
      out += static_cast<char>(std::tolower(letter));
    } else if (c == ' ') {
      out += '-';
    }
  }
  return out;
}

class PageReader {
 public:
  Page operator()(const fs::path& file) {
    page_.file = file;
    std::ifstream in(file);
    int number = 0;
    for (std::string line; std::getline(in, line);) {
      ++number;
      const std::string text = trimmed(line);
      if (text.starts_with("```")) {
        end_of_paragraph();
        fence(text.substr(3), number);
      } else if (fenced_) {
        code_line(line, number);
      } else if (text.empty()) {
        end_of_paragraph();
      } else {
        prose(text, number);
      }
    }
    end_of_paragraph();
    return std::move(page_);
  }

 private:
  [[nodiscard]] std::string where(int number) const {
    return fmt::format("{}:{}", fs::relative(page_.file, kRoot).string(), number);
  }

  void fence(const std::string& language, int number) {
    if (fenced_ && language_ == "toml") {
      page_.toml.push_back({where(start_), block_});
    }
    fenced_ = !fenced_;
    language_ = language;
    block_.clear();
    start_ = number;
  }

  void code_line(const std::string& line, int number) {
    block_ += line + "\n";
    if (!language_.empty() && language_ != "sh") {
      return;
    }
    continued_ += trimmed(line);
    if (continued_.ends_with("\\")) {
      continued_.pop_back();
      return;
    }
    for (const std::string& command : commands_of(continued_)) {
      page_.commands.push_back({where(number), command});
    }
    continued_.clear();
  }

  void prose(const std::string& text, int number) {
    if (text.starts_with("#")) {
      page_.anchors.insert(slug(trimmed(text.substr(text.find_first_not_of('#')))));
    }
    if (paragraph_.empty() || text.starts_with("|")) {
      end_of_paragraph();
      start_ = number;
    }
    paragraph_ += text + " ";
  }

  void end_of_paragraph() {
    static const std::regex kCode("`([^`]+)`");
    static const std::regex kLink("\\]\\(([^)]+)\\)");
    for (std::sregex_iterator match(paragraph_.begin(), paragraph_.end(), kCode), end; match != end; ++match) {
      page_.commands.push_back({where(start_), (*match)[1], /*whole=*/false});
    }
    for (std::sregex_iterator match(paragraph_.begin(), paragraph_.end(), kLink), end; match != end; ++match) {
      page_.links.push_back({where(start_), (*match)[1]});
    }
    paragraph_.clear();
  }

  Page page_;
  bool fenced_ = false;
  int start_ = 0;
  std::string language_, block_, continued_, paragraph_;
};

const std::vector<Page>& pages() {
  static const std::vector<Page> all = [] {
    std::vector<Page> read;
    for (const char* file : {"README.md", "CONTRIBUTING.md", "src/README.md", "benchmarks/README.md"}) {
      read.push_back(PageReader()(kRoot / file));
    }
    std::set<fs::path> files;
    for (const auto& entry : fs::recursive_directory_iterator(kRoot / "docs")) {
      if (entry.path().extension() == ".md") {
        files.insert(entry.path());
      }
    }
    for (const fs::path& file : files) {
      read.push_back(PageReader()(file));
    }
    return read;
  }();
  return all;
}

/// Everything that pages show as code and that is typed with this word first.
std::vector<Code> typed(const std::string& word) {
  std::vector<Code> found;
  for (const Page& page : pages()) {
    for (const Code& code : page.commands) {
      const std::string first = code.text.substr(0, code.text.find(' '));
      if (first == word || first.ends_with("/bin/" + word)) {
        const std::string command = commands_of(code.text).front();  // but for where its output goes
        found.push_back({code.where, trimmed(command.substr(first.size())), code.whole});
      }
    }
  }
  return found;
}

bool has_network() { return contains(feroma_cli("--version").output, "network (gRPC): yes"); }

bool needs_network(const std::string& arguments) {
  const std::string command = arguments.substr(0, arguments.find(' '));
  return command == "server" || command == "client" || command == "cert";
}

TEST(Docs, EveryCommandLineIsOneThatTheProgramTakes) {
  const bool network = has_network();
  std::size_t whole = 0;
  for (const Code& code : typed("feroma")) {
    if (needs_network(code.text) && !network) {
      continue;
    }
    whole += code.whole ? 1 : 0;
    const Result result = feroma_cli("--parse-only " + code.text, Stream::err);
    // A file need not be there; a sentence may leave arguments out, but not misspell them.
    const bool good = result.exit_code == 0 || contains(result.output, "does not exist: ") ||
                      (!code.whole && !contains(result.output, ": unknown "));
    EXPECT_TRUE(good) << code.where << ": feroma " << code.text << "\n" << result.output;
  }
  EXPECT_GT(whole, 40U);
}

TEST(Docs, ParseOnlyReadsAndDoesNothing) {
  EXPECT_EQ(feroma_cli("--parse-only run missing.toml --set a=b").exit_code, 0);
  EXPECT_EQ(feroma_cli("--parse-only list models").output, "");
  EXPECT_EQ(feroma_cli("--parse-only run missing.toml --ot x").exit_code, 2);
  EXPECT_EQ(feroma_cli("--parse-only rnu missing.toml").exit_code, 2);
}

TEST(Docs, EveryTargetOfMakeIsThere) {
  std::set<std::string> targets;
  std::istringstream makefile(text_of((kRoot / "Makefile").string()));
  for (std::string line; std::getline(makefile, line);) {
    if (const std::size_t colon = line.find(':'); colon != std::string::npos && line.find_first_of(" =") > colon) {
      targets.insert(line.substr(0, colon));
    }
  }
  std::size_t seen = 0;
  for (const Code& code : typed("make")) {
    const std::string word = code.text.substr(0, code.text.find(' '));  // what follows is a variable's, or prose
    if (!word.empty() && word.find_first_not_of("abcdefghijklmnopqrstuvwxyz-") == std::string::npos) {
      ++seen;
      EXPECT_TRUE(targets.contains(word)) << code.where << ": make " << code.text;
    }
  }
  EXPECT_GT(seen, 20U);
}

TEST(Docs, EveryFileOfTheTreeThatIsNamedIsThere) {
  static const std::regex kPath(
      "(^|[ =/])((apps|benchmarks|configs|docs|examples|include|packaging|scripts|src|tests|tools)/[A-Za-z0-9_./-]+)");
  std::size_t seen = 0;
  for (const Page& page : pages()) {
    for (const Code& code : page.commands) {
      for (std::sregex_iterator match(code.text.begin(), code.text.end(), kPath), end; match != end; ++match) {
        const std::string name = (*match)[2];
        const char next = match->suffix().length() > 0 ? *match->suffix().first : ' ';
        if ((*match)[1] == "/" || next == '*' || next == '<' || next == '{' || contains(name, "NAME")) {
          continue;  // below another folder, or one of many
        }
        ++seen;
        EXPECT_TRUE(fs::exists(kRoot / name)) << code.where << ": there is no " << name;
      }
    }
  }
  EXPECT_GT(seen, 50U);
}

TEST(Docs, EveryLinkLeadsSomewhere) {
  std::map<fs::path, const Page*> by_file;
  for (const Page& page : pages()) {
    by_file[fs::weakly_canonical(page.file)] = &page;
  }
  for (const Page& page : pages()) {
    for (const Code& link : page.links) {
      if (contains(link.text, "://")) {
        continue;
      }
      const std::string name = link.text.substr(0, link.text.find('#'));
      const fs::path file = fs::weakly_canonical(name.empty() ? page.file : page.file.parent_path() / name);
      EXPECT_TRUE(fs::exists(file)) << link.where << ": " << link.text;
      const auto target = by_file.find(file);
      if (contains(link.text, "#") && target != by_file.end()) {
        EXPECT_TRUE(target->second->anchors.contains(link.text.substr(link.text.find('#') + 1)))
            << link.where << ": " << link.text;
      }
    }
  }
}

TEST(Docs, ProseWrapsAtAHundredColumns) {
  for (const Page& page : pages()) {
    std::ifstream in(page.file);
    bool fenced = false;
    int number = 0;
    for (std::string line; std::getline(in, line);) {
      ++number;
      const std::string text = trimmed(line);
      fenced = text.starts_with("```") ? !fenced : fenced;
      // Tables cannot be wrapped; a line that begins with code, a link or a picture may be one that cannot either.
      const bool free = fenced || text.empty() || contains("|`[!", text.substr(0, 1));
      const auto letters = std::count_if(line.begin(), line.end(), [](char c) { return (c & 0xC0) != 0x80; });
      EXPECT_TRUE(free || letters <= 100) << page.file << ":" << number << ": " << letters << " columns";
    }
  }
}

/// Methods that a page writes itself.
bool is_own_method(const SettingLists& file) {
  const auto name = file.find("algorithm.0.name");
  return name != file.end() && name->second.values.front() == SettingValue("fedmedian");
}

TEST(Docs, EveryKeyOfATomlBlockIsKnown) {
  const KnownKeys known;
  std::size_t blocks = 0;
  for (const Page& page : pages()) {
    for (const Code& block : page.toml) {
      ++blocks;
      const SettingLists file = parse_setting_lists(block.text, block.where);
      for (const auto& [key, list] : file) {
        EXPECT_TRUE(is_own_method(file) || known.in_file(key, file)) << block.where << ": " << key;
      }
    }
  }
  EXPECT_GT(blocks, 6U);
}

TEST(Docs, EveryKeyThatIsSetOrNamedIsKnown) {
  static const std::regex kSet("(--set[ =]\"?|SET=\"?)([A-Za-z0-9_.-]+)=");
  static const std::regex kNamed(
      "^((scenario|membership|training|evaluation|privacy|attack|server|profile|mapping|assign|retention)\\.[a-z_.]+)"
      "( = .*)?$");
  static const std::set<std::string> kNoKeys{"server.env", "server.key", "server.pem", "server.rng"};
  const KnownKeys known;
  std::size_t seen = 0;
  const auto check = [&](const Code& code, const std::string& key) {
    ++seen;
    EXPECT_TRUE(known.in_scenario(key) || known.has("algorithm.feroma." + key)) << code.where << ": " << code.text;
  };
  for (const Page& page : pages()) {
    for (const Code& code : page.commands) {
      for (std::sregex_iterator match(code.text.begin(), code.text.end(), kSet), end; match != end; ++match) {
        check(code, (*match)[2]);
      }
      std::smatch named;
      if (!code.whole && std::regex_match(code.text, named, kNamed) && !kNoKeys.contains(code.text)) {
        check(code, named[1]);
      }
    }
  }
  EXPECT_GT(seen, 60U);
}

/// Whether a command is over in a second and changes nothing but the folder it is called in.
bool is_quick(const std::string& arguments) {
  static const std::regex kQuick(
      "(list |init|data list|privacy explain |privacy calibrate |"
      "report --list-tables|--version|help |.* --dry-run|.* --help).*");
  return std::regex_match(arguments, kQuick);
}

TEST_F(CliFiles, WhatDocsShowAndTakesASecondIsRun) {
  for (const char* name : {"configs", "examples", "docs"}) {
    fs::create_directory_symlink(kRoot / name, path(name));
  }
  std::set<std::string> ran;
  for (const Code& code : typed("feroma")) {
    static const std::regex kConfig("[A-Za-z0-9_./-]+\\.toml");
    bool may_run = is_quick(code.text) && feroma_cli("--parse-only " + code.text).exit_code == 0;
    for (std::sregex_iterator match(code.text.begin(), code.text.end(), kConfig), end; match != end; ++match) {
      may_run = may_run && fs::exists(path(match->str()));
    }
    if (!may_run || !ran.insert(code.text).second) {
      continue;
    }
    const Result result = shell(fmt::format("cd '{}' && '{}' {} 2>&1 >/dev/null", path(""), kProgram, code.text));
    const bool no_data = contains(result.output, "feroma data get");  // not every machine has every dataset
    EXPECT_TRUE(result.exit_code == 0 || no_data) << code.where << ": feroma " << code.text << "\n" << result.output;
  }
  EXPECT_GT(ran.size(), 12U);
}

TEST(Glossary, ExplainsEveryColumnShiftAndDriftMode) {
  const std::string glossary = text_of((kRoot / "docs/glossary.md").string());
  const auto expect = [&glossary](const std::string& term) {
    EXPECT_TRUE(contains(glossary, "**" + term + "**") || contains(glossary, "`" + term + "`"))
        << "docs/glossary.md does not explain \"" << term << "\"";
  };
  static const std::regex kGap(" {2,}");
  const std::string table = results_table(std::vector<ResultRecord>(4));
  const std::string header = table.substr(0, table.find('\n'));
  for (std::sregex_token_iterator term(header.begin(), header.end(), kGap, -1), end; term != end; ++term) {
    expect(term->str());
  }
  for (const std::string kind : {"shifts", "drift-modes"}) {
    for (const auto& row : nlohmann::json::parse(feroma_cli("list " + kind + " --format json").output)) {
      expect(row["name"]);
    }
  }
}

}  // namespace
}  // namespace feroma::test
