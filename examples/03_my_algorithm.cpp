// FedMedian, an algorithm of one's own: each number of the model is the clients' median. See docs/add-an-algorithm.md.
#include <feroma/feroma.h>

#include <algorithm>
using namespace feroma;

struct FedMedianOptions {
  MomentumChoice momentum_reset = MomentumChoice::inherit;
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("momentum_reset", self.momentum_reset, anything(), "when momentum restarts; inherit takes [training]'s");
  }
};

class FedMedian final : public Algorithm {
 public:
  explicit FedMedian(const FedMedianOptions& options) : options_(options) {}
  void init(const ServerContext& server) override {
    fit_ = with_momentum(server.fit, options_.momentum_reset);
    global_ = server.initial;
  }
  Message downlink(Round, int, ClientId) const override { return {{{"model", global_}}}; }
  Message client_step(Round, int, ClientContext& context, const Message& received) const override {
    return {{{"model", share(train_locally(context, *received.model("model"), fit_))}}};
  }
  void uplink(Round, int, std::map<ClientId, Message>& answers, StageSeconds& seconds) override {
    const StageTimer timer(seconds, Stage::aggregate);
    Parameters next = global_->clone();
    std::vector<float> sorted(answers.size());
    for (std::size_t i = 0; i < next.size(); ++i) {
      std::transform(answers.begin(), answers.end(), sorted.begin(),
                     [i](const auto& answer) { return answer.second.model("model")->values()[i]; });
      std::sort(sorted.begin(), sorted.end(), [](float a, float b) { return std::strong_order(a, b) < 0; });
      next.values()[i] = (sorted[(sorted.size() - 1) / 2] + sorted[sorted.size() / 2]) / 2;
    }
    global_ = share(std::move(next));
  }
  std::unique_ptr<Predictor> predictor(TestPolicy policy, TestContext&) const override {
    const bool serves = policy == TestPolicy::native || policy == TestPolicy::known_association;
    return serves ? make_single_model_predictor(global_) : nullptr;
  }
  std::vector<ServedModel> served() const override { return {{std::nullopt, 0, global_, {}, 0}}; }
  void save(ModelWriter& out) const override { out.put(global_); }
  void load(ModelReader& in) override { global_ = in.get_model(); }

 private:
  FedMedianOptions options_;
  FitOptions fit_;
  ParametersPtr global_;
};

int main(int argc, char** argv) try {
  require(argc == 3, ErrorCode::invalid_config, "usage: {} CONFIG RUN_FOLDER", argv[0]);
  const auto make = [](const FedMedianOptions& options) { return std::make_unique<FedMedian>(options); };
  register_algorithm({"fedmedian", "global", "Yin et al., 2018", {}, plan_of<FedMedianOptions>(make)});
  fmt::print("{}", results_table(run_config(argv[1], {.out = argv[2], .existing = Existing::overwrite})));
} catch (const Error& error) {
  fmt::print(stderr, "{}\n", error.what());
  return exit_code(error.code());
}
