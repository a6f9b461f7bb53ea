#include "net/agent.h"

#include <algorithm>
#include <thread>

#include "feroma/core/build_info.h"
#include "feroma/core/error.h"
#include "feroma/net/codec.h"
#include "feroma/privacy/disclosure.h"
#include "feroma/runtime/server_context.h"
#include "feroma/runtime/workers.h"

namespace feroma::net {
namespace {

/// Bytes of a task, at most: what travels besides models, and the models of a method with many.
constexpr std::uint64_t kSmallParts = std::uint64_t{1} << 20;
constexpr std::uint64_t kModelsPerTask = 256;
/// How often a connection looks whether the client is to stop.
constexpr auto kGlance = std::chrono::milliseconds(200);

/// A server may ask for more privacy than the client wants, never for less.
void check_privacy(const PrivacyOptions& own, const PrivacyOptions& job) {
  const auto needs = [](bool holds, std::string_view key, const auto& wanted, const auto& got) {
    require(holds, ErrorCode::unsupported, "[privacy] this client asks for {} {} or stricter, the federation has {}",
            key, wanted, got);
  };
  if (own.mode == PrivacyMode::off) {
    return;
  }
  needs(job.mode == own.mode || job.guarded(), "mode", name_of(own.mode), name_of(job.mode));
  if (!own.guarded()) {
    return;
  }
  needs(own.mode == PrivacyMode::gaussian || job.mode == own.mode, "mode", name_of(own.mode), name_of(job.mode));
  needs(job.epsilon_total <= own.epsilon_total, "epsilon_total", own.epsilon_total, job.epsilon_total);
  needs(job.mode == PrivacyMode::pure || job.delta_total <= own.delta_total, "delta_total", own.delta_total,
        job.delta_total);
  needs(own.versions_disjoint || !job.versions_disjoint, "versions_disjoint", own.versions_disjoint,
        job.versions_disjoint);
  needs(own.neighbours == job.neighbours || own.neighbours == Neighbours::add_remove, "neighbours",
        name_of(own.neighbours), name_of(job.neighbours));
  needs(own.calibration == job.calibration || own.calibration == Calibration::analytic, "calibration",
        name_of(own.calibration), name_of(job.calibration));
}

/// What of a server's config concerns its clients. Data and instruction set are the client's own: all vector widths
/// give the same bits.
Settings own_part(const Settings& config) {
  Settings part;
  for (const auto& [key, setting] : config) {
    const bool is_scenario = key.starts_with("scenario.");
    const bool shared = key == "scenario.seed" || key == "scenario.rounds" || key == "scenario.clients";
    const bool others = key.starts_with("membership.") || key.starts_with("attack.") || key == "training.simd" ||
                        key == "privacy.ledger";
    if (!others && (!is_scenario || shared)) {
      part[key] = setting;
    }
  }
  return part;
}

void fill(v1::Score& score, const Tally& tally) {
  score.set_loss(tally.loss());
  score.set_accuracy(tally.accuracy());
  score.set_count(tally.count);
}

}  // namespace

/// What the client needs to work for one federation.
struct Agent::Work {
  Experiment experiment;
  ModelSpec model;
  Rng rng;
  ParametersPtr initial;
  std::unique_ptr<Algorithm> algorithm;
  std::unique_ptr<Engine> engine;
  std::unique_ptr<Trainer> trainer;
  ClientState state;
  std::optional<Disclosure> disclosure;
  ClientId id{};
};

/// What arrived and waits for its turn; the reader fills it, the worker empties it.
struct Agent::Inbox {
  struct Job {
    v1::Task task;
    Bytes bytes;
  };
  using Item = std::variant<Job, v1::Committed, v1::Verdict, Ending>;

  void push(Item item) {
    {
      const std::lock_guard lock(mutex);
      if (std::holds_alternative<Job>(item) || std::holds_alternative<v1::Committed>(item)) {
        // The server has gone on: what it asked before is of no use to it any more.
        std::erase_if(items, [](const Item& old) { return std::holds_alternative<Job>(old); });
      }
      items.push_back(std::move(item));
    }
    arrived.notify_one();
  }
  Item pop() {
    std::unique_lock lock(mutex);
    arrived.wait(lock, [this] { return !items.empty(); });
    Item item = std::move(items.front());
    items.pop_front();
    return item;
  }

