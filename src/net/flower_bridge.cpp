#include "net/flower_bridge.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "feroma/core/error.h"
#include "feroma/net/codec.h"

namespace feroma::net {
namespace {

/// What Flower's clients call themselves.
std::optional<std::int64_t> claimed_id(const Scalars& properties) {
  for (const char* key : {"cid", "partition-id", "partition_id", "client_id"}) {
    if (const std::optional<std::int64_t> id = integer_in(properties, key)) {
      return id;
    }
  }
  return std::nullopt;
}

bool is_same(const v1::Task& a, const v1::Task& b) {
  return a.round() == b.round() && a.phase() == b.phase() && a.digest() == b.digest();
}

}  // namespace

FlowerBridge::FlowerBridge(Hub& hub, FlowerIds& ids, const FlowerDialect& dialect, Options options,
                           std::function<void()> wake)
    : hub_(hub),
      ids_(ids),
      dialect_(dialect),
      options_(std::move(options)),
      wake_(std::move(wake)),
      session_(hub.connect(Peer{options_.address, std::nullopt, "flower"}, wake_)) {}

void FlowerBridge::receive(const flower::ClientMessage& message) {
  std::optional<v1::Hello> hello;
  std::optional<FlowerReply> reply;
  {
    const std::lock_guard lock(mutex_);
    if (closing_ || aborted_) {
      return;  // what follows a goodbye is not read
    }
    try {
      read_frames();
      reply = handle(message);
    } catch (const std::exception& error) {
      abort(error);
    }
    hello = std::exchange(hello_, std::nullopt);
  }
  if (hello) {
    greet(*hello);
  }
  if (reply) {
    deliver(*reply);
  }
  wake_();
}

void FlowerBridge::receive_unreadable() {
  receive_failed(Error(ErrorCode::invalid_data, "what arrived is no message"));
}

void FlowerBridge::receive_failed(const std::exception& error) {
  {
    const std::lock_guard lock(mutex_);
    if (closing_ || aborted_) {
      return;
    }
    abort(error);
  }
  wake_();
}

std::optional<flower::ServerMessage> FlowerBridge::next() {
  std::optional<FlowerReply> reply;
  std::optional<flower::ServerMessage> message;
  {
    const std::lock_guard lock(mutex_);
    try {
      read_frames();
      message = request(reply);
    } catch (const std::exception& error) {
      abort(error);
    }
    if (message) {
      write_ends_by_ = options_.pace.clock->now() + options_.pace.allowance(message->ByteSizeLong());
    }
  }
  if (reply) {
    deliver(*reply);
  }
  return message;
}

void FlowerBridge::wrote() {
  const std::lock_guard lock(mutex_);
  write_ends_by_.reset();
}

bool FlowerBridge::closing() const {
  const std::lock_guard lock(mutex_);
  return closing_;
}

bool FlowerBridge::aborted() const {
  const std::lock_guard lock(mutex_);
  return aborted_ || session_->aborted();
}

void FlowerBridge::disconnected() {
  session_->disconnected();
  const std::lock_guard lock(mutex_);
  closing_ = true;
  write_ends_by_.reset();
  // Only now: the hub has let go of the client.
  if (id_) {
    ids_.give_back(*std::exchange(id_, std::nullopt));
  }
}

void FlowerBridge::read_frames() {
  while (std::optional<v1::ServerFrame> frame = session_->next()) {
    session_->wrote();
    switch (frame->kind_case()) {
      case v1::ServerFrame::kWelcome: nonce_ = frame->session(); break;
      case v1::ServerFrame::kTask: arriving_ = Arriving{frame->task(), {}}; break;
      case v1::ServerFrame::kPiece: {
        const auto bytes = std::as_bytes(std::span(frame->piece().data()));
        arriving_->bytes.insert(arriving_->bytes.end(), bytes.begin(), bytes.end());
        if (arriving_->bytes.size() == arriving_->task.size()) {
          take_task(std::move(*arriving_));
          arriving_.reset();
        }
        break;
      }
      case v1::ServerFrame::kGoodbye: take_goodbye(frame->goodbye()); break;
      case v1::ServerFrame::kVerdict:  // the hub has logged what it refused
      case v1::ServerFrame::kCommitted:
      case v1::ServerFrame::kBeat:
      case v1::ServerFrame::KIND_NOT_SET: break;
    }
  }
}

void FlowerBridge::take_task(Arriving arrived) {
  waiting_.reset();
  if (!job_ || !is_same(job_->task(), arrived.task)) {  // else it is being done
    waiting_.emplace(arrived.task, decode_message(arrived.bytes, dialect_.layout, "a task"), dialect_, peer_);
  }
}

void FlowerBridge::take_goodbye(const v1::Goodbye& goodbye) {
  waiting_.reset();
  if (goodbye.reason() == v1::FINISHED) {
    say_goodbye(0);
  } else if (goodbye.reason() == v1::SHUTTING_DOWN) {
    say_goodbye(options_.restart_seconds);
  } else {  // the hub has written why
    say_goodbye(goodbye.retry_seconds());
  }
}

void FlowerBridge::say_goodbye(double seconds) { goodbye_ = static_cast<std::int64_t>(std::ceil(seconds)); }

void FlowerBridge::abort(v1::Reason reason, const std::string& why) {
  hub_.refused(*session_, {reason, why, 0});
  aborted_ = true;
}

void FlowerBridge::abort(const std::exception& error) {
  // Memory that could not be had, most likely. The transport must not see it: it would never end the stream.
  const auto* known = dynamic_cast<const Error*>(&error);
  abort(known != nullptr && known->code() == ErrorCode::invalid_data ? v1::MALFORMED : v1::UNAVAILABLE, error.what());
}

std::optional<flower::ServerMessage> FlowerBridge::request(std::optional<FlowerReply>& reply) {
  if (closing_ || aborted_ || busy_) {
    return std::nullopt;
  }
  flower::ServerMessage message;
  if (goodbye_) {
    closing_ = true;
    message.mutable_reconnect_ins()->set_seconds(*goodbye_);
    return message;
  }
  if (!std::exchange(introduced_, true)) {
    busy_ = true;
    message.mutable_get_properties_ins();
    return message;
  }
  if (waiting_) {
    job_.reset();
    job_.emplace(std::move(*waiting_));
    waiting_.reset();
  }
  if (!job_) {
    return std::nullopt;
  }
  std::optional<flower::ServerMessage> asked = job_->next();
  busy_ = asked.has_value();
  if (!asked) {
    reply = job_->reply();
    job_.reset();
  }
  return asked;
}

std::optional<FlowerReply> FlowerBridge::handle(const flower::ClientMessage& message) {
  if (message.has_disconnect_res()) {
    say_goodbye(0);  // it goes by itself
    busy_ = false;
    return std::nullopt;
  }
  const bool expected = busy_ && (job_ ? job_->expects(message) : message.has_get_properties_res());
  if (!expected) {
    abort(v1::MALFORMED,
          busy_ ? "it answered another question than it was asked" : "it answered what it was not asked");
    return std::nullopt;
  }
  busy_ = false;
  if (!job_) {
    identify(message.get_properties_res());
    return std::nullopt;
  }
  if (waiting_) {
    job_.reset();  // the hub has gone on: what it asked before is of no use to it any more
    return std::nullopt;
  }
  job_->take(message);
  std::optional<FlowerReply> reply = job_->reply();
  if (reply) {
    job_.reset();
  }
  return reply;
}

void FlowerBridge::identify(const flower::ClientMessage::GetPropertiesRes& properties) {
  const bool tells = properties.status().code() == flower::OK;
  std::variant<ClientId, Refusal> taken;
  try {
    taken = ids_.take(tells ? claimed_id(properties.properties()) : std::nullopt);
  } catch (const Error& error) {
    taken = Refusal{v1::UNAVAILABLE, error.what(), 1};  // the list of clients cannot be read
  }
  const auto* refusal = std::get_if<Refusal>(&taken);
  if (options_.judged) {
    options_.judged(refusal == nullptr);
  }
  if (refusal != nullptr) {
    hub_.refused(*session_, *refusal);
    say_goodbye(refusal->retry_seconds);
    return;
  }
  id_ = std::get<ClientId>(taken);
  hello_.emplace();
  hello_->set_protocol(kProtocol);
  hello_->set_software("flower");
  hello_->set_id(to_index(*id_));
}

void FlowerBridge::greet(const v1::Hello& hello) {
  const std::lock_guard lock(sending_);
  v1::ClientFrame frame;
  *frame.mutable_hello() = hello;
  send(std::move(frame));
}

void FlowerBridge::deliver(const FlowerReply& reply) {
  const std::lock_guard lock(sending_);
  v1::ClientFrame frame;
  *frame.mutable_answer() = reply.head;
  send(std::move(frame));
  for (std::size_t begin = 0; begin < reply.bytes.size(); begin += kPieceSize) {
    v1::ClientFrame piece;
    piece.mutable_piece()->set_data(reply.bytes.data() + begin, std::min(kPieceSize, reply.bytes.size() - begin));
    send(std::move(piece));
  }
}

bool FlowerBridge::give_up_if_overdue() {
  const std::lock_guard lock(mutex_);
  const bool overdue = !aborted_ && write_ends_by_ && options_.pace.clock->now() > *write_ends_by_;
  if (overdue) {
    abort(v1::TOO_SLOW, "it does not take what it is sent");
  }
  return overdue;
}

void FlowerBridge::beat() {
  if (give_up_if_overdue()) {
    wake_();
    return;
  }
  {
    const std::lock_guard lock(mutex_);
    if (nonce_.empty() || closing_ || aborted_) {
      return;  // who does not say who it is, is given up like anybody else
    }
  }
  // Where the lock is taken an answer is on its way, and the client is heard anyway.
  const std::unique_lock lock(sending_, std::try_to_lock);
  if (lock) {
    v1::ClientFrame frame;
    frame.mutable_beat()->set_echo(1);
    send(std::move(frame));
  }
}

void FlowerBridge::send(v1::ClientFrame frame) {
  {
    const std::lock_guard lock(mutex_);
    frame.set_session(nonce_);
  }
  frame.set_counter(++sent_);
  session_->receive(frame);
}

}  // namespace feroma::net
