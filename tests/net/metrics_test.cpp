#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cctype>
#include <cstdlib>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <vector>

#include "net/metrics_page.h"
#include "net/process_status.h"

namespace feroma::net::test {
namespace {

// ---- a reader of the text format, stricter than a scraper ----

struct Sample {
  std::map<std::string, std::string> labels;
  double value = 0;
};

struct Family {
  std::string type;
  std::string help;
  std::vector<Sample> samples;
};

class Scrape {
 public:
  explicit Scrape(const std::string& page) {
    EXPECT_TRUE(page.empty() || page.back() == '\n') << "the last line must end";
    std::istringstream lines(page);
    for (std::string line; std::getline(lines, line);) {
      SCOPED_TRACE(line);
      if (line.starts_with("# HELP ")) {
        begin(line.substr(7));
      } else if (line.starts_with("# TYPE ")) {
        set_type(line.substr(7));
      } else {
        read_sample(line);
      }
    }
  }

  [[nodiscard]] bool has(const std::string& name) const { return families_.contains(name); }
  [[nodiscard]] double value(const std::string& name) const {
    const auto found = families_.find(name);
    if (found == families_.end() || found->second.samples.size() != 1) {
      ADD_FAILURE() << name << " must have one sample";
      return -1;
    }
    return found->second.samples.front().value;
  }
  [[nodiscard]] double value(const std::string& name, const std::string& label, const std::string& of) const {
    for (const Sample& sample : families_.at(name).samples) {
      if (sample.labels == std::map<std::string, std::string>{{label, of}}) {
        return sample.value;
      }
    }
    ADD_FAILURE() << name << " has no sample with " << label << "=" << of;
    return -1;
  }
  [[nodiscard]] const std::map<std::string, Family>& families() const { return families_; }

