#include "feroma/algorithms/fedgps.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include "algorithms/batch_rows.h"
#include "algorithms/momentum_sgd.h"
#include "algorithms/prototypes.h"
#include "algorithms/prox.h"
#include "algorithms/surrogate_loss.h"
#include "algorithms/surrogates.h"
#include "feroma/aggregation/mix.h"
#include "feroma/algorithms/answers.h"
#include "feroma/core/error.h"

namespace feroma {
namespace {

/// The client's memory: what its model moved by in the last round it took part in, and which round that was.
const std::string kFedGpsUpdate = "update";
const std::string kFedGpsRound = "update_round";
/// And what the made-up half of its last layer moved by.
const std::string kFedGpsHead = "head_update";

/// a * x + b * y, tensor by tensor; buffers, which have no direction, are zero.
std::vector<float> combined(const ParamLayout& layout, double a, std::span<const float> x, double b,
                            std::span<const float> y) {
  std::vector<float> out(layout.size);
  for_each_trained(layout, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      out[i] = static_cast<float>(a * static_cast<double>(x[i]) + b * static_cast<double>(y[i]));
    }
  });
  return out;
}

double squared_length(std::span<const float> values) {
  double sum = 0;
  for (const float value : values) {
    sum += static_cast<double>(value) * static_cast<double>(value);
  }
  return sum;
}

class FedGps final : public Algorithm {
 public:
  explicit FedGps(const FedGpsOptions& options) : options_(options) {}

  void init(const ServerContext& context) override {
    require(!context.multi_label, ErrorCode::unsupported,
            "[fedgps] a sample is drawn to those of its one class, got multi-label data");
    fit_ = with_momentum(context.fit, options_.momentum_reset);
    global_ = context.initial;
    classes_ = context.model.classes;
    if (!options_.uses_surrogates()) {
      return;
    }
    require(!context.model.script && std::holds_alternative<Linear>(context.model.layers.back()),
            ErrorCode::unsupported, "[fedgps] made-up classes need a model that ends in a linear layer, got {}",
            context.model.name);
    const int width = latent_size(context.model, Latent::penultimate);
    prototypes_ = Prototypes(classes_, width);
    Rng rng = context.rng.derive("surrogate head");
    head_.resize(static_cast<std::size_t>(classes_) * (static_cast<std::size_t>(width) + 1));
    for (float& value : head_) {
      value = static_cast<float>(rng.uniform(-1, 1) / std::sqrt(width));
    }
    surrogates_ = make_surrogates(context.model.input, classes_, options_.surrogates_per_class,
                                  options_.surrogate_noise, context.rng.derive("surrogates"));
  }

  [[nodiscard]] Message downlink(Round, int, ClientId client) const override {
    Message message{{{"model", global_}}};
    if (options_.look_ahead > 0 && mean_update_ != nullptr) {
      const bool counted = std::binary_search(members_.begin(), members_.end(), client);
      message.values["mean_update"] = mean_update_;
      message.values["updates"] = Ints{static_cast<std::int64_t>(members_.size()), counted ? update_round_ : 0};
      if (looks_with_head()) {
        message.values["head_update"] = head_update_;
      }
    }
    if (options_.uses_surrogates()) {
      message.values["head"] = head_;
      message.values["prototypes"] = prototypes_.rows();
      message.values["classes"] = prototypes_.labels();
    }
    return message;
  }

  [[nodiscard]] Message client_step(Round round, int, ClientContext& context, const Message& received) const override {
    const Parameters& model = *received.model("model");
    context.report.before = score_for_the_record(context, model);
    context.report.num_examples = static_cast<std::int64_t>(context.train.size());
    const ParametersPtr start = received.model("model");
    Session session{start->clone(), options_.uses_surrogates() ? received.floats("head") : Floats(),
                    options_.uses_surrogates() ? read(received) : Prototypes(),
                    ClassSums(prototypes_.classes(), prototypes_.width()), shift_of(context, received)};
    {
      const StageTimer timer(context.seconds, Stage::train);
      train(context, session);
    }
    context.report.after = score_for_the_record(context, session.params);
    const ParametersPtr trained = share(std::move(session.params));
    if (options_.look_ahead > 0) {
      Parameters update(start->shared_layout());
      const std::vector<float> moved = combined(start->layout(), 1, trained->values(), -1, start->values());
      std::copy(moved.begin(), moved.end(), update.values().begin());
      context.state.values[kFedGpsUpdate] = share(std::move(update));
      context.state.values[kFedGpsRound] = Ints{round};
      if (looks_with_head()) {
        context.state.values[kFedGpsHead] = difference(session.head, received.floats("head"));
      }
    }
    Message answer = options_.uses_surrogates() ? session.sums.means().message() : Message{};
    answer.values["model"] = trained;
    if (options_.uses_surrogates()) {
      answer.values["head"] = session.head;
    }
    return answer;
  }

