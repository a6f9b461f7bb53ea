// A Flower server that asks our client for anything. Chunks are requests as they are (kind 0), requests that change a
// fit (1) or an evaluation (2) of the client's own model, and fits whose first tensor is the chunk (3). Only the number
// of epochs is kept small: a server may ask for as much work as it likes.
#include <google/protobuf/stubs/logging.h>

#include "fuzz/chunks.h"
#include "fuzz/few_samples.h"
#include "fuzz/guard.h"
#include "net/flower_tensors.h"
#include "net/flower_worker.h"

namespace {

namespace flower = feroma::net::flower;
using feroma::fuzz::Chunk;

constexpr std::int64_t kMostEpochs = 2;

feroma::FlowerClientPlan plan() {
  feroma::FlowerClientPlan plan;
  plan.training.model = "mlp";
  plan.training.fit.local_epochs = 1;
  plan.training.fit.batch_size = 2;
  plan.seed = 1;
  return plan;
}

const flower::Parameters& own_model() {
  static const flower::Parameters tensors = feroma::net::to_flower(initialise(
      feroma::make_model("mlp", feroma::fuzz::kFewShape, feroma::fuzz::kFewClasses), feroma::Rng(1).derive("init")));
  return tensors;
}

/// What is asked; absent where gRPC would end the stream.
std::optional<flower::ServerMessage> request_of(const Chunk& chunk) {
  flower::ServerMessage request;
  if (chunk.kind % 4 == 2) {
    *request.mutable_evaluate_ins()->mutable_parameters() = own_model();
  } else if (chunk.kind % 4 != 0) {
    *request.mutable_fit_ins()->mutable_parameters() = own_model();
  }
  if (chunk.kind % 4 == 3) {
    request.mutable_fit_ins()->mutable_parameters()->mutable_tensors(0)->assign(
        reinterpret_cast<const char*>(chunk.bytes.data()), chunk.bytes.size());
  } else {
    flower::ServerMessage said;
    if (!said.ParseFromArray(chunk.bytes.data(), static_cast<int>(chunk.bytes.size()))) {
      return std::nullopt;
    }
    request.MergeFrom(said);
  }
  if (request.has_fit_ins()) {
    feroma::net::Scalars& config = *request.mutable_fit_ins()->mutable_config();
    if (feroma::net::integer_in(config, "local_epochs").value_or(0) > kMostEpochs) {
      feroma::net::put(config, "local_epochs", kMostEpochs);
    }
  }
  return request;
}

bool fits(const flower::ServerMessage& asked, const flower::ClientMessage& answer) {
  switch (asked.msg_case()) {
    case flower::ServerMessage::kGetPropertiesIns: return answer.has_get_properties_res();
    case flower::ServerMessage::kGetParametersIns: return answer.has_get_parameters_res();
    case flower::ServerMessage::kFitIns: return answer.has_fit_res();
    case flower::ServerMessage::kEvaluateIns: return answer.has_evaluate_res();
    case flower::ServerMessage::kReconnectIns:
    case flower::ServerMessage::MSG_NOT_SET: break;
  }
  return answer.has_disconnect_res();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  google::protobuf::SetLogHandler(nullptr);  // it writes about every text that is none
  static feroma::fuzz::FewSamples samples;
  static const feroma::FlowerClientPlan how = plan();
  feroma::fuzz::Chunks chunks(feroma::fuzz::bytes_of(data, size));
  return feroma::fuzz::guarded([&] {
    feroma::net::FlowerWorker worker(how, samples);
    while (const std::optional<Chunk> chunk = chunks.next()) {
      if (const std::optional<flower::ServerMessage> request = request_of(*chunk)) {
        feroma::fuzz::expect(fits(*request, worker.answer(*request)), "the answer is one to what was asked");
      }
    }
  });
}
