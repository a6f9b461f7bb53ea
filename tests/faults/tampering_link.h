#pragma once

#include <functional>
#include <mutex>

#include "feroma/net/codec.h"
#include "tests/faults/probe.h"

namespace feroma::faults {

/// The connection of a client that lies: answers are changed on their way, with sizes and digests that fit the lie.
class TamperingLink final : public net::ServerLink {
 public:
  struct Subject {
    std::uint32_t client = 0;
    Round round = 0;
    int phase = 0;
  };
  using Tamper = std::function<void(const Subject&, const Message& received, Message& answer)>;

  TamperingLink(Hub& hub, std::uint32_t client, std::shared_ptr<const ParamLayout> layout, Tamper tamper)
      : pipe_(hub), client_(client), layout_(std::move(layout)), tamper_(std::move(tamper)) {}

  bool send(const v1::ClientFrame& frame) override {
    if (frame.has_answer() && frame.answer().size() > 0) {
      held_ = {frame};
      bytes_.clear();
      return true;
    }
    if (!frame.has_piece()) {
      return pass(frame);
    }
    held_.push_back(frame);
    const auto piece = std::as_bytes(std::span(frame.piece().data()));
    bytes_.insert(bytes_.end(), piece.begin(), piece.end());
    return bytes_.size() < held_.front().answer().size() || send_lie();
  }
  bool receive(v1::ServerFrame& frame) override {
    const bool got = pipe_.receive(frame);
    if (got && frame.has_task()) {
      task_size_ = frame.task().size();
      task_.clear();
    } else if (got && frame.has_piece()) {
      const auto piece = std::as_bytes(std::span(frame.piece().data()));
      task_.insert(task_.end(), piece.begin(), piece.end());
      if (task_.size() == task_size_) {
        const std::lock_guard lock(mutex_);
        received_ = decode_message(task_, layout_, "a task");
      }
    }
    return got;
  }
  void cancel() override { pipe_.cancel(); }

 private:
  bool send_lie() {
    Message message = decode_message(bytes_, layout_, "an honest answer");
    const v1::Answer& honest = held_.front().answer();
    {
      const std::lock_guard lock(mutex_);
      tamper_({client_, honest.round(), honest.phase()}, received_, message);
    }
    const Bytes lie = encode_message(message, *layout_);
    v1::ClientFrame head = held_.front();
    head.mutable_answer()->set_size(lie.size());
    head.mutable_answer()->set_digest(net::digest_of(lie));
    bool sent = pass(head);
    for (v1::ClientFrame piece : Probe::pieces_of(lie)) {
      piece.set_session(head.session());
      sent = sent && pass(piece);
    }
    return sent;
  }
  /// A lie may have more or fewer frames than what the client sent.
  bool pass(v1::ClientFrame frame) {
    frame.set_counter(++counter_);
    return pipe_.send(frame);
  }

  Pipe pipe_;
  std::uint32_t client_;
  std::shared_ptr<const ParamLayout> layout_;
  Tamper tamper_;
  std::vector<v1::ClientFrame> held_;
  Bytes bytes_;
  std::uint64_t counter_ = 0;
  Bytes task_;
  std::size_t task_size_ = 0;
  std::mutex mutex_;  ///< of what the reader has and the writer uses
  Message received_;
};

}  // namespace feroma::faults
