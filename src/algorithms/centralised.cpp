#include "feroma/algorithms/centralised.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "algorithms/batch_rows.h"
#include "algorithms/momentum_sgd.h"
#include "feroma/algorithms/answers.h"
#include "feroma/core/error.h"

namespace feroma {
namespace {

/// What clients are asked in a round, one after the other.
constexpr int kTellCount = 0;
constexpr int kHandOver = 1;
constexpr int kTrainOnAll = 2;

/// More samples than a client can have.
constexpr std::int64_t kMostSamples = std::numeric_limits<std::int32_t>::max();

/// Samples as they travel: "inputs", one row each, and behind them "labels", or "targets" for multi-label data.
Message samples_of(const View& view) {
  std::vector<std::uint32_t> order;
  for (std::size_t i = 0; i < view.size(); ++i) {
    order.push_back(static_cast<std::uint32_t>(i));
  }
  const Batch all = assemble(view, order, BatchLayout::sample_major);
  Message samples{{{"inputs", Floats(all.inputs.begin(), all.inputs.end())}}};
  if (view.samples->multi_label()) {
    samples.values["targets"] = Floats(all.targets.begin(), all.targets.end());
  } else {
    samples.values["labels"] = Ints(all.labels.begin(), all.labels.end());
  }
  return samples;
}

template <class T>
void append(Message& all, const std::string& key, Message& part) {
  auto& to = std::get<T>(all.values.try_emplace(key, T()).first->second);
  const auto& from = std::get<T>(part.values.at(key));
  to.insert(to.end(), from.begin(), from.end());
  part.values.erase(key);  // the samples of all clients are large: nothing is kept twice
}

class Centralised final : public Algorithm {
 public:
  explicit Centralised(const CentralisedOptions& options) : options_(options) {}

  void init(const ServerContext& context) override {
    fit_ = with_learning_rate(with_momentum(context.fit, options_.momentum_reset), options_.learning_rate);
    global_ = context.initial;
    input_ = context.model.input;
    classes_ = static_cast<std::size_t>(context.model.classes);
    multi_label_ = context.multi_label;
  }

  [[nodiscard]] int phases(Round) const override { return kTrainOnAll + 1; }

  [[nodiscard]] Message downlink(Round, int phase, ClientId client) const override {
    if (phase != kTrainOnAll) {
      return {};
    }
    Message message = client == host_ ? gathered_ : Message{};
    message.values["model"] = global_;
    return message;
  }

  [[nodiscard]] Message client_step(Round, int task, ClientContext& context, const Message& received) const override {
    context.report.num_examples = static_cast<std::int64_t>(context.train.size());
    if (task == kTellCount) {
      return {{{"num_examples", Ints{context.report.num_examples}}}};
    }
    if (task == kHandOver) {
      // The counts are the server's. Whoever has none is elsewhere, and its data stay with it.
      require(counts_.contains(context.id), ErrorCode::unsupported,
              "[centralised] data are handed over in simulations only, got a server on another machine that asks");
      const StageTimer timer(context.seconds, Stage::data);
      return samples_of(context.train);
    }
    const ParametersPtr& model = received.model("model");
    context.report.before = score_for_the_record(context, *model);
    context.report.after = context.report.before;
    if (!received.has("inputs")) {
      return {};
    }
    Parameters trained = model->clone();
    {
      const StageTimer timer(context.seconds, Stage::train);
      context.report.train_loss = train(context, trained, received);
    }
    context.report.after = score_for_the_record(context, trained);
    return {{{"model", share(std::move(trained))}}};
  }

  void check_answer(Round, int phase, ClientId client, const Message& message) const override {
    const Answer answer("centralised", client, message);
    if (phase == kTellCount) {
      answer.integer("num_examples", 0, kMostSamples);
    } else if (phase == kHandOver) {
      const std::size_t count = counts_.at(client);
      answer.floats("inputs", count * static_cast<std::size_t>(input_.size()));
      if (multi_label_) {
        answer.floats("targets", count * classes_, 0, 1);
      } else {
        answer.integers("labels", count, 0, static_cast<std::int64_t>(classes_) - 1);
      }
    } else if (client == host_) {
      answer.model("model", *global_);
    }
    answer.expect_nothing_else();
  }

  void uplink(Round, int phase, std::map<ClientId, Message>& answers, StageSeconds& seconds) override {
    const StageTimer timer(seconds, Stage::aggregate);
    if (phase == kTellCount) {
      counts_.clear();
      for (const auto& [client, answer] : answers) {
        counts_[client] = static_cast<std::size_t>(answer.integer("num_examples"));
      }
    } else if (phase == kHandOver) {
      gather(answers);
    } else {
      if (const auto host = answers.find(host_); host != answers.end()) {
        global_ = host->second.model("model");
      }
      gathered_ = {};
    }
  }

