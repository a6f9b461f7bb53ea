#pragma once

#include <optional>
#include <string>

#include "net/flower_dialect.h"
#include "net/session.h"

namespace feroma::net {

/// What a Flower peer was sent and has shown of itself; kept as long as its connection.
struct FlowerPeer {
  std::optional<Extractor> extractor;
  bool profiles = true;  ///< false once it has shown that it makes none
  bool scores = true;    ///< false once it has shown that it tells no accuracy
};

/// An answer to the hub, and the bytes that follow it in pieces.
struct FlowerReply {
  v1::Answer head;
  Bytes bytes;
};

/**
 * One task of the hub's, put to a Flower peer as one request after another: a model is scored, trained and scored
 * again; for a profile it is one fit. What the peer gets wrong becomes an answer that says why there is none.
 */
class FlowerJob {
 public:
  /// The dialect and the peer outlive the job.
  FlowerJob(v1::Task task, Message request, const FlowerDialect& dialect, FlowerPeer& peer);

  [[nodiscard]] const v1::Task& task() const { return task_; }
  /// The next request; absent once there is a reply.
  [[nodiscard]] std::optional<flower::ServerMessage> next();
  /// Whether this is the kind of answer that the last request asks for.
  [[nodiscard]] bool expects(const flower::ClientMessage& message) const;
  void take(const flower::ClientMessage& message);
  [[nodiscard]] const std::optional<FlowerReply>& reply() const { return reply_; }

 private:
  enum class Step { score_before, fit, score_after, profile };

  /// How a model does on the peer's own samples.
  struct Score {
    double loss = 0;
    double accuracy = 0;  ///< 0..1
    std::int64_t count = 0;
  };

  [[nodiscard]] flower::ServerMessage ask_score(const Parameters& model) const;
  [[nodiscard]] flower::ServerMessage ask_fit() const;
  [[nodiscard]] std::optional<flower::ServerMessage> ask_profile();
  [[nodiscard]] std::optional<Score> read_score(const flower::ClientMessage::EvaluateRes& result);
  void take_fit(const flower::ClientMessage::FitRes& result);
  void take_profile(const flower::ClientMessage::FitRes& result);
  void take_counts(const flower::ClientMessage::FitRes& result);
  /// The answer to a training task, from all that is known now.
  void conclude();
  void answer(const Message& message);
  void give_up(const std::string& why);

  const v1::Task task_;
  const Message request_;
  const FlowerDialect& dialect_;
  FlowerPeer& peer_;
  Step step_;
  std::optional<Score> before_;
  std::optional<Score> after_;
  ParametersPtr trained_;
  std::int64_t num_examples_ = 0;
  double train_loss_ = 0;
  double latent_max_ = 0;
  std::optional<FlowerReply> reply_;
};

}  // namespace feroma::net
