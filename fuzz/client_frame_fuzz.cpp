// A client that says anything to a server in the middle of a round, or a visitor to one that has finished some. Chunks
// are frames as they are (kind 0), frames with the right session and number (1), and answers whose announcement is
// right (2): to the task of a round, or to a visitor's question.
#include <google/protobuf/stubs/logging.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "fuzz/chunks.h"
#include "fuzz/one_round.h"
#include "fuzz/played.h"
#include "net/wire.h"

namespace {

namespace v1 = feroma::v1;
using feroma::fuzz::Chunk;
using feroma::fuzz::tiny_model;

/// What visitors are served with.
std::shared_ptr<const feroma::Algorithm> after_two_rounds() {
  static const feroma::fuzz::Played played = feroma::fuzz::play("feroma");
  return {std::shared_ptr<const void>(), played.algorithm.get()};  // it is never destroyed while a hub is there
}

/// A server with one round going on, and the connection of one client.
class FrameConversation {
 public:
  FrameConversation() {
    session_ = hub_.connect({"fuzz", std::nullopt, ""}, [] {});
    round_ = std::jthread([this] { feroma::fuzz::run_one_round(hub_); });
  }
  ~FrameConversation() {
    stop_.request();
    session_->disconnected();
  }

  void hear(const Chunk& chunk) {
    if (chunk.kind % 3 == 2) {
      answer(chunk.bytes);
    } else {
      v1::ClientFrame frame;
      if (!feroma::net::read_wire({reinterpret_cast<const char*>(chunk.bytes.data()), chunk.bytes.size()}, frame)) {
        return;  // the stream ends
      }
      chunk.kind % 3 == 0 ? session_->receive(frame) : say(frame);
    }
    read();
  }

 private:
  void say(v1::ClientFrame frame) {
    frame.set_session(nonce_);
    frame.set_counter(++counter_);
    session_->receive(frame);
  }

  void answer(std::span<const std::byte> bytes) {
    v1::ClientFrame head;
    head.mutable_answer()->set_round(task_.round());
    head.mutable_answer()->set_phase(task_.phase());
    head.mutable_answer()->set_task(task_.digest());
    head.mutable_answer()->set_size(bytes.size());
    head.mutable_answer()->set_digest(feroma::net::digest_of(bytes));
    say(head);
    if (!bytes.empty()) {
      v1::ClientFrame piece;
      piece.mutable_piece()->set_data(bytes.data(), bytes.size());
      say(piece);
    }
  }

  /// Reads what the server says. Who is welcome is given a task by the round's own thread, which may take a moment.
  void read() {
    const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(100);
    do {
      while (std::optional<v1::ServerFrame> frame = session_->next()) {
        session_->wrote();
        nonce_ = frame->session();
        if (frame->has_task()) {
          task_ = frame->task();
        }
      }
      std::this_thread::yield();
    } while (session_->client() == feroma::ClientId{0} && task_.digest().empty() && !session_->closing() && !waited_ &&
             std::chrono::steady_clock::now() < until);
    waited_ = session_->client().has_value();
  }

  feroma::Stop stop_;
  feroma::net::Hub hub_{{"job", "", tiny_model()->shared_layout(), true, 4, {}, after_two_rounds},
                        feroma::fuzz::one_answer_suffices(),
                        {},
                        stop_};
  std::shared_ptr<feroma::net::Session> session_;
  std::string nonce_;
  std::uint64_t counter_ = 0;
  bool waited_ = false;
  v1::Task task_;
  std::jthread round_;  // last: it ends before what it works on
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  google::protobuf::SetLogHandler(nullptr);  // it writes about every text that is none
  feroma::fuzz::Chunks chunks(feroma::fuzz::bytes_of(data, size));
  return feroma::fuzz::guarded([&] {
    FrameConversation conversation;
    while (const std::optional<Chunk> chunk = chunks.next()) {
      conversation.hear(*chunk);
    }
  });
}