  [[nodiscard]] std::unique_ptr<Predictor> predictor(TestPolicy policy, TestContext&) const override {
    const bool serves = policy == TestPolicy::native || policy == TestPolicy::known_association;
    return serves ? make_single_model_predictor(global_) : nullptr;
  }
  [[nodiscard]] Passes passes_to_serve(int, bool) const override { return {1, 0}; }
  [[nodiscard]] std::vector<ServedModel> served() const override { return {{std::nullopt, 0, global_, {}, 0}}; }

  void save(ModelWriter& out) const override { out.put(global_); }  // the data do not outlive a round
  void load(ModelReader& in) override { global_ = in.get_model(); }

 private:
  /// Everybody's samples behind one another. The first client that answered gets them.
  void gather(std::map<ClientId, Message>& answers) {
    std::size_t samples = 0;
    for (const auto& [client, answer] : answers) {
      samples += counts_.at(client);
    }
    Floats inputs;  // at once: growing would take their memory twice
    inputs.reserve(samples * static_cast<std::size_t>(input_.size()));
    gathered_ = {};
    gathered_.values["inputs"] = std::move(inputs);
    host_ = answers.empty() ? ClientId{} : answers.begin()->first;
    for (auto& [client, answer] : answers) {
      append<Floats>(gathered_, "inputs", answer);
      multi_label_ ? append<Floats>(gathered_, "targets", answer) : append<Ints>(gathered_, "labels", answer);
    }
  }

  /// SGD on the union, bit for bit as local training where the union is one client's; the mean loss.
  double train(ClientContext& context, Parameters& model, const Message& samples) const {
    const std::size_t count = samples.floats("inputs").size() / static_cast<std::size_t>(input_.size());
    const auto size = static_cast<std::size_t>(fit_.batch_size);
    const Rng rng = context.rng.derive("train");
    MomentumSgd sgd(fit_, model.size(), count);
    std::vector<float> gradient(model.size());
    double loss_sum = 0;
    for (int epoch = 0; epoch < fit_.local_epochs; ++epoch) {
      const std::vector<std::uint32_t> order =
          rng.derive("epoch", static_cast<std::uint64_t>(epoch)).permutation(count);
      for (std::size_t begin = 0; begin < count; begin += size) {
        const auto items = std::span(order).subspan(begin, std::min(size, count - begin));
        const double loss =
            context.trainer.gradient(model, batch_of(samples, items, context.trainer.engine().layout()), gradient);
        require_finite(std::isfinite(loss), "centralised", fit_.learning_rate);
        sgd.step(model.values(), gradient);
        loss_sum += loss * static_cast<double>(items.size());
      }
    }
    require_finite(model.all_finite(), "centralised", fit_.learning_rate);
    return loss_sum / std::max(static_cast<double>(count) * fit_.local_epochs, 1.0);
  }

  [[nodiscard]] Batch batch_of(const Message& samples, std::span<const std::uint32_t> items, BatchLayout layout) const {
    const auto copy_rows = [&](const Floats& from, std::size_t width, auto& to) {
      for (const std::uint32_t item : items) {
        const auto row = from.begin() + static_cast<std::ptrdiff_t>(item * width);
        to.insert(to.end(), row, row + static_cast<std::ptrdiff_t>(width));
      }
    };
    Floats rows;
    copy_rows(samples.floats("inputs"), static_cast<std::size_t>(input_.size()), rows);
    std::vector<std::int32_t> labels(items.size());
    for (std::size_t i = 0; i < items.size() && !multi_label_; ++i) {
      labels[i] = static_cast<std::int32_t>(samples.ints("labels")[items[i]]);
    }
    Batch empty;
    empty.shape = input_;
    empty.layout = layout;
    Batch batch = with_rows(empty, rows, labels);
    if (multi_label_) {
      batch.labels.clear();
      copy_rows(samples.floats("targets"), classes_, batch.targets);
    }
    return batch;
  }

  CentralisedOptions options_;
  FitOptions fit_;
  SampleShape input_;
  std::size_t classes_ = 0;
  bool multi_label_ = false;
  ParametersPtr global_;
  std::map<ClientId, std::size_t> counts_;  ///< samples of those who take part in the round
  ClientId host_{};                         ///< whose machine is the one place
  Message gathered_;                        ///< everybody's samples, on their way there
};

}  // namespace

std::unique_ptr<Algorithm> make_centralised(const CentralisedOptions& options) {
  return std::make_unique<Centralised>(options);
}

}  // namespace feroma
