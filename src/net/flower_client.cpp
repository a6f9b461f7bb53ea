#include <flwr/proto/transport.grpc.pb.h>
#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <stop_token>

#include "core/endpoint.h"
#include "feroma/core/error.h"
#include "feroma/core/files.h"
#include "feroma/net/flower.h"
#include "net/flower_worker.h"
#include "net/grpc_log.h"

namespace feroma {
namespace {

namespace flower = flwr::proto;

/// Flower's own figure; servers take faster pings for an attack.
constexpr int kKeepaliveMs = 210'000;

std::shared_ptr<grpc::ChannelCredentials> credentials_of(const FlowerClientPlan& plan) {
  if (plan.authority.empty()) {
    require(net::is_loopback(plan.server), ErrorCode::invalid_config,
            "a connection without certificates is for loopback only, got {}: give the server's root certificate",
            plan.server);
    return grpc::InsecureChannelCredentials();
  }
  grpc::SslCredentialsOptions options;
  options.pem_root_certs = read_text(plan.authority);
  return grpc::SslCredentials(options);
}

std::shared_ptr<grpc::Channel> make_channel(const FlowerClientPlan& plan, std::size_t largest_request) {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, kKeepaliveMs);
  arguments.SetInt(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
  arguments.SetMaxReceiveMessageSize(
      static_cast<int>(std::min<std::size_t>(largest_request, std::numeric_limits<int>::max())));
  return grpc::CreateCustomChannel(plan.server, credentials_of(plan), arguments);
}

/// How a connection ended.
struct Ending {
  bool worked = false;                           ///< something was asked and answered
  std::optional<std::int64_t> goodbye = {};      ///< seconds until the client is wanted again; 0: never
  std::string text = "the connection was lost";  ///< for people
};

/// Answers a server until the stream ends.
Ending serve(const std::shared_ptr<grpc::Channel>& channel, net::FlowerWorker& worker, const Stop& stop) {
  const std::unique_ptr<flower::FlowerService::Stub> stub = flower::FlowerService::NewStub(channel);
  grpc::ClientContext context;
  const auto stream = stub->Join(&context);
  const std::stop_callback hang_up(stop.token(), [&context] { context.TryCancel(); });
  Ending ending;
  flower::ServerMessage asked;
  while (!ending.goodbye && stream->Read(&asked)) {
    const bool written = stream->Write(worker.answer(asked));
    if (asked.has_reconnect_ins()) {
      ending.goodbye = std::max<std::int64_t>(asked.reconnect_ins().seconds(), 0);
    } else if (written) {
      ending.worked = true;
    }
    asked.Clear();
  }
  stream->WritesDone();
  if (ending.goodbye) {
    context.TryCancel();  // as Flower's own clients do
  }
  const grpc::Status status = stream->Finish();
  if (!ending.goodbye && !status.ok() && !status.error_message().empty()) {
    ending.text = status.error_message();
  }
  return ending;
}

}  // namespace

void run_flower_client(const FlowerClientPlan& plan, ClientData& data, const Stop& stop) {
  const auto note = [&](const std::string& text) {
    if (plan.note) {
      plan.note(text);
    }
  };
  require(plan.privacy.mode == PrivacyMode::off, ErrorCode::invalid_config,
          "privacy.mode must be off for a client of a Flower server, which knows no private profiles, got {}",
          name_of(plan.privacy.mode));
  net::write_into_our_log(net::Handshakes::tell);
  data.expect_own_scale();  // a server of Flower does not say how inputs are scaled
  net::FlowerWorker worker(plan, data);
  double pause = plan.first_pause_seconds;
  for (;;) {
    require(!stop.requested(), ErrorCode::interrupted, "the client was told to stop");
    const std::shared_ptr<grpc::Channel> channel = make_channel(plan, worker.largest_request());
    const auto deadline = std::chrono::system_clock::now() + plan.clock->real(Clock::seconds(plan.connect_seconds));
    Ending ending{false, std::nullopt, "no connection"};
    if (channel->WaitForConnected(deadline)) {
      note(fmt::format("joined {}", plan.server));
      ending = serve(channel, worker, stop);
    }
    require(!stop.requested(), ErrorCode::interrupted, "the client was told to stop");
    if (ending.goodbye && *ending.goodbye == 0) {
      note("the server is done with this client");
      return;
    }
    if (ending.goodbye) {
      note(fmt::format("the server wants this client again in {} s", *ending.goodbye));
      plan.clock->rest_for(static_cast<double>(*ending.goodbye), stop.token());
      pause = plan.first_pause_seconds;
      continue;
    }
    pause = ending.worked ? plan.first_pause_seconds : pause;
    note(fmt::format("{}; again in {:.1f} s", ending.text, pause));
    plan.clock->rest_for(pause, stop.token());
    pause = std::min(2 * pause, plan.longest_pause_seconds);
  }
}

}  // namespace feroma