  std::mutex mutex;
  std::condition_variable arrived;
  std::deque<Item> items;
};

Agent::Agent(AgentOptions options, ClientData& data, const std::atomic<bool>& stop)
    : options_(std::move(options)), data_(data), stop_(stop) {}
Agent::~Agent() = default;

void Agent::note(const std::string& text) const {
  if (options_.note) {
    options_.note(text);
  }
}

v1::ClientFrame Agent::hello() const {
  v1::ClientFrame frame;
  v1::Hello& hello = *frame.mutable_hello();
  hello.set_protocol(kProtocol);
  hello.set_software(fmt::format("feroma {}", build_info().version));
  const auto [job, committed] = ClientState::peek(options_.state);
  hello.set_job(job);
  hello.set_committed(committed);
  hello.set_id(options_.id);
  return frame;
}

bool Agent::send(v1::ClientFrame frame) {
  const std::lock_guard lock(sending_);
  frame.set_session(session_);
  frame.set_counter(++sent_);
  return link_->send(frame);
}

void Agent::prepare_work(const v1::Welcome& welcome) {
  if (work_ != nullptr) {
    return;  // the server holds clients to their job, so it is the same one
  }
  Experiment experiment = read_experiment(own_part(parse_settings(welcome.config(), "the server's config")));
  require(experiment.algorithms.size() == 1, ErrorCode::invalid_config,
          "the server's config must have one algorithm, got {}", experiment.algorithms.size());
  check_privacy(options_.privacy, experiment.privacy);
  require(!experiment.has_script_model(), ErrorCode::unsupported,
          "the federation's model is a file; this client loads none that a server names");
  const ModelSpec model = experiment.model(data_.shape(), data_.classes());
  const Rng rng(static_cast<std::uint64_t>(experiment.scenario.seed));
  const ParametersPtr initial = share(initialise(model, rng.derive("init")));
  require(layout_digest(initial->layout()) == welcome.layout(), ErrorCode::unsupported,
          "this client's samples are {}x{}x{} of {} classes, the federation's model is for others",
          data_.shape().channels, data_.shape().height, data_.shape().width, data_.classes());
  std::unique_ptr<Algorithm> algorithm = experiment.algorithms.front().make();
  ServerContext context = make_server_context(experiment, model, initial, rng);
  context.rounds = experiment.scenario.rounds;
  context.multi_label = data_.multi_label();
  // An encoder file is the server's; clients are sent what they need of it.
  context.load_model = [initial](const std::string&) { return initial; };
  prepare(*algorithm, context);
  std::unique_ptr<Engine> engine = engine_factory(experiment.engine(), model)();
  auto trainer = std::make_unique<Trainer>(*engine);
  std::optional<Disclosure> disclosure;
  if (experiment.privacy.guarded()) {
    disclosure.emplace(experiment.privacy, options_.state / "ledger", welcome.job());
  }
  work_ = std::make_unique<Work>(Work{std::move(experiment), model, rng, initial, std::move(algorithm),
                                      std::move(engine), std::move(trainer),
                                      ClientState(options_.state, initial->shared_layout(), welcome.job()),
                                      std::move(disclosure), static_cast<ClientId>(welcome.id())});
}

TakenStep Agent::take(const v1::Task& task, std::span<const std::byte> bytes) {
  const Message received = decode_message(bytes, work_->initial->shared_layout(), "the server's task");
  const ClientShard shard = data_.shard(task.round());
  const ClientSeat seat{work_->id, client_stream(work_->rng, work_->id, task.round()), shard,
                        [this, reached = shard.window](int window) {
                          require(window <= reached, ErrorCode::internal,
                                  "[client] a window must have been reached ({}), got {}", reached, window);
                          return data_.train_of_window(window);
                        },
                        work_->disclosure ? &*work_->disclosure : nullptr};
  TakenStep step{
      task.round(), task.phase(), task.digest(), {}, {}, {}, work_->state.before(task.round(), task.phase())};
  ClientOutcome outcome =
      take_step(*work_->algorithm, task.round(), task.task(), received, seat, step.after, *work_->trainer);
  step.report = outcome.report;
  if (const auto* answer = std::get_if<ClientAnswer>(&outcome.answer)) {
    step.answer = encode_message(answer->message, work_->initial->layout());
  } else {
    step.failed = std::get<ClientDropped>(outcome.answer).reason;
  }
  steps_ += 1;
  return step;
}

bool Agent::answer(const v1::Task& task, std::span<const std::byte> bytes) {
  const TakenStep* step = work_->state.find(task.round(), task.phase(), task.digest());
  if (step == nullptr) {
    // On disk before it is sent: what the server may have counted must not be forgotten.
    work_->state.keep(take(task, bytes));
    step = work_->state.find(task.round(), task.phase(), task.digest());
  }
  const Parcel parcel = make_parcel(step->answer);
  v1::ClientFrame frame;
  v1::Answer& head = *frame.mutable_answer();
  head.set_round(step->round);
  head.set_phase(step->phase);
  head.set_task(step->task);
  head.set_size(step->answer.size());
  head.set_failed(step->failed);
  if (!step->answer.empty()) {
    head.set_digest(parcel.digest);
  }
  if (!step->answer.empty() && !work_->experiment.privacy.guarded()) {
    v1::Telemetry& telemetry = *head.mutable_telemetry();
    telemetry.set_num_examples(step->report.num_examples);
    telemetry.set_train_loss(step->report.train_loss);
    fill(*telemetry.mutable_before(), step->report.before);
    fill(*telemetry.mutable_after(), step->report.after);
  }
  bool sent = send(std::move(frame));
  for (std::size_t begin = 0; sent && begin < parcel.bytes->size(); begin += kPieceSize) {
    const std::size_t count = std::min(kPieceSize, parcel.bytes->size() - begin);
    v1::ClientFrame piece;
    piece.mutable_piece()->set_data(parcel.bytes->data() + begin, count);
    sent = send(std::move(piece));
  }
  return sent;
}

void Agent::read_frames(ServerLink& link, Inbox& inbox) const {
  std::uint64_t received = 1;  // the welcome
  std::optional<Inbox::Job> job;
  const std::uint64_t largest = kSmallParts + kModelsPerTask * work_->initial->layout().size * sizeof(float);
  v1::ServerFrame frame;
  Ending lost{v1::REASON_UNSPECIFIED, "the connection was lost", 0.5};
  while (link.receive(frame)) {
    received += 1;
    if (frame.session() != session_ || frame.counter() != received) {
      lost.text = "the server sent a frame of another session or out of order";
      break;
    }
    if (frame.has_task()) {
      job = Inbox::Job{frame.task(), {}};
      if (job->task.size() == 0 || job->task.size() > largest || job->task.round() < 1 || job->task.phase() < 0) {
        lost.text =
            fmt::format("the server announced a task of {} bytes, at most {} are read", job->task.size(), largest);
        break;
      }
    } else if (frame.has_piece()) {
      const auto bytes = std::as_bytes(std::span(frame.piece().data()));
      if (!job || bytes.empty() || bytes.size() > job->task.size() - job->bytes.size()) {
        lost.text = "the server sent a piece of nothing that it announced";
        break;
      }
      job->bytes.insert(job->bytes.end(), bytes.begin(), bytes.end());
      if (job->bytes.size() == job->task.size()) {
        if (digest_of(job->bytes) != job->task.digest()) {
          lost.text = "a task's digest is not the announced one";
          break;
        }
        inbox.push(std::move(*job));
        job.reset();
      }
    } else if (frame.has_committed()) {
      inbox.push(frame.committed());
    } else if (frame.has_verdict()) {
      inbox.push(frame.verdict());
    } else if (frame.has_goodbye()) {
      inbox.push(Ending{frame.goodbye().reason(), frame.goodbye().text(), frame.goodbye().retry_seconds()});
      return;
    }
  }
  inbox.push(std::move(lost));
}

Ending Agent::serve(ServerLink& link) {
  link_ = &link;
  session_.clear();
  sent_ = 0;
  v1::ServerFrame first;
  if (!send(hello()) || !link.receive(first)) {
    return {v1::REASON_UNSPECIFIED, "the server does not answer", 0.5};
  }
  if (first.has_goodbye()) {
    return {first.goodbye().reason(), first.goodbye().text(), first.goodbye().retry_seconds()};
  }
  const v1::Welcome& welcome = first.welcome();
  const bool sensible =
      welcome.committed() >= 0 && welcome.heartbeat_seconds() > 0 && welcome.heartbeat_seconds() < 3600;
  if (!first.has_welcome() || first.counter() != 1 || first.session().size() != 16 || !sensible) {
    return {v1::MALFORMED, "the server does not speak this protocol", 0};
  }
  session_ = first.session();
  prepare_work(first.welcome());
  work_->state.commit(first.welcome().committed());
  note(fmt::format("joined as client {}, round {} is finished", to_index(work_->id), first.welcome().committed()));

  Inbox inbox;
  const auto pause = std::chrono::duration_cast<Clock::duration>(
      std::chrono::duration<double>(std::max(first.welcome().heartbeat_seconds(), 0.01)));
  std::mutex resting;
  std::condition_variable_any rest;
  std::jthread reader([&] { read_frames(link, inbox); });
  std::jthread heart([&](const std::stop_token& end) {
    std::unique_lock lock(resting);
    Clock::time_point next = Clock::now() + pause;
    while (!stop_) {
      rest.wait_for(lock, end, std::min<Clock::duration>(pause, kGlance), [] { return false; });
      if (end.stop_requested()) {
        return;
      }
      if (Clock::now() >= next) {
        v1::ClientFrame beat;
        beat.mutable_beat()->set_echo(1);
        if (!send(std::move(beat))) {
          break;
        }
        next = Clock::now() + pause;
      }
    }
    link.cancel();
  });
  // However this ends, the threads see the end of the connection before they are joined.
  struct Cancel {
    ServerLink& link;
    ~Cancel() { link.cancel(); }
  } const cancel{link};

  for (;;) {
    Inbox::Item item = inbox.pop();
    if (auto* ending = std::get_if<Ending>(&item)) {
      return std::move(*ending);
    }
    if (const auto* committed = std::get_if<v1::Committed>(&item)) {
      work_->state.commit(committed->round());
    } else if (const auto* verdict = std::get_if<v1::Verdict>(&item)) {
      if (verdict->reason() != v1::ACCEPTED && verdict->reason() != v1::DUPLICATE) {
        note(fmt::format("round {}: the answer was refused ({}): {}", verdict->round(),
                         v1::Reason_Name(verdict->reason()), verdict->text()));
      }
    } else {
      const auto& job = std::get<Inbox::Job>(item);
      if (!answer(job.task, job.bytes)) {
        continue;  // the reader tells why
      }
    }
  }
}

}  // namespace feroma::net
