#include "feroma/algorithms/scaffold.h"

#include <algorithm>
#include <set>

#include "algorithms/prox.h"
#include "algorithms/shared_model.h"
#include "feroma/aggregation/mix.h"
#include "feroma/core/error.h"

namespace feroma {
namespace {

/// The client's memory: its control variate.
const std::string kScaffoldControl = "control";

/// By how much a client's model would move against a gradient of 1 in every step, in units of the learning rate: the
/// number of steps without momentum, and more with it.
double distance_of_unit_gradient(const FitOptions& fit, std::size_t samples) {
  const auto batch = static_cast<std::size_t>(fit.batch_size);
  const std::size_t steps = (samples + batch - 1) / batch;
  double velocity = 0;
  double distance = 0;
  for (int epoch = 0; epoch < fit.local_epochs; ++epoch) {
    velocity = fit.momentum_reset == MomentumReset::epoch ? 0 : velocity;
    for (std::size_t step = 0; step < steps; ++step) {
      velocity = fit.momentum * velocity + 1;
      distance += velocity;
    }
  }
  return distance;
}

class Scaffold final : public SharedModel {
 public:
  explicit Scaffold(const ScaffoldOptions& options) : SharedModel("scaffold"), options_(options) {}

  void init(const ServerContext& context) override {
    SharedModel::init(context);
    fit_ = with_momentum(context.fit, options_.momentum_reset);
    control_ = share(Parameters(global()->shared_layout()));
    clients_ = options_.variate_mean == VariateMean::all ? static_cast<std::size_t>(context.clients) : 0;
  }

  [[nodiscard]] Message downlink(Round, int, ClientId) const override {
    return {{{"model", global()}, {"control", control_}}};
  }

  [[nodiscard]] Message client_step(Round, int, ClientContext& context, const Message& received) const override {
    const Parameters& model = *received.model("model");
    const Parameters& all = *received.model("control");
    const Parameters own = context.state.has(kScaffoldControl) ? context.state.model(kScaffoldControl)->clone()
                                                               : Parameters(model.shared_layout());
    require(all.size() == model.size() && own.size() == model.size(), ErrorCode::invalid_data,
            "[scaffold] control variates must have {} values, got {} and {}", model.size(), all.size(), own.size());
    FitHooks hooks;
    hooks.edit_gradient = [&](std::span<const float>, std::span<float> gradient) {
      for (std::size_t i = 0; i < gradient.size(); ++i) {
        gradient[i] += all.values()[i] - own.values()[i];
      }
    };
    const ParametersPtr trained = share(train_locally(context, model, fit_, hooks));
    const double distance = fit_.learning_rate * distance_of_unit_gradient(fit_, context.train.size());
    Parameters change(model.shared_layout());
    Parameters next = own.clone();
    if (distance > 0) {
      // What the model moved by is the mean corrected gradient; without the correction it is the client's own.
      for_each_trained(model.layout(), [&](std::size_t begin, std::size_t end) {
        for (std::size_t i = begin; i < end; ++i) {
          const double moved = static_cast<double>(model.values()[i] - trained->values()[i]) / distance;
          change.values()[i] = static_cast<float>(moved - static_cast<double>(all.values()[i]));
          next.values()[i] += change.values()[i];
        }
      });
    }
    context.state.values[kScaffoldControl] = share(std::move(next));
    Message answer = answer_of(context, trained);
    answer.values["control_change"] = share(std::move(change));
    return answer;
  }

  void check_answer(Round, int, ClientId client, const Message& message) const override {
    const Answer answer(method(), client, message);
    check_model(answer);
    answer.model("control_change", *control_);
    answer.expect_nothing_else();
  }

  void uplink(Round round, int phase, std::map<ClientId, Message>& answers, StageSeconds& seconds) override {
    SharedModel::uplink(round, phase, answers, seconds);
    const StageTimer timer(seconds, Stage::aggregate);
    update_control(answers);
  }

  void save(ModelWriter& out) const override {
    SharedModel::save(out);
    out.put(control_);
    out.out().put(std::vector<ClientId>(known_.begin(), known_.end()));
  }
  void load(ModelReader& in) override {
    SharedModel::load(in);
    control_ = in.get_model();
    const std::vector<ClientId> known = in.in().get_vector<ClientId>();
    known_ = std::set<ClientId>(known.begin(), known.end());
  }

 private:
  [[nodiscard]] Averaging averaging() const override { return options_.averaging; }
  /// The mean, or past it where server_rate is more than 1.
  [[nodiscard]] ParametersPtr next(const ParametersPtr& mean) override {
    return share(extrapolate(mean, global(), options_.server_rate - 1));
  }

  /// Keeps the server's variate the mean over everybody; who has not answered yet counts as zero.
  void update_control(const std::map<ClientId, Message>& answers) {
    const auto before = static_cast<double>(population());
    std::vector<ParametersPtr> sources{control_};
    for (const auto& [client, answer] : answers) {
      sources.push_back(answer.model("control_change"));
      known_.insert(client);
    }
    if (known_.empty()) {
      return;
    }
    const auto now = static_cast<double>(population());
    std::vector<float> weights(sources.size(), static_cast<float>(1 / now));
    weights[0] = static_cast<float>(before / now);
    control_ = share(std::move(mix(sources, weights).front()));
  }

  /// Over how many the mean goes; more than the run said where more have answered.
  [[nodiscard]] std::size_t population() const { return std::max(clients_, known_.size()); }

  ScaffoldOptions options_;
  FitOptions fit_;
  ParametersPtr control_;
  std::size_t clients_ = 0;   ///< the least over how many the mean goes
  std::set<ClientId> known_;  ///< everybody who ever answered
};

}  // namespace

std::unique_ptr<Algorithm> make_scaffold(const ScaffoldOptions& options) { return std::make_unique<Scaffold>(options); }

}  // namespace feroma
