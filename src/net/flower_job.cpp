#include "net/flower_job.h"

#include <cmath>

#include "feroma/algorithms/answers.h"
#include "feroma/core/error.h"
#include "feroma/net/codec.h"
#include "net/flower_tensors.h"

namespace feroma::net {

FlowerJob::FlowerJob(v1::Task task, Message request, const FlowerDialect& dialect, FlowerPeer& peer)
    : task_(std::move(task)),
      request_(std::move(request)),
      dialect_(dialect),
      peer_(peer),
      step_(!request_.has("model") ? Step::profile : (peer.scores ? Step::score_before : Step::fit)) {}

std::optional<flower::ServerMessage> FlowerJob::next() {
  if (reply_) {
    return std::nullopt;
  }
  switch (step_) {
    case Step::score_before: return ask_score(*request_.model("model"));
    case Step::fit: return ask_fit();
    case Step::score_after: return ask_score(*trained_);
    case Step::profile: return ask_profile();
  }
  unreachable();
}

bool FlowerJob::expects(const flower::ClientMessage& message) const {
  return step_ == Step::fit || step_ == Step::profile ? message.has_fit_res() : message.has_evaluate_res();
}

void FlowerJob::take(const flower::ClientMessage& message) {
  switch (step_) {
    case Step::score_before:
      before_ = read_score(message.evaluate_res());
      step_ = Step::fit;
      return;
    case Step::fit: take_fit(message.fit_res()); return;
    case Step::score_after:
      after_ = read_score(message.evaluate_res());
      latent_max_ = std::max(0.0, number_in(message.evaluate_res().metrics(), "max_latent_space").value_or(0));
      conclude();
      return;
    case Step::profile: take_profile(message.fit_res()); return;
  }
}

flower::ServerMessage FlowerJob::ask_score(const Parameters& model) const {
  flower::ServerMessage message;
  auto& evaluate = *message.mutable_evaluate_ins();
  *evaluate.mutable_parameters() = to_flower(model);
  describe_round(*evaluate.mutable_config(), dialect_, task_.round());
  return message;
}

flower::ServerMessage FlowerJob::ask_fit() const {
  flower::ServerMessage message;
  auto& fit = *message.mutable_fit_ins();
  *fit.mutable_parameters() = to_flower(*request_.model("model"));
  describe_round(*fit.mutable_config(), dialect_, task_.round());
  put(*fit.mutable_config(), "extract_descriptors", false);
  put(*fit.mutable_config(), "fedavg", !peer_.extractor.has_value());  // until there are profiles
  return message;
}

std::optional<flower::ServerMessage> FlowerJob::ask_profile() {
  if (!dialect_.profiles) {
    give_up("it was asked for a profile, which this method has not");
    return std::nullopt;
  }
  if (request_.has("projector.components")) {
    peer_.extractor = extractor_from(request_, dialect_.profiles->width);
  }
  if (!peer_.extractor || peer_.extractor->encoder == nullptr) {
    give_up("it came after the encoder was sent; it gets it in the next round");
    return std::nullopt;
  }
  if (!peer_.profiles) {
    answer({{{"unprofiled", Ints{1}}}});
    return std::nullopt;
  }
  flower::ServerMessage message;
  auto& fit = *message.mutable_fit_ins();
  *fit.mutable_parameters() = to_flower(*peer_.extractor->encoder);
  describe_round(*fit.mutable_config(), dialect_, task_.round());
  put(*fit.mutable_config(), "fedavg", false);
  ask_for_profile(*fit.mutable_config(), *dialect_.profiles, peer_.extractor->projector);
  return message;
}

std::optional<FlowerJob::Score> FlowerJob::read_score(const flower::ClientMessage::EvaluateRes& result) {
  const std::optional<double> accuracy = number_in(result.metrics(), "accuracy");
  if (result.status().code() == flower::EVALUATE_NOT_IMPLEMENTED || !accuracy) {
    peer_.scores = false;
  }
  const bool sensible = result.status().code() == flower::OK && std::isfinite(result.loss()) && accuracy &&
                        *accuracy >= 0 && *accuracy <= 1 && result.num_examples() >= 0 &&
                        result.num_examples() <= kMostExamples;
  // Scores are for the record, and a help at most: a peer without them takes part all the same.
  return sensible ? std::optional<Score>({static_cast<double>(result.loss()), *accuracy, result.num_examples()})
                  : std::nullopt;
}

void FlowerJob::take_counts(const flower::ClientMessage::FitRes& result) {
  num_examples_ = result.num_examples();
  require(num_examples_ >= 1 && num_examples_ <= kMostExamples, ErrorCode::invalid_data,
          "[flower] num_examples must be in 1..{}, got {}", kMostExamples, num_examples_);
  const std::optional<double> loss = number_in(result.metrics(), "train_loss");
  train_loss_ = loss.value_or(number_in(result.metrics(), "loss").value_or(0));
}

void FlowerJob::take_fit(const flower::ClientMessage::FitRes& result) {
  if (result.status().code() != flower::OK) {
    give_up(fmt::format("its fit failed: {}", result.status().message()));
    return;
  }
  try {
    take_counts(result);
    trained_ = share(from_flower(result.parameters(), dialect_.layout, "[flower] what it trained"));
  } catch (const Error& error) {
    give_up(error.what());
    return;
  }
  step_ = Step::score_after;
  if (!peer_.scores) {
    conclude();
  }
}

void FlowerJob::take_profile(const flower::ClientMessage::FitRes& result) {
  try {
    const std::optional<Floats> profile =
        result.status().code() == flower::OK
            ? profile_in(result.metrics(), *dialect_.profiles, peer_.extractor->projector)
            : std::nullopt;
    if (!profile) {
      // It trains like any other client of Flower's, and is not asked again.
      peer_.profiles = false;
      answer({{{"unprofiled", Ints{1}}}});
      return;
    }
    take_counts(result);
    answer({{{"profile", *profile}, {"num_samples", Ints{num_examples_}}}});
  } catch (const Error& error) {
    give_up(error.what());
  }
}

void FlowerJob::conclude() {
  Message message{{{"model", trained_}, {"num_examples", Ints{num_examples_}}}};
  if (dialect_.profiles) {
    const FeromaExtras& wanted =
        task_.task() >= kWarmingTask ? dialect_.profiles->warming_extras : dialect_.profiles->extras;
    const auto hits = [](const std::optional<Score>& score) {
      return score ? std::llround(score->accuracy * static_cast<double>(score->count)) : 0;
    };
    if (wanted.held_out) {
      message.values["held_out"] = Ints{hits(after_), after_ ? after_->count : 0};
    }
    if (wanted.gain) {
      message.values["gain"] = Ints{before_ && after_ ? hits(after_) - hits(before_) : 0};
    }
    if (wanted.latent_max) {
      message.values["latent_max"] = Floats{static_cast<float>(std::min(latent_max_, 1e30))};
    }
  }
  answer(message);
}

void FlowerJob::answer(const Message& message) {
  give_up("");
  reply_->bytes = encode_message(message, *dialect_.layout);
  v1::Answer& head = reply_->head;
  head.set_size(reply_->bytes.size());
  head.set_digest(digest_of(reply_->bytes));
  head.mutable_telemetry()->set_num_examples(num_examples_);
  head.mutable_telemetry()->set_train_loss(train_loss_);
  const auto fill = [](v1::Score& into, const std::optional<Score>& score) {
    into.set_loss(score ? score->loss : 0);
    into.set_accuracy(score ? 100 * score->accuracy : 0);
    into.set_count(score ? score->count : 0);
  };
  fill(*head.mutable_telemetry()->mutable_before(), before_);
  fill(*head.mutable_telemetry()->mutable_after(), after_);
}

void FlowerJob::give_up(const std::string& why) {
  reply_.emplace();
  v1::Answer& head = reply_->head;
  head.set_round(task_.round());
  head.set_phase(task_.phase());
  head.set_task(task_.digest());
  head.set_failed(printable(why));
}

}  // namespace feroma::net
