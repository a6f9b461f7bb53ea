#include "net/flower_worker.h"

#include <algorithm>

#include "algorithms/prox.h"
#include "feroma/algorithms/local_training.h"
#include "feroma/core/build_info.h"
#include "feroma/core/error.h"
#include "feroma/runtime/client_step.h"
#include "feroma/runtime/workers.h"
#include "net/flower_tensors.h"

namespace feroma::net {
namespace {

/// What a server may ask for in one fit, at most: a client must come back.
constexpr std::int64_t kMostEpochs = 10'000;
constexpr std::int64_t kLargestBatch = 1 << 20;

/// A whole number that the server may have sent under a name, in a range.
std::int64_t integer_or(const Scalars& config, const std::string& key, std::int64_t otherwise, std::int64_t least,
                        std::int64_t most) {
  const std::int64_t value = integer_in(config, key).value_or(otherwise);
  require(value >= least && value <= most, ErrorCode::invalid_data, "[flower] {} must be in {}..{}, got {}", key, least,
          most, value);
  return value;
}

double number_or(const Scalars& config, const std::string& key, double otherwise, Rule rule) {
  const double value = number_in(config, key).value_or(otherwise);
  require(rule.allows(value), ErrorCode::invalid_data, "[flower] {} must be {}, got {}", key, rule.text(), value);
  return value;
}

FitOptions fit_options(const Scalars& config, FitOptions fit) {
  fit.local_epochs = static_cast<int>(integer_or(config, "local_epochs", fit.local_epochs, 0, kMostEpochs));
  fit.batch_size = static_cast<int>(integer_or(config, "batch_size", fit.batch_size, 1, kLargestBatch));
  fit.learning_rate = number_or(config, "learning_rate", fit.learning_rate, above(0));
  fit.momentum = number_or(config, "momentum", fit.momentum, between(0, 1));
  return fit;
}

/// Which round it is, as servers name it.
std::optional<Round> round_in(const Scalars& config) {
  for (const char* key : {"current_round", "server_round", "round"}) {
    const std::optional<std::int64_t> round = integer_in(config, key);
    if (round && *round >= 1 && *round <= std::numeric_limits<Round>::max()) {
      return static_cast<Round>(*round);
    }
  }
  return std::nullopt;
}

}  // namespace

/// The model and what trains it.
struct FlowerWorker::Work {
  Work(const FlowerClientPlan& plan, const ClientData& data)
      : experiment(experiment_of(plan)),
        model(experiment.model(data.shape(), data.classes())),
        rng(plan.seed),
        initial(share(initialise(model, rng.derive("init")))),
        engine(engine_factory(experiment.engine(), model)()),
        trainer(*engine) {}

  static Experiment experiment_of(const FlowerClientPlan& plan) {
    Experiment experiment;
    experiment.training = plan.training;
    return experiment;
  }

  Experiment experiment;
  ModelSpec model;
  Rng rng;
  ParametersPtr initial;
  std::unique_ptr<Engine> engine;
  Trainer trainer;
  Round round = 0;  ///< the last one in which the client trained
};

FlowerWorker::FlowerWorker(const FlowerClientPlan& plan, ClientData& data)
    : plan_(plan), data_(data), work_(std::make_unique<Work>(plan, data)) {}
FlowerWorker::~FlowerWorker() = default;

std::size_t FlowerWorker::largest_request() const { return largest_flower_message(work_->initial->layout(), 0); }

flower::ClientMessage FlowerWorker::answer(const flower::ServerMessage& asked) {
  flower::ClientMessage message;
  const auto attempt = [](flower::Status& status, flower::Code code, const auto& what) {
    try {
      what();
    } catch (const Error& error) {
      status.set_code(code);
      status.set_message(error.what());
    }
  };
  switch (asked.msg_case()) {
    case flower::ServerMessage::kGetPropertiesIns: tell_properties(*message.mutable_get_properties_res()); break;
    case flower::ServerMessage::kGetParametersIns:
      *message.mutable_get_parameters_res()->mutable_parameters() = to_flower(*work_->initial);
      break;
    case flower::ServerMessage::kFitIns: {
      auto& result = *message.mutable_fit_res();
      attempt(*result.mutable_status(), flower::FIT_NOT_IMPLEMENTED, [&] { fit(asked.fit_ins(), result); });
      break;
    }
    case flower::ServerMessage::kEvaluateIns: {
      auto& result = *message.mutable_evaluate_res();
      attempt(*result.mutable_status(), flower::EVALUATE_NOT_IMPLEMENTED,
              [&] { evaluate(asked.evaluate_ins(), result); });
      break;
    }
    case flower::ServerMessage::kReconnectIns:
      message.mutable_disconnect_res()->set_reason(asked.reconnect_ins().seconds() > 0 ? flower::RECONNECT
                                                                                       : flower::ACK);
      break;
    case flower::ServerMessage::MSG_NOT_SET: message.mutable_disconnect_res()->set_reason(flower::UNKNOWN); break;
  }
  return message;
}

void FlowerWorker::tell_properties(flower::ClientMessage::GetPropertiesRes& result) const {
  put(*result.mutable_properties(), "cid", static_cast<std::int64_t>(plan_.id));
  put(*result.mutable_properties(), "software", fmt::format("feroma {}", build_info().version));
}

void FlowerWorker::fit(const flower::ServerMessage::FitIns& asked, flower::ClientMessage::FitRes& result) {
  const Parameters received =
      from_flower(asked.parameters(), work_->initial->shared_layout(), "[flower] the server's model");
  const Round round = round_in(asked.config()).value_or(work_->round + 1);
  const ClientShard shard = data_.shard(round);
  result.set_num_examples(static_cast<std::int64_t>(shard.train.size()));
  if (is_true(asked.config(), "extract_descriptors")) {
    *result.mutable_parameters() = asked.parameters();  // this client makes no profiles, and does not train for nothing
    return;
  }
  const FitOptions options = fit_options(asked.config(), plan_.training.fit);
  const double mu = number_or(asked.config(), "proximal_mu", 0, at_least(0));
  FitHooks hooks;
  if (mu > 0) {
    hooks.edit_gradient = [&](std::span<const float> params, std::span<float> gradient) {
      add_prox_gradient(received.layout(), params, received.values(), mu, gradient);
    };
  }
  Message memory;
  ClientReport report;
  StageSeconds seconds;
  const auto id = static_cast<ClientId>(plan_.id);
  ClientContext context{id,
                        round,
                        shard.window,
                        shard.train,
                        shard.held_out,
                        memory,
                        client_stream(work_->rng, id, round),
                        work_->trainer,
                        report,
                        seconds};
  const Parameters trained = train_locally(context, received, options, hooks);
  work_->round = round;
  *result.mutable_parameters() = to_flower(trained);
  put(*result.mutable_metrics(), "train_loss", report.train_loss);
  put(*result.mutable_metrics(), "accuracy", report.after.accuracy() / 100);
}

void FlowerWorker::evaluate(const flower::ServerMessage::EvaluateIns& asked,
                            flower::ClientMessage::EvaluateRes& result) {
  const Parameters received =
      from_flower(asked.parameters(), work_->initial->shared_layout(), "[flower] the server's model");
  const Round round = round_in(asked.config()).value_or(std::max(work_->round, 1));
  const Tally tally = work_->trainer.evaluate(received, data_.shard(round).held_out);
  result.set_loss(static_cast<float>(tally.loss()));
  result.set_num_examples(tally.count);
  put(*result.mutable_metrics(), "accuracy", tally.accuracy() / 100);
}

}  // namespace feroma::net
