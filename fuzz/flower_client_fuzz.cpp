// A Flower client that says anything to our server in the middle of a round. Chunks are messages as they are (kind 0),
// messages that change the usual answer to what was asked (1), usual answers whose first tensor is the chunk (2), and
// messages whose metrics are read as a profile (3).
#include <google/protobuf/stubs/logging.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "fuzz/chunks.h"
#include "fuzz/one_round.h"
#include "net/flower_bridge.h"
#include "net/flower_tensors.h"
#include "net/wire.h"

namespace {

namespace flower = feroma::net::flower;
using feroma::fuzz::Chunk;
using feroma::fuzz::tiny_model;

const feroma::net::FlowerDialect& dialect() {
  static const feroma::net::FlowerDialect only = [] {
    feroma::net::FlowerDialect dialect;
    dialect.layout = tiny_model()->shared_layout();
    dialect.rounds = 3;
    return dialect;
  }();
  return only;
}

/// What a plain client answers.
flower::ClientMessage usual(const flower::ServerMessage& asked) {
  flower::ClientMessage message;
  if (asked.has_fit_ins()) {
    *message.mutable_fit_res()->mutable_parameters() = asked.fit_ins().parameters();
    message.mutable_fit_res()->set_num_examples(7);
  } else if (asked.has_evaluate_ins()) {
    message.mutable_evaluate_res()->set_loss(0.5F);
    message.mutable_evaluate_res()->set_num_examples(10);
    feroma::net::put(*message.mutable_evaluate_res()->mutable_metrics(), "accuracy", 0.3);
  } else {
    message.mutable_get_properties_res()->mutable_status()->set_code(flower::GET_PROPERTIES_NOT_IMPLEMENTED);
  }
  return message;
}

void read_profile(const flower::ClientMessage& message) {
  static const feroma::net::FlowerProfiles profiles{feroma::ProfileShape{2, 2, 2, true}, 4};
  static const feroma::Projector projector = feroma::orthonormal_projector(4, 2, feroma::Rng(1));
  const auto profile = feroma::net::profile_in(message.fit_res().metrics(), profiles, projector);
  feroma::fuzz::expect(!profile || profile->size() == profiles.shape.size(), "a profile is as long as all of them");
}

/// A server with one round going on, and the connection of one peer.
class Conversation {
 public:
  Conversation() : round_([this] { feroma::fuzz::run_one_round(hub_); }) {}
  ~Conversation() {
    stop_.request();
    bridge_.disconnected();
  }

  void hear(const Chunk& chunk) {
    flower::ClientMessage message;
    listen();
    if (chunk.kind % 4 == 2) {
      message = usual(asked_);
      if (message.fit_res().parameters().tensors_size() > 0) {
        message.mutable_fit_res()->mutable_parameters()->mutable_tensors(0)->assign(
            reinterpret_cast<const char*>(chunk.bytes.data()), chunk.bytes.size());
      }
    } else if (!feroma::net::read_wire({reinterpret_cast<const char*>(chunk.bytes.data()), chunk.bytes.size()},
                                       message)) {
      return;  // the stream ends
    }
    if (chunk.kind % 4 == 3) {
      feroma::fuzz::guarded([&] { read_profile(message); });
      return;
    }
    if (chunk.kind % 4 == 1) {
      flower::ClientMessage changed = usual(asked_);
      changed.MergeFrom(message);
      message = std::move(changed);
    }
    bridge_.receive(message);
  }

 private:
  /// Waits for the next question. Who is let in is given a task by the round's own thread, which may take a moment.
  void listen() {
    const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(100);
    do {
      if (std::optional<flower::ServerMessage> asked = bridge_.next()) {
        asked_ = std::move(*asked);
        waited_ = waited_ || asked_.has_evaluate_ins() || asked_.has_fit_ins();
        return;
      }
      std::this_thread::yield();
    } while (hub_.is_present(feroma::ClientId{0}) && !waited_ && !bridge_.closing() && !bridge_.aborted() &&
             std::chrono::steady_clock::now() < until);
    waited_ = waited_ || hub_.is_present(feroma::ClientId{0});
  }

  feroma::Stop stop_;
  feroma::net::Hub hub_{
      {"job", "", tiny_model()->shared_layout(), true, 4}, feroma::fuzz::one_answer_suffices(), {}, stop_};
  feroma::net::FlowerIds ids_{hub_, 4, {}};
  feroma::net::FlowerBridge bridge_{hub_, ids_, dialect(), {"fuzz", 20}, [] {}};
  flower::ServerMessage asked_;
  bool waited_ = false;
  std::jthread round_;  // last: it ends before what it works on
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  google::protobuf::SetLogHandler(nullptr);  // it writes about every text that is none
  feroma::fuzz::Chunks chunks(feroma::fuzz::bytes_of(data, size));
  return feroma::fuzz::guarded([&] {
    Conversation conversation;
    while (const std::optional<Chunk> chunk = chunks.next()) {
      conversation.hear(*chunk);
    }
  });
}
