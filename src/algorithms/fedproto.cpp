#include "feroma/algorithms/fedproto.h"

#include <algorithm>
#include <cmath>

#include "algorithms/answers.h"
#include "algorithms/prototypes.h"
#include "feroma/core/error.h"

namespace feroma {
namespace {

class FedProto final : public Algorithm {
 public:
  explicit FedProto(const FedProtoOptions& options) : options_(options) {}

  void init(const ServerContext& context) override {
    fit_ = with_momentum(context.fit, options_.momentum_reset);
    initial_ = context.initial;
    prototypes_ = Prototypes(context.model.classes, latent_size(context.model, options_.latent));
  }

  [[nodiscard]] Message downlink(Round, int, ClientId) const override {
    return {{{"prototypes", prototypes_.rows()}, {"classes", prototypes_.labels()}}};
  }

  [[nodiscard]] Message client_step(Round, int, ClientContext& context, const Message& received) const override {
    require(!context.train.samples->multi_label(), ErrorCode::unsupported,
            "[fedproto] a sample has the prototype of its one class, got multi-label data");
    const Prototypes shared = read(received);
    // A client that is new starts from the model all clients start from.
    const ParametersPtr own = context.state.has("model") ? context.state.model("model") : initial_;
    const bool alone = options_.lambda == 0 || shared.empty();
    const ParametersPtr trained = share(alone ? train_locally(context, *own, fit_) : train_near(context, *own, shared));
    context.state.values["model"] = trained;
    const StageTimer timer(context.seconds, Stage::profile);
    const ClassMeans own_means = class_means(context.trainer, *trained, context.train, options_.latent,
                                             prototypes_.classes(), prototypes_.width());
    return {{{"prototypes", own_means.means.rows()},
             {"classes", own_means.means.labels()},
             {"counts", counts_of(own_means)}}};
  }

  void uplink(Round, int, std::map<ClientId, Message>& answers, StageSeconds& seconds) override {
    const StageTimer timer(seconds, Stage::aggregate);
    const auto width = static_cast<std::size_t>(prototypes_.width());
    std::vector<double> sums(static_cast<std::size_t>(prototypes_.classes()) * width);
    std::vector<double> weights(static_cast<std::size_t>(prototypes_.classes()));
    for (const auto& [client, answer] : answers) {
      const Prototypes means = read(answer);
      const Ints& labels = answer.ints("classes");
      const Ints& counts = answer.ints("counts");
      require(counts.size() == labels.size(), ErrorCode::invalid_data,
              "[fedproto] {} classes need as many counts, got {}", labels.size(), counts.size());
      for (std::size_t i = 0; i < labels.size(); ++i) {
        require(counts[i] >= 1, ErrorCode::invalid_data, "[fedproto] a count must be >= 1, got {}", counts[i]);
        const double weight = options_.weights == PrototypeWeights::counts ? static_cast<double>(counts[i]) : 1.0;
        const auto label = static_cast<std::size_t>(labels[i]);
        const std::span<const float> mean = means.of(static_cast<std::int32_t>(labels[i]));
        weights[label] += weight;
        for (std::size_t j = 0; j < width; ++j) {
          sums[label * width + j] += weight * static_cast<double>(mean[j]);
        }
      }
    }
    std::vector<float> mean(width);
    for (std::size_t label = 0; label < weights.size(); ++label) {
      for (std::size_t j = 0; j < width && weights[label] > 0; ++j) {
        mean[j] = static_cast<float>(sums[label * width + j] / weights[label]);
      }
      if (weights[label] > 0) {  // a class that nobody holds now keeps the prototype it had
        prototypes_.set(static_cast<std::int32_t>(label), mean);
      }
    }
  }

  [[nodiscard]] std::unique_ptr<Predictor> personal(const Message& memory) const override {
    if (!memory.has("model")) {
      return nullptr;
    }
    const bool by_head = options_.predict == PrototypePrediction::head || prototypes_.empty();
    return by_head ? make_single_model_predictor(memory.model("model"))
                   : make_nearest_prototype_predictor(memory.model("model"), prototypes_, options_.latent);
  }

