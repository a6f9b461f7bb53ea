#include "feroma/net/client.h"

#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <random>
#include <thread>

#include "feroma/core/error.h"
#include "feroma/core/files.h"
#include "feroma/v1/federation.grpc.pb.h"
#include "net/agent.h"
#include "net/endpoint.h"

namespace feroma {
namespace {

using net::Ending;

class GrpcLink final : public net::ServerLink {
 public:
  explicit GrpcLink(const std::shared_ptr<grpc::Channel>& channel)
      : stub_(v1::Federation::NewStub(channel)), stream_(stub_->Train(&context_)) {}

  ~GrpcLink() override { static_cast<void>(end()); }

  /// Ends the connection and tells what the server had to say about it.
  grpc::Status end() {
    if (!ended_) {
      if (!read_all_) {
        context_.TryCancel();  // what was read to its end has a reason that must not be overwritten
      }
      status_ = stream_->Finish();
      ended_ = true;
    }
    return status_;
  }

  bool send(const v1::ClientFrame& frame) override { return stream_->Write(frame); }
  bool receive(v1::ServerFrame& frame) override {
    read_all_ = !stream_->Read(&frame);
    return !read_all_;
  }
  void cancel() override { context_.TryCancel(); }

 private:
  std::unique_ptr<v1::Federation::Stub> stub_;
  grpc::ClientContext context_;
  std::unique_ptr<grpc::ClientReaderWriter<v1::ClientFrame, v1::ServerFrame>> stream_;
  std::atomic<bool> read_all_ = false;
  bool ended_ = false;
  grpc::Status status_;
};

std::shared_ptr<grpc::ChannelCredentials> credentials_of(const ClientPlan& plan) {
  if (plan.authority.empty()) {
    require(net::is_loopback(plan.server), ErrorCode::invalid_config,
            "a connection without certificates is for loopback only, got {}: see feroma cert", plan.server);
    return grpc::InsecureChannelCredentials();
  }
  grpc::SslCredentialsOptions options;
  options.pem_root_certs = read_text(plan.authority);
  options.pem_cert_chain = read_text(plan.certificate);
  options.pem_private_key = read_text(plan.key);
  return grpc::SslCredentials(options);
}

/// Pauses that double up to a limit, each drawn from the whole of it, so that many clients do not come back at once.
class Backoff {
 public:
  explicit Backoff(const ClientPlan& plan) : plan_(plan), pause_(plan.first_pause_seconds) {}

  void reset() { pause_ = plan_.first_pause_seconds; }
  [[nodiscard]] double next() {
    const double drawn = std::uniform_real_distribution<double>(0, pause_)(random_);
    pause_ = std::min(2 * pause_, plan_.longest_pause_seconds);
    return drawn;
  }

 private:
  const ClientPlan& plan_;
  double pause_;
  std::mt19937_64 random_{std::random_device()()};
};

void rest(double seconds, const std::atomic<bool>& stop) {
  const auto until = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  while (!stop && std::chrono::steady_clock::now() < until) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
}

}  // namespace

void run_client(const ClientPlan& plan, ClientData& data, const std::atomic<bool>& stop) {
  const auto note = [&](const std::string& text) {
    if (plan.note) {
      plan.note(text);
    }
  };
  const std::shared_ptr<grpc::ChannelCredentials> credentials = credentials_of(plan);
  net::Agent agent({plan.state, plan.id, plan.privacy, plan.note}, data, stop);
  Backoff backoff(plan);
  for (;;) {
    require(!stop, ErrorCode::interrupted, "the client was told to stop");
    // A channel of its own for each connection: gRPC's pauses between attempts would be added to ours.
    grpc::ChannelArguments arguments;
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    const std::shared_ptr<grpc::Channel> channel = grpc::CreateCustomChannel(plan.server, credentials, arguments);
    const auto deadline = std::chrono::system_clock::now() + std::chrono::duration_cast<std::chrono::microseconds>(
                                                                 std::chrono::duration<double>(plan.connect_seconds));
    Ending ending{v1::REASON_UNSPECIFIED, "no connection", 1};
    if (channel->WaitForConnected(deadline)) {
      GrpcLink link(channel);
      const int before = agent.steps();
      ending = agent.serve(link);
      if (agent.steps() > before) {
        backoff.reset();
      }
      const grpc::Status status = link.end();
      if (status.error_code() == grpc::StatusCode::UNAUTHENTICATED) {
        ending = {v1::UNKNOWN_CLIENT, status.error_message(), 0};
      }
    }
    if (ending.reason == v1::FINISHED) {
      note("the federation is finished");
      return;
    }
    require(!stop, ErrorCode::interrupted, "the client was told to stop");
    require(ending.retry_seconds > 0, ErrorCode::unsupported, "the server refuses this client ({}): {}",
            v1::Reason_Name(ending.reason), ending.text);
    const double pause = std::max(backoff.next(), ending.reason == v1::SHUTTING_DOWN ? ending.retry_seconds : 0.0);
    note(fmt::format("{}; again in {:.1f} s", ending.text, pause));
    rest(pause, stop);
  }
}

}  // namespace feroma