 private:
  static bool is_name(const std::string& text) {
    bool valid = !text.empty() && std::isdigit(static_cast<unsigned char>(text.front())) == 0;
    for (const char c : text) {
      valid = valid && (std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_');
    }
    return valid;
  }

  void begin(const std::string& rest) {
    current_ = rest.substr(0, rest.find(' '));
    EXPECT_TRUE(is_name(current_));
    EXPECT_FALSE(families_.contains(current_)) << "a family must stand in one place";
    families_[current_].help = rest.substr(current_.size() + 1);
    EXPECT_FALSE(families_[current_].help.empty());
  }

  void set_type(const std::string& rest) {
    const std::string name = rest.substr(0, rest.find(' '));
    EXPECT_EQ(name, current_) << "TYPE must follow its HELP";
    const std::string type = rest.substr(name.size() + 1);
    EXPECT_TRUE(type == "gauge" || type == "counter");
    EXPECT_EQ(type == "counter", name.ends_with("_total")) << "counters, and they alone, end in _total";
    families_[name].type = type;
  }

  void read_sample(const std::string& line) {
    std::size_t at = line.find_first_of("{ ");
    ASSERT_NE(at, std::string::npos);
    const std::string name = line.substr(0, at);
    EXPECT_EQ(name, current_) << "a sample must stand under its own family";
    ASSERT_FALSE(families_[name].type.empty()) << "a sample must come after its TYPE";
    Sample sample;
    if (line[at] == '{') {
      at = read_labels(line, at + 1, sample);
      ASSERT_NE(at, std::string::npos);
    }
    ASSERT_EQ(line[at], ' ');
    const std::string number = line.substr(at + 1);
    char* end = nullptr;
    sample.value = std::strtod(number.c_str(), &end);
    EXPECT_EQ(*end, '\0') << "a value must be one number, got " << number;
    EXPECT_FALSE(number.empty());
    EXPECT_TRUE(seen_.insert(line.substr(0, at)).second) << "a sample must not come twice";
    families_[name].samples.push_back(sample);
  }

  /// Reads name="value",... up to the closing bracket; where the text goes on after it.
  static std::size_t read_labels(const std::string& line, std::size_t at, Sample& sample) {
    while (at < line.size() && line[at] != '}') {
      const std::size_t equals = line.find("=\"", at);
      if (equals == std::string::npos) {
        ADD_FAILURE() << "a label must be name=\"value\"";
        return equals;
      }
      const std::string label = line.substr(at, equals - at);
      EXPECT_TRUE(is_name(label)) << label;
      std::string value;
      for (at = equals + 2; at < line.size() && line[at] != '"'; ++at) {
        if (line[at] == '\\') {
          ++at;
          EXPECT_TRUE(line[at] == '\\' || line[at] == '"' || line[at] == 'n') << "unknown escape";
          value += line[at] == 'n' ? '\n' : line[at];
        } else {
          value += line[at];
        }
      }
      if (at >= line.size()) {
        ADD_FAILURE() << "a label's value must end";
        return std::string::npos;
      }
      sample.labels[label] = value;
      at += line[at + 1] == ',' ? 2U : 1U;
    }
    return at < line.size() ? at + 1 : std::string::npos;
  }

  std::map<std::string, Family> families_;
  std::string current_;
  std::set<std::string> seen_;
};

ServerStatus busy_server() {
  ServerStatus status;
  status.version = "0.1.0";
  status.job = "00ff";
  status.uptime_seconds = 12.5;
  status.rounds_finished = 3;
  status.rounds_planned = 8;
  status.round = 4;
  status.phase = 1;
  status.last_round = LastRound{1.25, 61.5, 70.25, 4, 1};
  status.clients = 5;
  status.connections = 6;
  status.connections_made = 17;
  status.answers = {{"ACCEPTED", 15}, {"LATE", 2}};
  status.refused = {{"not_tls", 7}};
  status.bytes_up = 9007199254740993;  // more than a double can count
  status.bytes_down = 42;
  status.memory_bytes = 100 << 20;
  status.descriptors = 33;
  status.threads = 9;
  return status;
}

TEST(MetricsPage, HasEveryNumberOfTheStatus) {
  const Scrape scrape(metrics_page(busy_server()));
  EXPECT_EQ(scrape.value("feroma_rounds_finished_total"), 3);
  EXPECT_EQ(scrape.value("feroma_rounds_planned"), 8);
  EXPECT_EQ(scrape.value("feroma_round"), 4);
  EXPECT_EQ(scrape.value("feroma_phase"), 1);
  EXPECT_EQ(scrape.value("feroma_last_round_seconds"), 1.25);
  EXPECT_EQ(scrape.value("feroma_last_round_clients", "outcome", "answered"), 4);
  EXPECT_EQ(scrape.value("feroma_last_round_clients", "outcome", "dropped"), 1);
  EXPECT_EQ(scrape.value("feroma_last_round_accuracy_percent", "when", "before"), 61.5);
  EXPECT_EQ(scrape.value("feroma_last_round_accuracy_percent", "when", "after"), 70.25);
  EXPECT_EQ(scrape.value("feroma_clients_connected"), 5);
  EXPECT_EQ(scrape.value("feroma_connections_open"), 6);
  EXPECT_EQ(scrape.value("feroma_connections_made_total"), 17);
  EXPECT_EQ(scrape.value("feroma_connections_refused_total", "reason", "not_tls"), 7);
  EXPECT_EQ(scrape.value("feroma_answers_total", "reason", "ACCEPTED"), 15);
  EXPECT_EQ(scrape.value("feroma_answers_total", "reason", "LATE"), 2);
  EXPECT_EQ(scrape.value("feroma_sent_bytes_total"), 42);
  EXPECT_EQ(scrape.value("feroma_uptime_seconds"), 12.5);
  EXPECT_EQ(scrape.value("feroma_draining"), 0);
  EXPECT_EQ(scrape.value("feroma_healthy"), 1);
  EXPECT_EQ(scrape.value("process_resident_memory_bytes"), 100 << 20);
  EXPECT_EQ(scrape.value("process_open_fds"), 33);
  EXPECT_EQ(scrape.value("process_threads"), 9);
  const Family& info = scrape.families().at("feroma_info");
  EXPECT_EQ(info.samples.front().labels,
            (std::map<std::string, std::string>{{"version", "0.1.0"}, {"job_id", "00ff"}}));
}

TEST(MetricsPage, CountsExactly) {
  const std::string page = metrics_page(busy_server());
  EXPECT_NE(page.find("\nferoma_received_bytes_total 9007199254740993\n"), std::string::npos) << page;
}

TEST(MetricsPage, LeavesOutWhatIsNotKnown) {
  ServerStatus status = busy_server();
  status.last_round->accuracy_before.reset();  // as under a privacy budget
  status.last_round->accuracy_after.reset();
  const Scrape guarded(metrics_page(status));
  EXPECT_FALSE(guarded.has("feroma_last_round_accuracy_percent"));
  EXPECT_TRUE(guarded.has("feroma_last_round_seconds"));
  const Scrape fresh(metrics_page(ServerStatus{}));
  EXPECT_FALSE(fresh.has("feroma_last_round_seconds"));
  EXPECT_EQ(fresh.value("feroma_round"), 0);
}

TEST(MetricsPage, NoLabelCanEndItsLine) {
  ServerStatus status;
  const std::string nasty = "a\"} 1\nferoma_healthy 7 \\";
  status.job = nasty;
  status.answers[nasty] = 1;
  const Scrape scrape(metrics_page(status));
  EXPECT_EQ(scrape.value("feroma_answers_total", "reason", nasty), 1);
  EXPECT_EQ(scrape.families().at("feroma_info").samples.front().labels.at("job_id"), nasty);
  EXPECT_EQ(scrape.value("feroma_healthy"), 1);
}

TEST(MetricsPage, WritesNumbersThatAreNoneAsTheFormatWants) {
  ServerStatus status;
  status.last_round = LastRound{std::numeric_limits<double>::infinity(), std::nan(""), 50, 0, 0};
  const std::string page = metrics_page(status);
  EXPECT_NE(page.find("\nferoma_last_round_seconds +Inf\n"), std::string::npos) << page;
  EXPECT_NE(page.find("{when=\"before\"} NaN\n"), std::string::npos) << page;
  static_cast<void>(Scrape(page));
}

// ---- /healthz ----

TEST(HealthPage, SaysWhatIsGoingOn) {
  ServerStatus status = busy_server();
  EXPECT_TRUE(is_serving(status));
  EXPECT_EQ(nlohmann::json::parse(health_page(status)),
            (nlohmann::json{{"status", "ok"}, {"round", 4}, {"clients", 5}}));
}

TEST(HealthPage, ServesNobodyWhileDrainingOrStuck) {
  ServerStatus status = busy_server();
  status.healthy = false;
  status.reason = "no progress for \"700\" s\n";
  EXPECT_FALSE(is_serving(status));
  const auto stuck = nlohmann::json::parse(health_page(status));
  EXPECT_EQ(stuck.at("status"), "unhealthy");
  EXPECT_EQ(stuck.at("reason"), status.reason);
  status = busy_server();
  status.draining = true;
  EXPECT_FALSE(is_serving(status));
  EXPECT_EQ(nlohmann::json::parse(health_page(status)).at("status"), "draining");
}

// ---- the process ----

TEST(ProcessStatus, SeesADescriptorThatWasOpened) {
  ServerStatus before;
  measure_process(before);
  EXPECT_GE(before.threads, 1U);
  EXPECT_GT(before.memory_bytes, 1U << 20);
  const int opened = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  ASSERT_GE(opened, 0);
  ServerStatus after;
  measure_process(after);
  ::close(opened);
  EXPECT_EQ(after.descriptors, before.descriptors + 1);
}

}  // namespace
}  // namespace feroma::net::test
