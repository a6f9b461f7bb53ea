// A server that says anything to a client. Chunks are frames as they are (kind 0), frames with the right session and
// number (1), tasks whose announcement is right (2), and tasks of FedAvg with some values of the model replaced (3);
// one that comes first (4) changes the welcome, but for the config: that is the target `welcome`'s, because a server
// may ask for as much work as it likes.
#include <google/protobuf/stubs/logging.h>

#include <atomic>
#include <cstring>

#include "feroma/algorithms/registry.h"
#include "feroma/core/settings.h"
#include "feroma/net/codec.h"
#include "fuzz/chunks.h"
#include "fuzz/few_samples.h"
#include "fuzz/guard.h"
#include "fuzz/scratch.h"
#include "net/agent.h"

namespace {

namespace v1 = feroma::v1;
using feroma::fuzz::Chunk;

constexpr feroma::SampleShape kShape = feroma::fuzz::kFewShape;
constexpr int kClasses = feroma::fuzz::kFewClasses;
constexpr const char* kConfig = R"(
[scenario]
seed = 1
rounds = 3
clients = 2
[training]
model = "mlp"
local_epochs = 1
batch_size = 2
[[algorithm]]
name = "fedavg"
)";

const feroma::ParametersPtr& first_model() {
  static const feroma::ParametersPtr model =
      share(initialise(feroma::make_model("mlp", kShape, kClasses), feroma::Rng(1).derive("init")));
  return model;
}

/// What FedAvg sends, with values of the model from `bytes`.
feroma::Bytes task_of_fedavg(std::span<const std::byte> bytes) {
  feroma::Parameters model = first_model()->clone();
  const std::size_t count = std::min(bytes.size(), model.values().size_bytes());
  std::memcpy(model.values().data(), bytes.data(), count);
  return encode_message({{{"model", share(std::move(model))}}}, first_model()->layout());
}

/// Says what the input holds, whatever the client says.
class Script final : public feroma::net::ServerLink {
 public:
  explicit Script(feroma::fuzz::Chunks chunks) : chunks_(chunks), next_(chunks_.next()) {}

  bool send(const v1::ClientFrame&) override { return !cancelled_; }
  void cancel() override { cancelled_ = true; }
  bool receive(v1::ServerFrame& frame) override {
    if (cancelled_) {
      return false;
    }
    if (said_ == 0) {
      frame = welcome();
      return true;
    }
    if (piece_) {
      frame.Clear();
      frame.mutable_piece()->set_data(piece_->data(), piece_->size());
      piece_.reset();
      return numbered(frame);
    }
    const std::optional<Chunk> chunk = std::exchange(next_, chunks_.next());
    if (!chunk) {
      return false;
    }
    switch (chunk->kind % 5) {
      case 2: return announced(frame, {chunk->bytes.begin(), chunk->bytes.end()});
      case 3: return announced(frame, task_of_fedavg(chunk->bytes));
      default: break;
    }
    if (!frame.ParseFromArray(chunk->bytes.data(), static_cast<int>(chunk->bytes.size()))) {
      return false;  // gRPC ends the stream
    }
    return chunk->kind % 5 == 0 || numbered(frame);
  }

 private:
  v1::ServerFrame welcome() {
    v1::ServerFrame frame;
    v1::Welcome& welcome = *frame.mutable_welcome();
    welcome.set_job("job");
    welcome.set_heartbeat_seconds(10);
    welcome.set_largest(1 << 20);
    welcome.set_layout(feroma::layout_digest(first_model()->layout()));
    welcome.mutable_samples()->set_channels(kShape.channels);
    welcome.mutable_samples()->set_height(kShape.height);
    welcome.mutable_samples()->set_width(kShape.width);
    welcome.mutable_samples()->set_classes(kClasses);
    if (next_ && next_->kind % 5 == 4) {
      v1::Welcome changes;
      if (changes.ParseFromArray(next_->bytes.data(), static_cast<int>(next_->bytes.size()))) {
        welcome.MergeFrom(changes);
      }
      next_ = chunks_.next();
    }
    welcome.set_config(kConfig);
    numbered(frame);
    return frame;
  }
  bool numbered(v1::ServerFrame& frame) {
    frame.set_session("sixteen letters.");
    frame.set_counter(++said_);
    return true;
  }
  bool announced(v1::ServerFrame& frame, feroma::Bytes bytes) {
    frame.Clear();
    v1::Task& task = *frame.mutable_task();
    task.set_round(1);
    task.set_size(bytes.size());
    task.set_digest(feroma::net::digest_of(bytes));
    if (!bytes.empty()) {
      piece_ = std::move(bytes);
    }
    return numbered(frame);
  }

  feroma::fuzz::Chunks chunks_;
  std::optional<Chunk> next_;
  std::uint64_t said_ = 0;
  std::optional<feroma::Bytes> piece_;
  std::atomic<bool> cancelled_ = false;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  google::protobuf::SetLogHandler(nullptr);  // it writes about every text that is none
  static feroma::fuzz::FewSamples samples;
  const feroma::Stop stop;
  Script script(feroma::fuzz::Chunks(feroma::fuzz::bytes_of(data, size)));
  // What a client cannot agree to is an error that says so.
  return feroma::fuzz::guarded(
      [&] {
        feroma::net::AgentOptions options;
        options.state = feroma::fuzz::scratch().folder() / "client";
        feroma::net::Agent agent(options, samples, stop);
        (void)agent.serve(script);
      },
      {feroma::ErrorCode::unsupported});
}