  void check_answer(Round, int, ClientId client, const Message& message) const override {
    const Answer answer("fedgps", client, message);
    answer.model("model", *global_);
    if (options_.uses_surrogates()) {
      answer.floats("head", head_.size());
      check_prototypes(answer, prototypes_);
    }
    answer.expect_nothing_else();
  }

  void uplink(Round round, int, std::map<ClientId, Message>& answers, StageSeconds& seconds) override {
    const StageTimer timer(seconds, Stage::aggregate);
    if (answers.empty()) {
      return;
    }
    std::vector<ParametersPtr> models;
    std::vector<ClientId> members;
    std::vector<double> heads(head_.size());
    for (const auto& [client, answer] : answers) {
      models.push_back(answer.model("model"));
      members.push_back(client);
      for (std::size_t i = 0; i < heads.size() && options_.uses_surrogates(); ++i) {
        heads[i] += static_cast<double>(answer.floats("head")[i]);
      }
    }
    if (options_.uses_surrogates()) {
      prototypes_ = mean_prototypes(answers, prototypes_, /*by_samples=*/true, "fedgps");
      const Floats before = head_;
      std::transform(heads.begin(), heads.end(), head_.begin(),
                     [&](double sum) { return static_cast<float>(sum / static_cast<double>(models.size())); });
      head_update_ = looks_with_head() ? difference(head_, before) : Floats();
    }
    const ParametersPtr next = share(weighted_mean(models, std::vector<std::int64_t>(models.size(), 1)));
    Parameters update(global_->shared_layout());
    const std::vector<float> moved = combined(global_->layout(), 1, next->values(), -1, global_->values());
    std::copy(moved.begin(), moved.end(), update.values().begin());
    mean_update_ = share(std::move(update));
    members_ = std::move(members);
    update_round_ = round;
    global_ = next;
  }

  [[nodiscard]] std::unique_ptr<Predictor> predictor(TestPolicy policy, TestContext&) const override {
    const bool serves = policy == TestPolicy::native || policy == TestPolicy::known_association;
    return serves ? make_single_model_predictor(global_) : nullptr;
  }
  [[nodiscard]] Passes passes_to_serve(int, bool) const override { return {1, 0}; }
  [[nodiscard]] std::vector<ServedModel> served() const override { return {{std::nullopt, 0, global_, {}, 0}}; }

  void save(ModelWriter& out) const override {
    out.put(global_);
    out.put(mean_update_);
    Message rest{{{"head", head_}, {"prototypes", prototypes_.rows()}, {"classes", prototypes_.labels()}}};
    if (looks_with_head()) {
      rest.values["head_update"] = head_update_;
    }
    out.put(rest);
    out.out().put(members_);
    out.out().put(update_round_);
  }
  void load(ModelReader& in) override {
    global_ = in.get_model();
    mean_update_ = in.get_model();
    const Message rest = in.get_message();
    require(rest.floats("head").size() == head_.size(), ErrorCode::invalid_data,
            "[fedgps] the made-up classes' head must have {} values, got {}", head_.size(), rest.floats("head").size());
    head_ = rest.floats("head");
    head_update_ = looks_with_head() ? rest.floats("head_update") : Floats();
    prototypes_ = read(rest);
    members_ = in.in().get_vector<ClientId>();
    update_round_ = in.in().get<Round>();
  }

 private:
  /// To the point where gradients are taken.
  struct Shift {
    std::vector<float> model;  ///< empty: none
    Floats head;               ///< of the made-up half; empty: none
  };
  /// What changes while a client trains.
  struct Session {
    Parameters params;
    Floats head;  ///< of the made-up classes: weights [class][latent], then biases
    Prototypes targets;
    ClassSums sums;  ///< of made-up samples' latents in the last epoch
    Shift shift;
  };
  /// Where a gradient is taken.
  struct Point {
    Parameters& params;
    const Floats& head;
  };
  /// A gradient of both halves of what is trained.
  struct Gradient {
    std::vector<float> model;
    Floats head;
    double loss = 0;
  };

  [[nodiscard]] Prototypes read(const Message& message) const {
    return Prototypes::read(prototypes_.classes(), prototypes_.width(), message.floats("prototypes"),
                            message.ints("classes"), "fedgps");
  }

  /// Whether the made-up half of the last layer takes part in looking ahead.
  [[nodiscard]] bool looks_with_head() const {
    return options_.whole_head && options_.look_ahead > 0 && options_.uses_surrogates();
  }
  [[nodiscard]] static Floats difference(const Floats& after, const Floats& before) {
    Floats moved(after.size());
    std::transform(after.begin(), after.end(), before.begin(), moved.begin(), std::minus<>());
    return moved;
  }

