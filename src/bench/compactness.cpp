#include <fmt/core.h>

#include "bench/requirement_parts.h"
#include "bench/workload.h"

namespace feroma::detail {
namespace {

struct SizedModel {
  std::string_view name;
  ModelSpec spec;
  double limit = 0;
};

/// The clients whose time is taken; one at a time, so that they do not wait for one another.
constexpr std::size_t kTimedClients = 6;

/// Processor seconds of one client's extraction of one profile, on average.
double extraction_seconds(Probe& probe, int max_samples) {
  FeromaOptions options = probe.options();
  options.max_samples = max_samples;
  double seconds = 0;
  probe.cell().each(1, [&](std::size_t, Trainer& trainer) {
    for (std::size_t client = 0; client < kTimedClients; ++client) {
      const ClientShard shard = probe.cell().federation().shard(static_cast<ClientId>(client), probe.first_round());
      seconds += thread_seconds_of([&] {
        const View view = profile_view(options, shard.train, shard.held_out, Rng(1));
        const EncodedSamples samples = encode_samples(options, probe.extractor().encoder, trainer, view, true);
        static_cast<void>(extract_profile(options, probe.extractor(), samples, probe.cell().model().classes,
                                          options.subsampling, Rng(1)));
      });
    }
  });
  return seconds / static_cast<double>(kTimedClients);
}

/// Processor seconds of one client's training in one round, on average.
double training_seconds(Probe& probe) {
  double seconds = 0;
  probe.cell().each(1, [&](std::size_t, Trainer& trainer) {
    for (std::size_t client = 0; client < kTimedClients; ++client) {
      const ClientShard shard = probe.cell().federation().shard(static_cast<ClientId>(client), probe.first_round());
      Parameters model = probe.extractor().encoder->clone();
      seconds += thread_seconds_of([&] { trainer.fit(model, shard.train, probe.fit(), Rng(1)); });
    }
  });
  return seconds / static_cast<double>(kTimedClients);
}

}  // namespace

void measure_lengths(Requirement& r5) {
  using enum Target::Side;
  // The smallest and the largest model of the paper: MNIST in colour, CIFAR-100.
  const std::vector<SizedModel> models{{"lenet5", make_model("lenet5", {3, 28, 28}, 10), 0.02},
                                       {"resnet9", make_model("resnet9", {3, 32, 32}, 100), 0.01}};
  for (const SizedModel& model : models) {
    const auto parameters = static_cast<double>(initialise(model.spec, Rng(0)).size());
    const auto add = [&](std::string_view name, std::string_view what, const FeromaOptions& options,
                         std::optional<Target> target, std::optional<double> published = {}) {
      const auto floats = static_cast<double>(profile_shape(options, model.spec).size());
      r5.results.push_back(
          {fmt::format("floats_{}_{}", model.name, name), fmt::format("floats of a profile, {}", what), floats});
      r5.results.push_back({fmt::format("share_{}_{}", model.name, name), "over the model's parameters",
                            floats / parameters, target, published});
    };
    r5.results.push_back({fmt::format("parameters_{}", model.name),
                          fmt::format("parameters of {}, {} classes", model.name, model.spec.classes), parameters});
    add("auto", "preset auto", feroma_preset("auto"), Target{at_most, model.limit});
    add("paper", "preset paper", feroma_preset("paper"), {}, 0.0035);
    FeromaOptions shorter = feroma_preset("auto");
    shorter.full_marginal = false;
    add("short", "auto with profile.full_marginal = false", shorter, {});
  }
}

void measure_extraction_time(Probe& probe, Requirement& r5) {
  StageSeconds seconds = probe.finish();
  r5.results.push_back({"extraction_time", "seconds of extraction over those of training, a whole run of preset auto",
                        seconds[Stage::profile] / seconds[Stage::train], Target{Target::Side::at_most, 0.02}});
  r5.results.push_back({"train_s", "training, seconds", seconds[Stage::train]});
  r5.results.push_back({"profile_s", "extraction, seconds", seconds[Stage::profile]});
  const ScenarioOptions& scenario = probe.cell().federation().options();
  const auto trainings = static_cast<double>(scenario.clients * scenario.rounds);
  const double training = trainings * training_seconds(probe);
  for (const int samples : {400, 300, 200}) {
    const double extraction = static_cast<double>(probe.versions().size()) * extraction_seconds(probe, samples);
    r5.results.push_back({fmt::format("extraction_cpu_{}", samples),
                          fmt::format("the same in processor time, profile.max_samples = {}", samples),
                          extraction / training});
  }
}

}  // namespace feroma::detail
