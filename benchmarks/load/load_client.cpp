#include "load_client.h"

#include <fmt/core.h>

#include <condition_variable>
#include <random>

#include "feroma/core/files.h"
#include "feroma/net/certificates.h"
#include "feroma/net/codec.h"

namespace feroma::load {
namespace {

std::shared_ptr<grpc::ChannelCredentials> credentials_of(const Shared& shared, std::uint32_t id) {
  if (shared.certificates.empty()) {
    return grpc::InsecureChannelCredentials();
  }
  const CertificateFiles own = client_files(shared.certificates, fmt::format("load-{}", id));
  grpc::SslCredentialsOptions options;
  options.pem_root_certs = read_text(authority_files(shared.certificates).certificate);
  options.pem_cert_chain = read_text(own.certificate);
  options.pem_private_key = read_text(own.key);
  return grpc::SslCredentials(options);
}

std::uint64_t nanoseconds() {
  return static_cast<std::uint64_t>(Clock::now().time_since_epoch() / std::chrono::nanoseconds(1));
}

/// A profile that the server believes; clients with the same remainder look alike.
Floats made_up_profile(const ProfileShape& shape, std::uint32_t id) {
  Floats profile(shape.size(), 0.1F + 0.2F * static_cast<float>(id % 4));
  return profile;
}

/// What is answered: the model that came, or a profile where none did.
Bytes answer_to(const net::ClientWork& work, const net::Job& job, std::uint32_t id) {
  const Message received = decode_message(job.bytes, work.initial->shared_layout(), "task");
  Message answer;
  if (received.has("model")) {
    answer.values["model"] = received.model("model");
    answer.values["num_examples"] = Ints{100};
    answer.values["gain"] = Ints{1};
  } else {
    answer.values["profile"] = made_up_profile(*work.algorithm->profile_shape(), id);
    answer.values["num_samples"] = Ints{100};
  }
  return encode_message(answer, work.initial->layout());
}

}  // namespace

class LoadClient::Stream final : public grpc::ClientBidiReactor<v1::ClientFrame, v1::ServerFrame> {
 public:
  Stream(LoadClient& owner, Shared& shared, std::uint32_t id, const std::shared_ptr<grpc::Channel>& channel)
      : owner_(owner), shared_(shared), id_(id), stub_(v1::Federation::NewStub(channel)) {
    v1::ClientFrame frame;
    frame.mutable_hello()->set_protocol(net::kProtocol);
    frame.mutable_hello()->set_id(id);
    frame.mutable_hello()->set_software("feroma load");
    stub_->async()->Train(&context_, this);
    StartRead(&incoming_);
    queue(std::move(frame));
    StartCall();
  }

  void beat() {
    v1::ClientFrame frame;
    frame.mutable_beat()->set_echo(nanoseconds());
    if (welcomed_) {
      queue(std::move(frame));
    }
  }
  void cancel() { context_.TryCancel(); }
  void join() {
    std::unique_lock lock(mutex_);
    finished_.wait(lock, [this] { return done_; });
  }

  void OnReadDone(bool ok) override {
    if (!ok) {
      return;
    }
    if (!intake_) {
      greet();
    } else {
      if (incoming_.has_beat()) {
        const double seconds = 1e-9 * static_cast<double>(nanoseconds() - incoming_.beat().echo());
        const std::lock_guard lock(shared_.mutex);
        shared_.beat_seconds.push_back(seconds);
      }
      if (std::optional<net::Saying> saying = intake_->take(incoming_)) {
        handle(*saying);
      }
    }
    StartRead(&incoming_);
  }
  void OnWriteDone(bool) override {
    {
      const std::lock_guard lock(mutex_);
      writing_ = false;
    }
    write();
  }
  void OnDone(const grpc::Status&) override {
    if (welcomed_) {
      shared_.connected -= 1;
    }
    owner_.ended(goodbye_);
    const std::lock_guard lock(mutex_);
    done_ = true;
    finished_.notify_all();
  }

 private:
  void greet() {
    if (!incoming_.has_welcome()) {
      context_.TryCancel();
      return;
    }
    session_ = incoming_.session();
    std::uint64_t largest = 0;
    {
      const std::lock_guard lock(shared_.mutex);
      if (!shared_.work) {
        const v1::Samples& samples = incoming_.welcome().samples();
        shared_.work = net::make_client_work(
            incoming_.welcome(), {{samples.channels(), samples.height(), samples.width()}, samples.classes(), false},
            {});
      }
      largest = shared_.work->largest_task();
    }
    intake_.emplace(session_, largest);
    welcomed_ = true;
    shared_.connected += 1;
  }