  /// The other clients' mean update, at the length to look ahead: the sum of its tensors' norms is 1 times that. The
  /// last layer's weights are one tensor and its biases another, made-up classes included.
  [[nodiscard]] Shift shift_of(const ClientContext& context, const Message& received) const {
    if (options_.look_ahead == 0 || !received.has("mean_update")) {
      return {};
    }
    const Parameters& mean = *received.model("mean_update");
    const Ints& updates = received.ints("updates");
    require(updates.size() == 2 && updates[0] >= 1 && mean.size() == received.model("model")->size(),
            ErrorCode::invalid_data, "[fedgps] a mean update must come with its number and round, got {} values",
            updates.size());
    const auto others = static_cast<double>(updates[0] - 1);
    const Message& memory = context.state;
    const bool counted = updates[1] > 0 && memory.has(kFedGpsUpdate) && memory.integer(kFedGpsRound) == updates[1];
    if (counted && others == 0) {
      return {};  // nobody else moved
    }
    const double of_mean = counted ? (others + 1) / others : 1;
    const double of_own = counted ? -1 / others : 0;
    const ParametersPtr own = counted ? memory.model(kFedGpsUpdate) : nullptr;
    Shift shift{combined(mean.layout(), of_mean, mean.values(), of_own, counted ? own->values() : mean.values()), {}};
    if (looks_with_head()) {
      const Floats& mean_head = received.floats("head_update");
      const Floats& own_head = counted ? memory.floats(kFedGpsHead) : mean_head;
      require(mean_head.size() == head_.size() && own_head.size() == head_.size(), ErrorCode::invalid_data,
              "[fedgps] an update of the made-up classes' head must have {} values, got {} and {}", head_.size(),
              mean_head.size(), own_head.size());
      for (std::size_t i = 0; i < head_.size(); ++i) {
        shift.head.push_back(static_cast<float>(of_mean * static_cast<double>(mean_head[i]) +
                                                of_own * static_cast<double>(own_head[i])));
      }
    }
    const double lengths = sum_of_norms(mean.layout(), shift);
    if (!(lengths > 0)) {
      return {};
    }
    for (std::vector<float>* half : {&shift.model, &shift.head}) {
      for (float& value : *half) {
        value = static_cast<float>(options_.look_ahead * static_cast<double>(value) / lengths);
      }
    }
    return shift;
  }

  /// Over the tensors that are trained; the halves of each of the last two are one.
  [[nodiscard]] double sum_of_norms(const ParamLayout& layout, const Shift& shift) const {
    const std::size_t weights =
        shift.head.size() - std::min<std::size_t>(shift.head.size(), static_cast<std::size_t>(classes_));
    const std::span<const float> made_up(shift.head);
    double lengths = 0;
    for_each_trained(layout, [&](std::size_t begin, std::size_t end) {
      double squared = squared_length(std::span(shift.model).subspan(begin, end - begin));
      if (begin == head_offset(layout)) {
        squared += squared_length(made_up.first(weights));
      } else if (begin == layout.segments.back().offset) {
        squared += squared_length(made_up.subspan(weights));
      }
      lengths += std::sqrt(squared);
    });
    return lengths;
  }

  void train(ClientContext& context, Session& session) const {
    MomentumSgd model_sgd(fit_, session.params.size(), context.train.size());
    MomentumSgd head_sgd(fit_, session.head.size(), context.train.size());
    SurrogateStream stream(surrogates_, static_cast<std::size_t>(context.train.shape.size()),
                           context.rng.derive("surrogates"));
    const auto samples = static_cast<double>(context.train.size());
    Parameters ahead = session.params.clone();
    Floats head_ahead = session.head;
    Gradient gradient{std::vector<float>(session.params.size()), Floats(session.head.size())};
    double seen = 0;
    double loss_sum = 0;
    context.trainer.for_each_minibatch(context.train, fit_, context.rng.derive("train"), [&](const Batch& batch) {
      const bool last_epoch = seen >= samples * (fit_.local_epochs - 1);
      const bool looks = !session.shift.model.empty();
      Parameters& where = looks ? ahead : session.params;
      for (std::size_t i = 0; i < session.shift.model.size(); ++i) {
        ahead.values()[i] = session.params.values()[i] + session.shift.model[i];
      }
      for (std::size_t i = 0; i < session.head.size(); ++i) {
        head_ahead[i] = session.head[i] + (session.shift.head.empty() ? 0.0F : session.shift.head[i]);
      }
      if (options_.uses_surrogates()) {
        gradient_with_surrogates(context.trainer, {where, head_ahead}, batch, stream, last_epoch, session, gradient);
      } else {
        gradient.loss = context.trainer.gradient(where, batch, gradient.model);
      }
      require_finite(std::isfinite(gradient.loss), "fedgps", fit_.learning_rate);
      if (looks) {
        copy_buffers_(session.params, ahead);
      }
      clip_(gradient);
      model_sgd.step(session.params.values(), gradient.model);
      head_sgd.step(session.head, gradient.head);
      seen += batch.size;
      loss_sum += gradient.loss * batch.size;
    });
    require_finite(session.params.all_finite(), "fedgps", fit_.learning_rate);
    context.report.train_loss = seen > 0 ? loss_sum / seen : 0;
  }

