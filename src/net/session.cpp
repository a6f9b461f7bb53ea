#include "net/session.h"

#include <algorithm>

#include "feroma/core/error.h"
#include "feroma/core/fault_point.h"
#include "feroma/core/files.h"

namespace feroma::net {
namespace {

constexpr std::size_t kLongestText = 200;
/// Frames that may wait to be written. Whoever asks for more without reading any is not a client of ours.
constexpr std::size_t kMostWaiting = 64;

}  // namespace

std::string digest_of(std::span<const std::byte> bytes) {
  const std::string hex = sha256(bytes);
  const auto nibble = [](char c) { return static_cast<unsigned>(c <= '9' ? c - '0' : c - 'a' + 10); };
  std::string raw;
  for (std::size_t i = 0; i < hex.size(); i += 2) {
    raw.push_back(static_cast<char>(nibble(hex[i]) * 16 + nibble(hex[i + 1])));
  }
  return raw;
}

std::string printable(std::string_view text) {
  std::string shown(text.substr(0, kLongestText));
  std::replace_if(
      shown.begin(), shown.end(), [](char c) { return c < ' ' || c > '~'; }, '?');
  return shown;
}

Parcel make_parcel(Bytes bytes) {
  std::string digest = digest_of(bytes);
  return {std::make_shared<const Bytes>(std::move(bytes)), std::move(digest)};
}

Assignment make_assignment(Round round, int phase, Bytes bytes) {
  Assignment assignment{{}, make_parcel(std::move(bytes))};
  assignment.task.set_round(round);
  assignment.task.set_phase(phase);
  assignment.task.set_size(assignment.parcel.bytes->size());
  assignment.task.set_digest(assignment.parcel.digest);
  return assignment;
}

Origin Origin::of(const v1::Hello& hello) {
  return hello.process().size() == kSessionSize ? Origin{hello.process(), hello.attempt()} : Origin{};
}

bool Origin::follows(const Origin& other) const {
  return !process.empty() && process == other.process && attempt > other.attempt;
}

TransferPace TransferPace::of(const ServerOptions& options) {
  return {Clock::seconds(options.transfer_seconds), options.bytes_per_second, options.clock};
}

Clock::duration TransferPace::allowance(std::size_t bytes) const {
  return base + Clock::seconds(static_cast<double>(bytes) / bytes_per_second);
}

Session::Session(SessionEvents& events, Peer peer, Limits limits, std::string nonce, std::function<void()> wake)
    : events_(events),
      peer_(std::move(peer)),
      limits_(limits),
      nonce_(std::move(nonce)),
      wake_(std::move(wake)),
      last_heard_(limits.pace.clock->now()) {}

void Session::receive(const v1::ClientFrame& frame) {
  attend([&] { handle(frame); });
}

void Session::receive_unreadable() {
  attend([] { throw Refusal{v1::MALFORMED, "what arrived is no frame"}; });
}

void Session::attend(const std::function<void()>& act) {
  {
    const std::lock_guard lock(mutex_);
    if (closing_) {
      return;  // what follows a goodbye is not read
    }
    last_heard_ = limits_.pace.clock->now();
  }
  try {
    act();
  } catch (const Refusal& refusal) {
    // Where it was sent away meanwhile, an answer that was cut off is no lie.
    if (!has_its_end()) {
      events_.refused(*this, refusal);
    }
    close(refusal);
  } catch (const std::exception& error) {
    receive_failed(error);  // the transport must not see it: it would never end the stream
  }
}

void Session::receive_failed(const std::exception& error) {
  const Refusal trouble{v1::UNAVAILABLE, printable(error.what()), 1};
  if (!has_its_end()) {
    events_.refused(*this, trouble);
  }
  abort(trouble);
}

void Session::check_freshness(const v1::ClientFrame& frame) {
  const std::lock_guard lock(mutex_);
  received_ += 1;
  if (frame.counter() != received_ || frame.session() != (greeted_ ? nonce_ : std::string())) {
    // It may come again: somebody on the wire must not be able to keep it out for good.
    throw Refusal{v1::REPLAYED, "a frame must carry its session and the next number", 1};
  }
  if (frame.has_hello() == greeted_) {
    throw Refusal{v1::MALFORMED, "a stream begins with one hello"};
  }
}

void Session::handle(const v1::ClientFrame& frame) {
  check_freshness(frame);
  switch (frame.kind_case()) {
    case v1::ClientFrame::kHello: events_.greet(shared_from_this(), frame.hello()); return;
    case v1::ClientFrame::kBeat: {
      fault_point("session.beat");
      v1::ServerFrame answer;
      answer.mutable_beat()->set_echo(frame.beat().echo());
      drop_waiting([](const v1::ServerFrame& waiting) { return waiting.has_beat(); });
      push(std::move(answer));
      return;
    }
    case v1::ClientFrame::kAnswer:
      check_size(frame.answer());
      if (auto whole = begin_answer(frame.answer(), events_.objection(*this, frame.answer()))) {
        deliver(std::move(*whole));
      }
      return;
    case v1::ClientFrame::kPiece:
      if (std::optional<Delivery> whole = take_piece(frame.piece())) {
        deliver(std::move(*whole));
      }
      return;
    case v1::ClientFrame::kGoodbye:
      events_.said_goodbye(*this, printable(frame.goodbye().text()));
      close({v1::REASON_UNSPECIFIED, "goodbye", 1});  // it may come again
      return;
    case v1::ClientFrame::KIND_NOT_SET: break;
  }
  throw Refusal{v1::MALFORMED, "a frame of no known kind"};
}

void Session::check_size(const v1::Answer& head) const {
  if (head.size() > limits_.largest) {
    throw Refusal{v1::TOO_LARGE, fmt::format("an answer has at most {} bytes, got {}", limits_.largest, head.size())};
  }
}

std::optional<Delivery> Session::begin_answer(const v1::Answer& head, std::optional<v1::Verdict> objection) {
  const std::lock_guard lock(mutex_);
  if (incoming_) {
    throw Refusal{v1::MALFORMED, "an answer began before the last one was whole"};
  }
  Delivery delivery{head, {}, std::move(objection)};
  delivery.head.set_failed(printable(head.failed()));
  if (head.size() == 0) {
    return delivery;
  }
  fault_point("session.answer_begun");
  incoming_ = Incoming{std::move(delivery), limits_.pace.clock->now()};
  return std::nullopt;
}

std::optional<Delivery> Session::take_piece(const v1::Piece& piece) {
  const std::lock_guard lock(mutex_);
  if (!incoming_) {
    throw Refusal{v1::MALFORMED, "a piece of nothing that was announced"};
  }
  Delivery& delivery = incoming_->delivery;
  if (piece.data().empty() || piece.data().size() > delivery.head.size() - incoming_->received) {
    throw Refusal{v1::MALFORMED, "a piece beyond the announced size, or empty"};
  }
  incoming_->received += piece.data().size();
  if (!delivery.objection) {
    const auto bytes = std::as_bytes(std::span(piece.data()));
    delivery.bytes.insert(delivery.bytes.end(), bytes.begin(), bytes.end());
  }
  if (incoming_->received < delivery.head.size()) {
    return std::nullopt;
  }
  std::optional<Delivery> whole(std::move(delivery));
  incoming_.reset();
  return whole;
}

void Session::deliver(Delivery delivery) {
  if (!delivery.objection && delivery.head.size() > 0 && digest_of(delivery.bytes) != delivery.head.digest()) {
    throw Refusal{v1::MALFORMED, "an answer's digest is not the announced one"};
  }
  fault_point("session.answer_whole");
  events_.deliver(*this, std::move(delivery));
}

void Session::push(v1::ServerFrame frame, Parcel parcel) {
  bool overflows = false;
  {
    const std::lock_guard lock(mutex_);
    if (closing_) {
      return;
    }
    outbox_.push_back({std::move(frame), std::move(parcel)});
    overflows = outbox_.size() > kMostWaiting;
    if (overflows) {
      outbox_.clear();
      closing_ = aborted_ = true;
    }
  }
  if (overflows) {
    events_.refused(*this, {v1::TOO_SLOW, fmt::format("{} frames wait for it to read them", kMostWaiting), 0.5});
  }
  wake_();
}

void Session::drop_waiting(const std::function<bool(const v1::ServerFrame&)>& which) {
  const std::lock_guard lock(mutex_);
  std::erase_if(outbox_, [&](const Outgoing& out) { return out.began == Clock::time_point() && which(out.frame); });
}

std::optional<v1::ServerFrame> Session::next() {
  const std::lock_guard lock(mutex_);
  if (outbox_.empty()) {
    return std::nullopt;
  }
  Outgoing& front = outbox_.front();
  const std::size_t whole = front.parcel.bytes == nullptr ? 0 : front.parcel.bytes->size();
  v1::ServerFrame frame;
  if (front.began == Clock::time_point()) {
    front.began = limits_.pace.clock->now();
    frame = std::move(front.frame);
  } else {
    const std::size_t count = std::min(kPieceSize, whole - front.sent);
    frame.mutable_piece()->set_data(front.parcel.bytes->data() + front.sent, count);
    front.sent += count;
  }
  if (front.sent == whole) {
    outbox_.pop_front();
  }
  frame.set_session(nonce_);
  frame.set_counter(++numbered_);
  writing_ = limits_.pace.clock->now();
  return frame;
}

void Session::wrote() {
  const std::lock_guard lock(mutex_);
  writing_.reset();
}

bool Session::closing() const {
  const std::lock_guard lock(mutex_);
  return closing_ && outbox_.empty();
}

void Session::disconnected() {
  {
    const std::lock_guard lock(mutex_);
    closing_ = true;
    outbox_.clear();
  }
  events_.left(*this);
}

void Session::welcome(const v1::Welcome& welcome) {
  {
    const std::lock_guard lock(mutex_);
    greeted_ = true;
  }
  v1::ServerFrame frame;
  *frame.mutable_welcome() = welcome;
  push(std::move(frame));
}

void Session::give(const v1::Task& task, Parcel parcel) {
  v1::ServerFrame frame;
  *frame.mutable_task() = task;
  drop_waiting([](const v1::ServerFrame& waiting) { return waiting.has_task(); });
  push(std::move(frame), std::move(parcel));
}

void Session::tell(const v1::Verdict& verdict) {
  v1::ServerFrame frame;
  *frame.mutable_verdict() = verdict;
  push(std::move(frame));
}

void Session::tell_committed(Round round, int phases) {
  v1::ServerFrame frame;
  frame.mutable_committed()->set_round(round);
  frame.mutable_committed()->set_phases(phases);
  push(std::move(frame));
}

bool Session::close(const Refusal& refusal) {
  {
    const std::lock_guard lock(mutex_);
    if (closing_) {
      return false;
    }
    // A task that was not begun is of no use any more; one half-way out must be left whole or the stream is unreadable.
    std::erase_if(outbox_,
                  [](const Outgoing& out) { return out.frame.has_task() && out.began == Clock::time_point(); });
    v1::ServerFrame frame;
    frame.mutable_goodbye()->set_reason(refusal.reason);
    frame.mutable_goodbye()->set_text(refusal.text);
    frame.mutable_goodbye()->set_retry_seconds(refusal.retry_seconds);
    outbox_.push_back({std::move(frame), {}});
    incoming_.reset();
    closing_ = true;
  }
  wake_();
  return true;
}

bool Session::abort(const Refusal& refusal) {
  const bool was_open = close(refusal);
  {
    const std::lock_guard lock(mutex_);
    aborted_ = true;
  }
  wake_();
  return was_open;
}

bool Session::aborted() const {
  const std::lock_guard lock(mutex_);
  return aborted_;
}

bool Session::has_its_end() const {
  const std::lock_guard lock(mutex_);
  return closing_;
}

Clock::time_point Session::last_heard() const {
  const std::lock_guard lock(mutex_);
  return last_heard_;
}

bool Session::overdue(Clock::time_point now) const {
  const std::lock_guard lock(mutex_);
  if (writing_ && now - *writing_ > limits_.pace.allowance(kPieceSize)) {
    return true;
  }
  if (!outbox_.empty()) {
    const Outgoing& front = outbox_.front();
    const std::size_t whole = front.parcel.bytes == nullptr ? 0 : front.parcel.bytes->size();
    if (front.began != Clock::time_point() && now - front.began > limits_.pace.allowance(whole)) {
      return true;
    }
  }
  return incoming_ && now - incoming_->began > limits_.pace.allowance(incoming_->delivery.head.size());
}

std::optional<ClientId> Session::client() const {
  const std::lock_guard lock(mutex_);
  return client_;
}

void Session::identify(ClientId client, Origin origin) {
  const std::lock_guard lock(mutex_);
  client_ = client;
  origin_ = std::move(origin);
}

Origin Session::origin() const {
  const std::lock_guard lock(mutex_);
  return origin_;
}

}  // namespace feroma::net