  void check_answer(Round, int, ClientId client, const Message& message) const override {
    const Answer answer("fedproto", client, message);
    const auto classes = static_cast<std::size_t>(prototypes_.classes());
    const auto width = static_cast<std::size_t>(prototypes_.width());
    const std::size_t count = answer.rows("prototypes", width, 0, classes).size() / width;
    answer.integers("classes", count, 0, prototypes_.classes() - 1);
    answer.integers("counts", count, 1);
  }

  /// The server holds no model.
  [[nodiscard]] std::vector<ServedModel> served() const override { return {}; }

  void save(ModelWriter& out) const override { out.put(downlink(0, 0, ClientId{})); }
  void load(ModelReader& in) override { prototypes_ = read(in.get_message()); }

 private:
  [[nodiscard]] Prototypes read(const Message& message) const {
    return Prototypes::read(prototypes_.classes(), prototypes_.width(), message.floats("prototypes"),
                            message.ints("classes"), "fedproto");
  }

  static Ints counts_of(const ClassMeans& means) {
    Ints counts;
    for (const std::int64_t label : means.means.labels()) {
      counts.push_back(means.counts[static_cast<std::size_t>(label)]);
    }
    return counts;
  }

  /// As train_locally does it, with latents drawn towards the shared prototypes.
  [[nodiscard]] Parameters train_near(ClientContext& context, const Parameters& own, const Prototypes& shared) const {
    context.report.before = score_for_the_record(context, own);
    context.report.num_examples = static_cast<std::int64_t>(context.train.size());
    Parameters params = own.clone();
    {
      const StageTimer timer(context.seconds, Stage::train);
      std::vector<float> velocity(params.size());
      std::vector<float> gradient(params.size());
      const std::size_t batches = (context.train.size() + static_cast<std::size_t>(fit_.batch_size) - 1) /
                                  static_cast<std::size_t>(fit_.batch_size);
      std::size_t step = 0;
      double loss_sum = 0;
      context.trainer.for_each_minibatch(context.train, fit_, context.rng.derive("train"), [&](const Batch& batch) {
        if (fit_.momentum_reset == MomentumReset::epoch && step % batches == 0) {
          std::fill(velocity.begin(), velocity.end(), 0.0F);
        }
        ++step;
        const double loss = gradient_near(context.trainer, params, batch, shared, gradient);
        require(std::isfinite(loss), ErrorCode::invalid_data, "[fedproto] the loss must stay finite, got {} at step {}",
                loss, step);
        sgd_step(params.values(), velocity, gradient, fit_.learning_rate, fit_.momentum);
        loss_sum += loss * batch.size;
      });
      require(params.all_finite(), ErrorCode::invalid_data,
              "[fedproto] the model must stay finite, got a value that is not after the last step");
      const double samples = static_cast<double>(context.train.size()) * fit_.local_epochs;
      context.report.train_loss = samples > 0 ? loss_sum / samples : 0.0;
    }
    context.report.after = score_for_the_record(context, params);
    return params;
  }

  /// Gradient and value of the cross-entropy plus lambda times the mean squared distance of latents to prototypes.
  double gradient_near(Trainer& trainer, Parameters& params, const Batch& batch, const Prototypes& shared,
                       std::span<float> gradient) const {
    trainer.passes().forward += batch.size;
    const Activations seen = trainer.engine().forward(params, batch, options_.latent);
    const auto width = static_cast<std::size_t>(shared.width());
    const double scale = options_.lambda / (static_cast<double>(width) * batch.size);
    std::vector<float> pull(seen.latents.size());
    double distance = 0;
    for (std::size_t i = 0; i < batch.labels.size(); ++i) {
      if (!shared.knows(batch.labels[i])) {
        continue;
      }
      const std::span<const float> target = shared.of(batch.labels[i]);
      for (std::size_t j = 0; j < width; ++j) {
        const double away = static_cast<double>(seen.latents[i * width + j]) - static_cast<double>(target[j]);
        distance += scale * away * away;
        pull[i * width + j] = static_cast<float>(2 * scale * away);
      }
    }
    Objective objective;
    objective.latent_gradient = pull;
    objective.latent = options_.latent;
    return trainer.gradient(params, batch, objective, gradient) + distance;
  }

  FedProtoOptions options_;
  FitOptions fit_;
  ParametersPtr initial_;
  Prototypes prototypes_;
};

}  // namespace

std::unique_ptr<Algorithm> make_fedproto(const FedProtoOptions& options) { return std::make_unique<FedProto>(options); }

}  // namespace feroma
