#include "net/metrics_page.h"

#include <fmt/core.h>

#include <cmath>
#include <string_view>

namespace feroma::net {
namespace {

/// A label's value may be anything; these three would end it.
std::string escaped(std::string_view value) {
  std::string text;
  for (const char c : value) {
    switch (c) {
      case '\\': text += "\\\\"; break;
      case '"': text += "\\\""; break;
      case '\n': text += "\\n"; break;
      default: text += c;
    }
  }
  return text;
}

/// A string as JSON writes it. Bytes above ASCII are taken to be UTF-8.
std::string json_string(std::string_view value) {
  std::string text = "\"";
  for (const char c : value) {
    if (c == '"' || c == '\\') {
      text += fmt::format("\\{}", c);
    } else if (static_cast<unsigned char>(c) < 0x20) {
      text += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
    } else {
      text += c;
    }
  }
  return text + '"';
}

std::string number(double value) {
  if (std::isnan(value)) {
    return "NaN";
  }
  if (std::isinf(value)) {
    return value > 0 ? "+Inf" : "-Inf";
  }
  return fmt::format("{}", value);
}

std::string number(std::uint64_t value) { return fmt::format("{}", value); }

/// Lines of the text format, family by family.
class Page {
 public:
  /// Begins a family; samples of another one must not come in between.
  Page& family(std::string_view name, std::string_view type, std::string_view help) {
    name_ = name;
    text_ += fmt::format("# HELP {} {}\n# TYPE {} {}\n", name, help, name, type);
    return *this;
  }
  Page& gauge(std::string_view name, std::string_view help) { return family(name, "gauge", help); }
  Page& counter(std::string_view name, std::string_view help) { return family(name, "counter", help); }

  template <class Value>
  void value(Value value) {
    text_ += fmt::format("{} {}\n", name_, number(value));
  }
  template <class Value>
  Page& value(std::string_view label, std::string_view of, Value value) {
    text_ += fmt::format("{}{{{}=\"{}\"}} {}\n", name_, label, escaped(of), number(value));
    return *this;
  }
  void info(std::string_view version, std::string_view job) {
    text_ += fmt::format("{}{{version=\"{}\",job_id=\"{}\"}} 1\n", name_, escaped(version), escaped(job));
  }

  [[nodiscard]] std::string take() && { return std::move(text_); }

 private:
  std::string text_;
  std::string_view name_;
};

std::uint64_t count(int value) { return value < 0 ? 0 : static_cast<std::uint64_t>(value); }

void write_rounds(Page& page, const ServerStatus& status) {
  page.counter("feroma_rounds_finished_total", "Rounds that cannot be lost any more, those before a restart included.")
      .value(count(status.rounds_finished));
  page.gauge("feroma_rounds_planned", "Rounds of the whole federation.").value(count(status.rounds_planned));
  page.gauge("feroma_round", "The round under way, 0 if none.").value(count(status.round));
  page.gauge("feroma_phase", "The phase under way, from 1, 0 if none.").value(count(status.phase));
  if (!status.last_round) {
    return;
  }
  const LastRound& last = *status.last_round;
  page.gauge("feroma_last_round_seconds", "How long the last finished round took.").value(last.seconds);
  page.gauge("feroma_last_round_clients", "Clients of the last finished round by how it ended for them.")
      .value("outcome", "answered", last.answered)
      .value("outcome", "dropped", last.dropped);
  if (last.accuracy_before && last.accuracy_after) {
    page.gauge("feroma_last_round_accuracy_percent", "Mean over clients, before and after they trained.")
        .value("when", "before", *last.accuracy_before)
        .value("when", "after", *last.accuracy_after);
  }
}

void write_traffic(Page& page, const ServerStatus& status) {
  page.gauge("feroma_clients_connected", "Clients that are there.").value(std::uint64_t{status.clients});
  page.gauge("feroma_connections_open", "Connections of any kind, those without a greeting included.")
      .value(std::uint64_t{status.connections});
  page.counter("feroma_connections_made_total", "Connections since the server was started.")
      .value(status.connections_made);
  page.counter("feroma_connections_refused_total", "Connections that did not get past the door, by reason.");
  for (const auto& [reason, times] : status.refused) {
    page.value("reason", reason, times);
  }
  page.counter("feroma_answers_total", "Answers and refusals by the reason that was given.");
  for (const auto& [reason, times] : status.answers) {
    page.value("reason", reason, times);
  }
  page.counter("feroma_received_bytes_total", "Bytes of clients' answers.").value(status.bytes_up);
  page.counter("feroma_sent_bytes_total", "Bytes of the tasks that clients were given.").value(status.bytes_down);
}

void write_process(Page& page, const ServerStatus& status) {
  page.gauge("feroma_uptime_seconds", "Time since the server was started.").value(status.uptime_seconds);
  page.gauge("feroma_draining", "1 once the server was told to stop.").value(std::uint64_t{status.draining});
  page.gauge("feroma_healthy", "0 where nothing moved for longer than it may.").value(std::uint64_t{status.healthy});
  page.gauge("process_resident_memory_bytes", "Resident memory.").value(status.memory_bytes);
  page.gauge("process_open_fds", "Open file descriptors.").value(std::uint64_t{status.descriptors});
  page.gauge("process_threads", "Threads.").value(std::uint64_t{status.threads});
}

}  // namespace

std::string metrics_page(const ServerStatus& status) {
  Page page;
  page.gauge("feroma_info", "The software and the federation it runs.").info(status.version, status.job);
  write_rounds(page, status);
  write_traffic(page, status);
  write_process(page, status);
  return std::move(page).take();
}

bool is_serving(const ServerStatus& status) { return status.healthy && !status.draining; }

std::string health_page(const ServerStatus& status) {
  const std::string_view word = status.draining ? "draining" : status.healthy ? "ok" : "unhealthy";
  const std::string why =
      is_serving(status) || status.reason.empty() ? "" : ",\"reason\":" + json_string(status.reason);
  return fmt::format("{{\"status\":\"{}\",\"round\":{},\"clients\":{}{}}}\n", word, status.round, status.clients, why);
}

}  // namespace feroma::net
