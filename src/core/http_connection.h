#pragma once

#include <httplib.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>

#include "core/listener.h"

namespace feroma::net {

/// What a connection may take before it is given up.
struct Patience {
  /// For a whole request, however slowly it comes.
  std::chrono::steady_clock::duration request = std::chrono::seconds(5);
  /// How long all writes together may wait for the reader, before what the bytes that were read add.
  std::chrono::steady_clock::duration answer = std::chrono::seconds(10);
  /// A descriptor that becomes readable when nobody is to be waited for any more; -1: there is none.
  int end = -1;
};

/**
 * A connection for HTTP's library to read a request from and write an answer to: little time and room for the request,
 * and patience only with those who read what they asked for, so that nobody can hold a worker. Header only, for the few
 * files that know the library.
 */
class HttpConnection final : public httplib::Stream {
 public:
  HttpConnection(Descriptor descriptor, Patience patience)
      : descriptor_(std::move(descriptor)),
        request_until_(Clock::now() + patience.request),
        write_time_(patience.answer),
        end_of_all_(patience.end) {}

  [[nodiscard]] bool is_readable() const override { return at_ < end_ || wait(POLLIN, request_until_ - Clock::now()); }
  /// Whether the reader is still there; a write waits for it.
  [[nodiscard]] bool is_writable() const override {
    pollfd one{descriptor_.get(), POLLOUT | POLLRDHUP, 0};
    return ::poll(&one, 1, 0) <= 0 || (one.revents & (POLLERR | POLLHUP | POLLRDHUP)) == 0;
  }

  ssize_t read(char* out, std::size_t size) override {
    if (at_ == end_ && !fill()) {
      return -1;
    }
    const std::size_t count = std::min(size, end_ - at_);
    std::copy_n(buffer_.begin() + static_cast<std::ptrdiff_t>(at_), count, out);
    at_ += count;
    return static_cast<ssize_t>(count);
  }

  ssize_t write(const char* bytes, std::size_t size) override {
    std::size_t sent = 0;
    while (sent < size) {
      const Clock::time_point began = Clock::now();
      const bool ready = wait(POLLOUT, write_time_ + time_for(written_) - waited_);
      waited_ += Clock::now() - began;
      const ssize_t now = ready ? ::send(descriptor_.get(), bytes + sent, size - sent, MSG_NOSIGNAL) : -1;
      if (now < 0 && !(ready && (errno == EINTR || errno == EAGAIN))) {
        return -1;
      }
      sent += static_cast<std::size_t>(std::max<ssize_t>(now, 0));
      written_ += static_cast<std::size_t>(std::max<ssize_t>(now, 0));
    }
    return static_cast<ssize_t>(size);
  }

  // Nobody asks who it was.
  void get_remote_ip_and_port(std::string& ip, int& port) const override {
    ip.clear();
    port = 0;
  }
  void get_local_ip_and_port(std::string& ip, int& port) const override { get_remote_ip_and_port(ip, port); }
  [[nodiscard]] socket_t socket() const override { return descriptor_.get(); }

 private:
  using Clock = std::chrono::steady_clock;

  static constexpr std::size_t kLargestRequest = 16 << 10;
  static constexpr double kSlowestBytesPerSecond = 16 << 10;
  static constexpr Clock::duration kLongestWait = std::chrono::hours(1);

  static Clock::duration time_for(std::size_t bytes) {
    const std::chrono::duration<double> time(static_cast<double>(bytes) / kSlowestBytesPerSecond);
    return std::chrono::duration_cast<Clock::duration>(time);
  }

  [[nodiscard]] bool wait(short event, Clock::duration time) const {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(std::min(time, kLongestWait)).count();
    std::array<pollfd, 2> waiting{{{descriptor_.get(), event, 0}, {end_of_all_, POLLIN, 0}}};  // poll skips a -1
    return left > 0 && ::poll(waiting.data(), waiting.size(), static_cast<int>(left)) > 0 && waiting[1].revents == 0;
  }

  bool fill() {
    if (received_ >= kLargestRequest || !wait(POLLIN, request_until_ - Clock::now())) {
      return false;
    }
    const ssize_t got = ::recv(descriptor_.get(), buffer_.data(), buffer_.size(), 0);
    if (got <= 0) {
      return false;
    }
    at_ = 0;
    end_ = static_cast<std::size_t>(got);
    received_ += end_;
    return true;
  }

  Descriptor descriptor_;
  Clock::time_point request_until_;
  Clock::duration write_time_;
  int end_of_all_;
  Clock::duration waited_{};
  std::size_t written_ = 0;
  std::array<char, 2048> buffer_{};
  std::size_t at_ = 0;
  std::size_t end_ = 0;
  std::size_t received_ = 0;
};

}  // namespace feroma::net