  void handle(const net::Saying& saying) {
    if (const auto* job = std::get_if<net::Job>(&saying)) {
      const Bytes bytes = answer_to(*shared_.work, *job, id_);
      v1::ClientFrame frame;
      v1::Answer& head = *frame.mutable_answer();
      head.set_round(job->task.round());
      head.set_phase(job->task.phase());
      head.set_task(job->task.digest());
      head.set_size(bytes.size());
      head.set_digest(net::digest_of(bytes));
      queue(std::move(frame));
      for (std::size_t begin = 0; begin < bytes.size(); begin += net::kPieceSize) {
        v1::ClientFrame piece;
        piece.mutable_piece()->set_data(bytes.data() + begin, std::min(net::kPieceSize, bytes.size() - begin));
        queue(std::move(piece));
      }
      shared_.answers += 1;
    } else if (const auto* committed = std::get_if<v1::Committed>(&saying)) {
      shared_.committed = static_cast<std::uint64_t>(committed->round());
    } else if (std::holds_alternative<net::Ending>(saying)) {
      goodbye_ = true;
      context_.TryCancel();
    }
  }

  void queue(v1::ClientFrame frame) {
    {
      const std::lock_guard lock(mutex_);
      frame.set_session(session_);
      frame.set_counter(++numbered_);
      outbox_.push_back(std::move(frame));
    }
    write();
  }

  void write() {
    {
      const std::lock_guard lock(mutex_);
      if (writing_ || outbox_.empty() || done_) {
        return;
      }
      outgoing_ = std::move(outbox_.front());
      outbox_.pop_front();
      writing_ = true;
    }
    StartWrite(&outgoing_);  // its callback may come at once, on this thread
  }

  LoadClient& owner_;
  Shared& shared_;
  const std::uint32_t id_;
  std::unique_ptr<v1::Federation::Stub> stub_;
  grpc::ClientContext context_;
  v1::ServerFrame incoming_;
  v1::ClientFrame outgoing_;
  std::optional<net::Intake> intake_;
  std::string session_;
  std::atomic<bool> welcomed_ = false;
  std::atomic<bool> goodbye_ = false;
  std::mutex mutex_;
  std::condition_variable finished_;
  std::deque<v1::ClientFrame> outbox_;
  std::uint64_t numbered_ = 0;
  bool writing_ = false;
  bool done_ = false;
};

LoadClient::LoadClient(Shared& shared, std::uint32_t id)
    : shared_(shared), id_(id), credentials_(credentials_of(shared, id)) {}

LoadClient::~LoadClient() { stop(); }

void LoadClient::ended(bool by_goodbye) {
  const std::lock_guard lock(mutex_);
  over_ = true;
  dismissed_ = dismissed_ || by_goodbye;
  (by_goodbye ? shared_.goodbyes : shared_.lost) += 1;
  thread_local std::mt19937_64 random{std::random_device()()};
  again_ = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                              std::chrono::duration<double>(std::uniform_real_distribution<double>(0, pause_)(random)));
  pause_ = std::min(2 * pause_, 20.0);
}

void LoadClient::tick(Clock::time_point now) {
  std::unique_lock lock(mutex_);
  if (stream_ != nullptr && over_) {
    std::unique_ptr<Stream> old = std::move(stream_);
    over_ = false;
    lock.unlock();
    old->join();  // its last callback is about to return
    return;
  }
  if (now < again_ || dismissed_) {
    return;
  }
  again_ = now + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(shared_.heartbeat_seconds));
  if (stream_ != nullptr) {
    stream_->beat();
    return;
  }
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  stream_ =
      std::make_unique<Stream>(*this, shared_, id_, grpc::CreateCustomChannel(shared_.server, credentials_, arguments));
}

void LoadClient::stop() {
  std::unique_ptr<Stream> last;
  {
    const std::lock_guard lock(mutex_);
    dismissed_ = true;
    last = std::move(stream_);
  }
  if (last != nullptr) {
    last->cancel();
    last->join();
  }
}

}  // namespace feroma::load
