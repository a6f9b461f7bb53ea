#include "feroma/core/log.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace feroma {
namespace {

/// Keeps what is logged while it lives.
class Heard {
 public:
  struct Line {
    log::Severity severity = log::Severity::info;
    std::string message;
    std::vector<std::string> fields;
  };

  Heard() {
    log::set_sink([this](const log::Entry& entry) {
      Line line{entry.severity, std::string(entry.message), {}};
      for (const log::Field& field : entry.fields) {
        line.fields.push_back(fmt::format(
            "{}={}", field.name, std::visit([](const auto& value) { return fmt::format("{}", value); }, field.value)));
      }
      lines.push_back(std::move(line));
    });
  }
  ~Heard() { log::set_sink({}); }
  Heard(const Heard&) = delete;
  Heard& operator=(const Heard&) = delete;

  std::vector<Line> lines;
};

TEST(Log, SaysNothingUntilSomebodyListens) {
  log::set_sink({});
  log::warning("nobody hears {}", 1);
  const Heard heard;
  EXPECT_TRUE(heard.lines.empty());
}

TEST(Log, FormatsMessagesAndKeepsTheirSeverity) {
  const Heard heard;
  log::debug("a {}", 1);
  log::info("b {}", 2);
  log::warning("c {}", 3);
  ASSERT_EQ(heard.lines.size(), 3U);
  EXPECT_EQ(heard.lines[0].message, "a 1");
  EXPECT_TRUE(heard.lines[0].severity == log::Severity::debug);
  EXPECT_TRUE(heard.lines[1].severity == log::Severity::info);
  EXPECT_TRUE(heard.lines[2].severity == log::Severity::warning);
  EXPECT_TRUE(heard.lines[2].fields.empty());
}

TEST(Log, FieldsKeepTheirKindAndOrder) {
  const Heard heard;
  const std::string name = "site-3";
  log::write(log::Severity::info, "a round",
             {{"round", 3}, {"bytes", 5'000'000'000ULL}, {"seconds", 1.5}, {"who", name}});
  ASSERT_EQ(heard.lines.size(), 1U);
  EXPECT_EQ(heard.lines[0].fields,
            (std::vector<std::string>{"round=3", "bytes=5000000000", "seconds=1.5", "who=site-3"}));
  EXPECT_EQ(log::Field("x", 3).value.index(), 0U);
  EXPECT_EQ(log::Field("x", 3.0).value.index(), 1U);
  EXPECT_EQ(log::Field("x", "3").value.index(), 2U);
}

TEST(Log, LinesOfSeveralThreadsDoNotMix) {
  const Heard heard;
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([] {
        for (int k = 0; k < 100; ++k) {
          log::info("line {}", k);
        }
      });
    }
  }
  EXPECT_EQ(heard.lines.size(), 400U);
}

}  // namespace
}  // namespace feroma
