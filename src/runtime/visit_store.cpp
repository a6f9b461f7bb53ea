#include "feroma/core/error.h"
#include "feroma/evaluation/visit.h"
#include "feroma/runtime/assigned.h"
#include "feroma/runtime/input_survey.h"
#include "feroma/runtime/workers.h"

namespace feroma {
namespace {

/// What the method refuses, under the name that the run gave it.
template <class Step>
auto named(const std::string& label, Step step) {
  try {
    return step();
  } catch (const Error& error) {
    if (error.code() != ErrorCode::unsupported) {
      throw;
    }
    throw Error(error.code(), fmt::format("{}: {}", label, error.what()));
  }
}

}  // namespace

ScaledSamples::ScaledSamples(const VisitorSamples& samples, std::span<const InputScale> scales)
    : all_(with_scales(samples.all, scales)) {
  if (samples.labelled != nullptr) {
    labelled_ = with_scales(*samples.labelled, scales);
  }
}

std::unique_ptr<Engine> visitor_engine(const Experiment& experiment, const ModelSpec& model) {
  use_simd(experiment.simd());
  return engine_factory(experiment.engine(), model)();
}

Assigned assign_from(const OpenedStore& store, const VisitorSamples& samples, const VisitorWish& wish,
                     Disclosure* disclosure) {
  require(samples.all.shape == store.model.input, ErrorCode::invalid_data,
          "samples must be {}x{}x{} as those that the models were trained on, got {}x{}x{}", store.model.input.channels,
          store.model.input.height, store.model.input.width, samples.all.shape.channels, samples.all.shape.height,
          samples.all.shape.width);
  const std::unique_ptr<Engine> engine = visitor_engine(store.experiment, store.model);
  Trainer trainer(*engine);
  StageSeconds seconds;
  const Rng rng(static_cast<std::uint64_t>(store.experiment.scenario.seed));
  const ScaledSamples scaled(samples, store.scales);
  TestContext context{ClientId{0}, scaled.all(), scaled.labelled(), rng.derive("visitor"),
                      trainer,     seconds,      nullptr,           disclosure};
  const Message question = store.algorithm->visitor_question();
  Message sent = question;
  put_scales(sent, store.scales);
  const Message told = store.algorithm->visitor_profile(question, context);
  const Offer offer = named(store.label, [&] { return offer_to_visitor(*store.algorithm, told, wish); });
  Assigned assigned;
  assigned.algorithm = store.label;
  assigned.round = store.round;
  assigned.model = store.experiment.training.model;
  assigned.input = store.model.input;
  assigned.classes = store.model.classes;
  assigned.multi_label = store.multi_label;
  assigned.standardise = store.experiment.training.standardise;
  assigned.scales = store.scales;
  assigned.names = store.names;
  assigned.choice = offer.choice;
  assigned.candidates = static_cast<int>(offer.models.size());
  assigned.bytes_down = sent.bytes() + to_message(offer).bytes();
  assigned.bytes_up = told.bytes();
  assigned.offer = settle_as_visitor(*store.algorithm, offer, context);
  return assigned;
}

}  // namespace feroma
