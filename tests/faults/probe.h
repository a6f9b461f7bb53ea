#pragma once

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/net/pipe.h"

namespace feroma::faults {

using net::Hub;
using net::kPieceSize;
using net::Parcel;
using net::Peer;
using net::test::Pipe;

/// A client that says what the test wants. Every frame that it sends can be had again, as bytes.
class Probe {
 public:
  explicit Probe(Hub& hub, std::uint32_t id = 0, const std::string& name = "")
      : pipe_(hub, {"probe", static_cast<ClientId>(id), name}) {
    v1::ClientFrame frame;
    frame.mutable_hello()->set_protocol(net::kProtocol);
    frame.mutable_hello()->set_id(id);
    say(std::move(frame));
    session_ = expect().session();
  }

  /// Numbers a frame and sends it.
  void say(v1::ClientFrame frame) {
    seal(frame);
    sent_.push_back(frame.SerializeAsString());
    say_as_it_is(frame);
  }
  /// Session and number that the next frame must have.
  void seal(v1::ClientFrame& frame) {
    frame.set_session(session_);
    frame.set_counter(++counter_);
  }
  void say_as_it_is(const v1::ClientFrame& frame) { static_cast<void>(pipe_.send(frame)); }
  v1::ServerFrame expect() {
    v1::ServerFrame frame;
    EXPECT_TRUE(pipe_.receive(frame));
    return frame;
  }
  /// The reason with which the server ends the connection, or judges an answer; tasks and echoes are passed over.
  v1::Reason reaction() {
    v1::ServerFrame frame;
    while (pipe_.receive(frame)) {
      if (frame.has_goodbye()) {
        return frame.goodbye().reason();
      }
      if (frame.has_verdict()) {
        return frame.verdict().reason();
      }
    }
    return v1::REASON_UNSPECIFIED;
  }
  void beat() {
    v1::ClientFrame frame;
    frame.mutable_beat()->set_echo(1);
    say(std::move(frame));
  }
  /// Reads up to the next task and what belongs to it.
  v1::Task task() {
    v1::ServerFrame frame = expect();
    while (!frame.has_task() && !frame.has_goodbye()) {
      frame = expect();
    }
    for (std::size_t got = 0; got < frame.task().size();) {
      got += expect().piece().data().size();
    }
    return frame.task();
  }
  static v1::ClientFrame head_of(const v1::Task& task, const Bytes& bytes) {
    v1::ClientFrame frame;
    v1::Answer& head = *frame.mutable_answer();
    head.set_round(task.round());
    head.set_phase(task.phase());
    head.set_task(task.digest());
    head.set_size(bytes.size());
    head.set_digest(net::digest_of(bytes));
    return frame;
  }
  static std::vector<v1::ClientFrame> pieces_of(const Bytes& bytes) {
    std::vector<v1::ClientFrame> pieces;
    for (std::size_t begin = 0; begin < bytes.size(); begin += kPieceSize) {
      pieces.emplace_back().mutable_piece()->set_data(bytes.data() + begin, std::min(kPieceSize, bytes.size() - begin));
    }
    return pieces;
  }
  v1::Verdict answer(const v1::Task& task, const Bytes& bytes) {
    say(head_of(task, bytes));
    for (v1::ClientFrame& piece : pieces_of(bytes)) {
      say(std::move(piece));
    }
    v1::ServerFrame frame = expect();
    while (!frame.has_verdict() && !frame.has_goodbye()) {
      frame = expect();
    }
    return frame.verdict();
  }

  [[nodiscard]] const std::vector<std::string>& sent() const { return sent_; }
  [[nodiscard]] Pipe& pipe() { return pipe_; }

 private:
  Pipe pipe_;
  std::string session_;
  std::uint64_t counter_ = 0;
  std::vector<std::string> sent_;
};

}  // namespace feroma::faults
