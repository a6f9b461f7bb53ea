#include "feroma/algorithms/fedopt.h"

#include <cmath>
#include <functional>

#include "algorithms/prox.h"
#include "algorithms/shared_model.h"
#include "feroma/core/error.h"

namespace feroma {
namespace {

/// What a server optimiser remembers of one parameter, and what it makes of the next mean change.
struct ServerMoments {
  double first = 0;
  double second = 0;
};
using ServerRule = std::function<double(double change, ServerMoments& moments)>;

/// FedAvg's clients and a server that follows a rule, parameter by parameter.
class FedOpt final : public SharedModel {
 public:
  /// `name` outlives the object.
  FedOpt(std::string_view name, MomentumChoice momentum, Averaging averaging, double second_start, ServerRule rule)
      : SharedModel(name),
        momentum_(momentum),
        averaging_(averaging),
        second_start_(second_start),
        rule_(std::move(rule)) {}

  void init(const ServerContext& context) override {
    SharedModel::init(context);
    fit_ = with_momentum(context.fit, momentum_);
    first_ = share(Parameters(global()->shared_layout()));
    Parameters second(global()->shared_layout());
    std::fill(second.values().begin(), second.values().end(), static_cast<float>(second_start_));
    second_ = share(std::move(second));
  }

  [[nodiscard]] Message client_step(Round, int, ClientContext& context, const Message& received) const override {
    return answer_of(context,
                     share(train_locally(context, *received.model("model"), fit_, {}, kept_momentum(momentum_))));
  }

  void save(ModelWriter& out) const override {
    SharedModel::save(out);
    out.put(first_);
    out.put(second_);
  }
  void load(ModelReader& in) override {
    SharedModel::load(in);
    first_ = in.get_model();
    second_ = in.get_model();
  }

 private:
  [[nodiscard]] Averaging averaging() const override { return averaging_; }
  [[nodiscard]] ParametersPtr next(const ParametersPtr& mean) override {
    Parameters next = mean->clone();  // buffers are averaged
    Parameters first = first_->clone();
    Parameters second = second_->clone();
    for_each_trained(next.layout(), [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) {
        const auto before = static_cast<double>(global()->values()[i]);
        ServerMoments moments{static_cast<double>(first.values()[i]), static_cast<double>(second.values()[i])};
        const double step = rule_(static_cast<double>(mean->values()[i]) - before, moments);
        next.values()[i] = static_cast<float>(before + step);
        first.values()[i] = static_cast<float>(moments.first);
        second.values()[i] = static_cast<float>(moments.second);
      }
    });
    require(next.all_finite(), ErrorCode::invalid_data,
            "[{}] the model must stay finite, got a value that is not; server_rate may be too large", method());
    first_ = share(std::move(first));
    second_ = share(std::move(second));
    return share(std::move(next));
  }

  MomentumChoice momentum_;
  Averaging averaging_;
  double second_start_;
  ServerRule rule_;
  FitOptions fit_;
  ParametersPtr first_;
  ParametersPtr second_;
};

/// Both adaptive rules divide the remembered change by the root of a remembered square, which starts at tau^2; how the
/// square is remembered tells them apart.
std::unique_ptr<Algorithm> make_adaptive(std::string_view name, const AdaptiveServerOptions& options,
                                         double (*remember)(double second, double square, double beta2)) {
  const ServerRule rule = [options, remember](double change, ServerMoments& moments) {
    moments.first = options.beta1 * moments.first + (1 - options.beta1) * change;
    moments.second = remember(moments.second, change * change, options.beta2);
    return options.server_rate * moments.first / (std::sqrt(moments.second) + options.tau);
  };
  return std::make_unique<FedOpt>(name, options.momentum_reset, options.averaging, options.tau * options.tau, rule);
}

}  // namespace

std::unique_ptr<Algorithm> make_fedadam(const AdaptiveServerOptions& options) {
  return make_adaptive("fedadam", options, [](double second, double square, double beta2) {
    return beta2 * second + (1 - beta2) * square;
  });
}

std::unique_ptr<Algorithm> make_fedyogi(const AdaptiveServerOptions& options) {
  return make_adaptive("fedyogi", options, [](double second, double square, double beta2) {
    const double sign = second > square ? 1.0 : (second < square ? -1.0 : 0.0);
    return second - (1 - beta2) * square * sign;
  });
}

std::unique_ptr<Algorithm> make_fedavgm(const ServerMomentumOptions& options) {
  const ServerRule rule = [options](double change, ServerMoments& moments) {
    moments.first = options.beta * moments.first + change;
    return options.server_rate * moments.first;
  };
  return std::make_unique<FedOpt>("fedavgm", options.momentum_reset, options.averaging, 0, rule);
}

}  // namespace feroma