  void clip_(Gradient& gradient) const {
    const double length = std::sqrt(squared_length(gradient.model) + squared_length(gradient.head));
    if (options_.clip == 0 || !(length > options_.clip)) {
      return;
    }
    const auto factor = static_cast<float>(options_.clip / length);
    for (float& value : gradient.model) {
      value *= factor;
    }
    for (float& value : gradient.head) {
      value *= factor;
    }
  }

  /// One pass over real and made-up samples together. All of the loss is one of the latents: the engine's own, whose
  /// softmax knows half of the classes, gets no weight.
  void gradient_with_surrogates(Trainer& trainer, Point at, const Batch& real, SurrogateStream& stream, bool collect,
                                Session& session, Gradient& gradient) const {
    Parameters& params = at.params;
    const Surrogates made_up = stream.next(options_.surrogate_batch);
    Batch batch = with_rows(real, made_up.rows, made_up.labels);
    batch.weights.assign(static_cast<std::size_t>(batch.size), 0.0F);
    WideLoss wide;
    Objective objective;
    objective.latent_loss = [&](std::span<const float> latents, std::span<float> slope) {
      const MixedLatents mixed{latents, batch.labels, static_cast<std::size_t>(real.size)};
      wide = wide_loss(options_, classes_, params.values().subspan(head_offset(params.layout())), at.head, mixed);
      std::copy(wide.latents.begin(), wide.latents.end(), slope.begin());
      for (std::size_t i = mixed.real; collect && i < mixed.labels.size(); ++i) {
        session.sums.add(mixed.labels[i], latents.subspan(i * mixed.width(), mixed.width()));
      }
      return wide.value + add_alignment_(options_, classes_, mixed, session.targets, slope);
    };
    gradient.loss = trainer.gradient(params, batch, objective, gradient.model);
    // The last two tensors are the real half of the head.
    const std::size_t inner = head_offset(params.layout());
    const std::size_t weights = wide.weights.size() / 2;
    const std::size_t biases = wide.biases.size() / 2;
    std::copy_n(wide.weights.begin(), weights, gradient.model.begin() + static_cast<std::ptrdiff_t>(inner));
    std::copy_n(wide.biases.begin(), biases, gradient.model.begin() + static_cast<std::ptrdiff_t>(inner + weights));
    std::copy_n(wide.weights.begin() + static_cast<std::ptrdiff_t>(weights), weights, gradient.head.begin());
    std::copy_n(wide.biases.begin() + static_cast<std::ptrdiff_t>(biases), biases,
                gradient.head.begin() + static_cast<std::ptrdiff_t>(weights));
  }

  /// Where the last linear layer begins; its bias follows its weights.
  static std::size_t head_offset(const ParamLayout& layout) {
    return layout.segments[layout.segments.size() - 2].offset;
  }

  FedGpsOptions options_;
  FitOptions fit_;
  int classes_ = 0;
  Surrogates surrogates_;  ///< the same for everybody
  ParametersPtr global_;
  ParametersPtr mean_update_;      ///< null before the first answers
  std::vector<ClientId> members_;  ///< whose updates it is the mean of, in order
  Round update_round_ = 0;
  Floats head_;         ///< of the made-up classes: weights [class][latent], then biases
  Floats head_update_;  ///< what it moved by, where looking ahead counts it
  Prototypes prototypes_;
};

}  // namespace

void FedGpsOptions::check(const FedGpsOptions& preset, Problems& problems, const std::string& where) const {
  const auto ignored = [&](std::string_view key, bool changed, bool used, std::string_view need) {
    if (changed && !used) {
      problems.add("{}.{} would be ignored: it needs {}", where, key, need);
    }
  };
  constexpr std::string_view kAny = "a loss of made-up samples";
  ignored("surrogate_batch", surrogate_batch != preset.surrogate_batch, uses_surrogates(), kAny);
  ignored("surrogates_per_class", surrogates_per_class != preset.surrogates_per_class, uses_surrogates(), kAny);
  ignored("surrogate_noise", surrogate_noise != preset.surrogate_noise, uses_surrogates(), kAny);
  ignored("temperature", temperature != preset.temperature, contrast > 0 || surrogate_contrast > 0, "a contrast");
  ignored("match_classes", match_classes != preset.match_classes, contrast > 0, "contrast > 0");
}

std::unique_ptr<Algorithm> make_fedgps(const FedGpsOptions& options) { return std::make_unique<FedGps>(options); }

}  // namespace feroma
