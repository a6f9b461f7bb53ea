#include "net/intake.h"

#include <algorithm>

#include "feroma/core/error.h"

namespace feroma::net {

Ending lost(std::string text) { return {v1::REASON_UNSPECIFIED, std::move(text), 0.5}; }

std::optional<Saying> Intake::take(const v1::ServerFrame& frame) {
  received_ += 1;
  if (frame.session() != session_ || frame.counter() != received_) {
    return lost("the server sent a frame of another session or out of order");
  }
  switch (frame.kind_case()) {
    case v1::ServerFrame::kTask: return begin(frame.task());
    case v1::ServerFrame::kPiece: return add(frame.piece());
    case v1::ServerFrame::kCommitted: return frame.committed();
    case v1::ServerFrame::kVerdict: return frame.verdict();
    case v1::ServerFrame::kGoodbye:
      return Ending{frame.goodbye().reason(), printable(frame.goodbye().text()), frame.goodbye().retry_seconds()};
    case v1::ServerFrame::kBeat: return std::nullopt;
    case v1::ServerFrame::kWelcome:
    case v1::ServerFrame::KIND_NOT_SET: break;
  }
  return lost("the server sent a frame of no known kind");
}

std::optional<Saying> Intake::begin(const v1::Task& task) {
  if (task.size() == 0 || task.size() > largest_) {
    return lost(fmt::format("the server announced a task of {} bytes, at most {} are read", task.size(), largest_));
  }
  job_ = Job{task, {}};
  return std::nullopt;
}

std::optional<Saying> Intake::add(const v1::Piece& piece) {
  const auto bytes = std::as_bytes(std::span(piece.data()));
  if (!job_ || bytes.empty() || bytes.size() > job_->task.size() - job_->bytes.size()) {
    return lost("the server sent a piece of nothing that it announced");
  }
  job_->bytes.insert(job_->bytes.end(), bytes.begin(), bytes.end());
  if (job_->bytes.size() < job_->task.size()) {
    return std::nullopt;
  }
  if (digest_of(job_->bytes) != job_->task.digest()) {
    return lost("a task's digest is not the announced one");
  }
  std::optional<Saying> whole(std::move(*job_));
  job_.reset();
  return whole;
}

/// One frame's turn, from when it is the first of those that wait. A mutex alone is not fair: who lets go of it and
/// takes it again at once keeps the others out.
class Outbox::Turn {
 public:
  explicit Turn(Outbox& outbox) : outbox_(outbox) {
    std::unique_lock lock(outbox_.mutex_);
    const std::uint64_t own = outbox_.taken_++;
    outbox_.turned_.wait(lock, [&] { return outbox_.over_ == own; });
  }
  ~Turn() {
    const std::lock_guard lock(outbox_.mutex_);
    outbox_.over_ += 1;
    outbox_.turned_.notify_all();
  }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;

 private:
  Outbox& outbox_;
};

void Outbox::set_session(const std::string& session) {
  const Turn turn(*this);
  session_ = session;
}

bool Outbox::send(v1::ClientFrame frame) {
  const Turn turn(*this);
  frame.set_session(session_);
  frame.set_counter(++sent_);
  return link_.send(frame);
}

bool Outbox::send(const v1::Answer& head, const Bytes& bytes) {
  v1::ClientFrame frame;
  *frame.mutable_answer() = head;
  frame.mutable_answer()->set_size(bytes.size());
  if (!bytes.empty()) {
    frame.mutable_answer()->set_digest(digest_of(bytes));
  }
  bool sent = send(std::move(frame));
  for (std::size_t begin = 0; sent && begin < bytes.size(); begin += kPieceSize) {
    v1::ClientFrame piece;
    piece.mutable_piece()->set_data(bytes.data() + begin, std::min(kPieceSize, bytes.size() - begin));
    sent = send(std::move(piece));
    if (sent && progress_) {
      progress_();
    }
  }
  return sent;
}

std::variant<v1::Welcome, Ending> introduce(const v1::Hello& hello, ServerLink& link, Outbox& outbox,
                                            std::string& session) {
  v1::ClientFrame frame;
  *frame.mutable_hello() = hello;
  v1::ServerFrame first;
  if (!outbox.send(std::move(frame)) || !link.receive(first)) {
    return lost("the server does not answer");
  }
  if (first.has_goodbye()) {
    return Ending{first.goodbye().reason(), printable(first.goodbye().text()), first.goodbye().retry_seconds()};
  }
  if (first.counter() > 1) {
    return lost("the server's first word did not arrive");
  }
  const v1::Welcome& welcome = first.welcome();
  const bool sensible =
      welcome.committed() >= 0 && welcome.heartbeat_seconds() > 0 && welcome.heartbeat_seconds() < 3600;
  if (!first.has_welcome() || first.counter() != 1 || first.session().size() != kSessionSize || !sensible) {
    return Ending{v1::MALFORMED, "the server does not speak this protocol", 0};
  }
  session = first.session();
  outbox.set_session(session);
  return welcome;
}

}  // namespace feroma::net
