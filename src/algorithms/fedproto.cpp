#include "feroma/algorithms/fedproto.h"

#include "algorithms/prototypes.h"
#include "feroma/core/error.h"

namespace feroma {
namespace {

class FedProto final : public Algorithm {
 public:
  explicit FedProto(const FedProtoOptions& options) : options_(options) {}

  void init(const ServerContext& context) override {
    require(!context.multi_label, ErrorCode::unsupported,
            "[fedproto] a sample has the prototype of its one class, got multi-label data");
    fit_ = with_momentum(context.fit, options_.momentum_reset);
    initial_ = context.initial;
    prototypes_ = Prototypes(context.model.classes, latent_size(context.model, options_.latent));
  }

  [[nodiscard]] Message downlink(Round, int, ClientId) const override {
    return {{{"prototypes", prototypes_.rows()}, {"classes", prototypes_.labels()}}};
  }

  [[nodiscard]] Message client_step(Round, int, ClientContext& context, const Message& received) const override {
    const Prototypes shared = read(received);
    // A client that is new starts from the model all clients start from.
    const ParametersPtr own = context.state.has("model") ? context.state.model("model") : initial_;
    const bool alone = options_.lambda == 0 || shared.empty();
    FitHooks hooks = alone ? FitHooks{} : draw_towards(shared);
    ClassSums seen(prototypes_.classes(), prototypes_.width());
    const bool watches = options_.source == PrototypeSource::last_epoch;
    if (watches) {
      watch_last_epoch(hooks, context.train.size(), seen);
    }
    const ParametersPtr trained = share(train_locally(context, *own, fit_, hooks));
    context.state.values["model"] = trained;
    if (watches) {
      return seen.means().message();
    }
    const StageTimer timer(context.seconds, Stage::profile);
    return class_means(context.trainer, *trained, context.train, options_.latent, prototypes_.classes(),
                       prototypes_.width())
        .message();
  }

  void uplink(Round, int, std::map<ClientId, Message>& answers, StageSeconds& seconds) override {
    const StageTimer timer(seconds, Stage::aggregate);
    prototypes_ = mean_prototypes(answers, prototypes_, options_.weights == PrototypeWeights::counts, "fedproto");
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
    check_prototypes(answer, prototypes_);
    answer.expect_nothing_else();
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

  /// Lambda times the mean squared distance of latents to the prototypes of their classes, where there are some.
  [[nodiscard]] FitHooks draw_towards(const Prototypes& shared) const {
    FitHooks hooks;
    hooks.latent = options_.latent;
    hooks.latent_loss = [this, &shared](const Batch& batch, std::span<const float> latents, std::span<float> gradient) {
      const auto width = static_cast<std::size_t>(shared.width());
      const double scale = options_.lambda / (static_cast<double>(width) * batch.size);
      double loss = 0;
      for (std::size_t i = 0; i < batch.labels.size(); ++i) {
        if (!shared.knows(batch.labels[i])) {
          continue;
        }
        const std::span<const float> target = shared.of(batch.labels[i]);
        for (std::size_t j = 0; j < width; ++j) {
          const double away = static_cast<double>(latents[i * width + j]) - static_cast<double>(target[j]);
          loss += scale * away * away;
          gradient[i * width + j] = static_cast<float>(2 * scale * away);
        }
      }
      return loss;
    };
    return hooks;
  }

  /// Adds up the latents of the last epoch's batches, as training sees them.
  void watch_last_epoch(FitHooks& hooks, std::size_t samples, ClassSums& seen) const {
    const auto width = static_cast<std::size_t>(prototypes_.width());
    const auto before = static_cast<std::int64_t>(samples) * (fit_.local_epochs - 1);
    hooks.latent = options_.latent;
    hooks.latent_loss = [inner = hooks.latent_loss, left = before, width, &seen](
                            const Batch& batch, std::span<const float> latents, std::span<float> gradient) mutable {
      for (std::size_t i = 0; i < batch.labels.size() && left <= 0; ++i) {
        seen.add(batch.labels[i], latents.subspan(i * width, width));
      }
      left -= batch.size;
      return inner ? inner(batch, latents, gradient) : 0.0;
    };
  }

  FedProtoOptions options_;
  FitOptions fit_;
  ParametersPtr initial_;
  Prototypes prototypes_;
};

}  // namespace

std::unique_ptr<Algorithm> make_fedproto(const FedProtoOptions& options) { return std::make_unique<FedProto>(options); }

}  // namespace feroma
