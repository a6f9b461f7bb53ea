#include "net/agent.h"

#include <algorithm>
#include <thread>

#include "feroma/core/build_info.h"
#include "feroma/core/error.h"
#include "feroma/core/fault_point.h"
#include "feroma/net/codec.h"
#include "feroma/privacy/disclosure.h"
#include "feroma/runtime/input_survey.h"
#include "net/nonce.h"
#include "net/telemetry.h"

namespace feroma::net {
namespace {

/// The server answers every beat; one that has not for so many is given up.
constexpr int kMissedBeats = 6;
/// How long a client that is to stop waits for its goodbye to go out and be answered.
constexpr auto kFarewell = std::chrono::seconds(1);

}  // namespace

/// What the client needs to work for one federation.
struct Agent::Work {
  ClientWork own;
  ClientState state;
  std::optional<Disclosure> disclosure;
  ClientId id{};
  InputScales scales = {};  ///< as the last task says
};

/// What arrived and waits for its turn; the reader fills it, the worker empties it.
struct Agent::Inbox {
  void push(Saying item) {
    {
      const std::lock_guard lock(mutex);
      if (std::holds_alternative<Job>(item) || std::holds_alternative<v1::Committed>(item)) {
        // The server has gone on: what it asked before is of no use to it any more.
        std::erase_if(items, [](const Saying& old) { return std::holds_alternative<Job>(old); });
      }
      items.push_back(std::move(item));
    }
    arrived.notify_one();
  }
  /// Nothing where nothing has arrived until then.
  std::optional<Saying> pop(const Clock& clock, Clock::time_point until) {
    std::unique_lock lock(mutex);
    if (!clock.wait_until(lock, arrived, until, [this] { return !items.empty(); })) {
      return std::nullopt;
    }
    Saying item = std::move(items.front());
    items.pop_front();
    return item;
  }

  std::mutex mutex;
  std::condition_variable_any arrived;
  std::deque<Saying> items;
};

/// What a client waits for, and since when.
struct Agent::Wait {
  std::int64_t round = 0;  ///< whatever a server calls finished, there is one after it
  Clock::time_point since;
  bool answered = false;  ///< in that round, so that it is to go on; else it is to begin
};

Agent::Agent(AgentOptions options, ClientData& data, const Stop& stop)
    : options_(std::move(options)),
      data_(data),
      stop_(stop),
      held_(hold_state_folder(options_.state)),
      guarded_(options_.privacy.guarded()),
      process_(make_nonce()) {}
Agent::~Agent() = default;

void Agent::note(const std::string& text, std::initializer_list<log::Field> fields) const {
  if (options_.note) {
    options_.note(text, fields);
  }
}

v1::Hello Agent::hello() {
  v1::Hello hello;
  hello.set_protocol(kProtocol);
  hello.set_software(fmt::format("feroma {}", build_info().version));
  const ClientState::Summary state = ClientState::peek(options_.state);
  hello.set_job(state.job);
  hello.set_committed(state.committed);
  hello.set_remembers(state.remembers);
  hello.set_id(options_.id.value_or(0));
  hello.set_process(process_);
  hello.set_attempt(++attempts_);
  return hello;
}

void Agent::prepare_work(const v1::Welcome& welcome) {
  if (work_ != nullptr) {
    return;  // the server holds clients to their job, so it is the same one
  }
  data_.expect_columns(columns_in(welcome));  // first: which columns count says how many there are
  ClientWork own = make_client_work(welcome, {data_.shape(), data_.classes(), data_.multi_label()}, options_.privacy);
  std::optional<Disclosure> disclosure;
  guarded_ = own.experiment.privacy.guarded();
  if (guarded_) {
    disclosure.emplace(own.experiment.privacy, ledger_place(options_.privacy, options_.state, options_.witness),
                       welcome.job());
  }
  if (own.algorithm->asks_for_past_windows()) {
    data_.keep_past_windows();
  }
  if (!own.experiment.training.standardise) {
    data_.expect_own_scale();
  }
  ClientState state(options_.state, own.initial->shared_layout(), welcome.job(), static_cast<ClientId>(welcome.id()));
  if (disclosure) {
    disclosure->hold_to((options_.state / "client.state").string(), state.releases());
    state.count(disclosure->counts());
  }
  work_ = std::make_unique<Work>(
      Work{std::move(own), std::move(state), std::move(disclosure), static_cast<ClientId>(welcome.id())});
}

void Agent::hold_to(const v1::Welcome& welcome) const {
  if (work_->disclosure) {
    work_->disclosure->hold_to("the server", known_to(welcome, ""));
  }
}

std::optional<ClientShard> Agent::shard_for(TakenStep& step) {
  try {
    ClientShard shard = data_.shard(std::max(step.round, 1));
    shard.train.scales = shard.held_out.scales = work_->scales;
    return shard;
  } catch (const Error& error) {
    // Somebody may be writing the files: the client misses this round, and looks again in the next.
    if (error.code() != ErrorCode::invalid_data && error.code() != ErrorCode::io) {
      throw;
    }
    note(fmt::format("round {}: not taking part: {}", step.round, error.what()),
         {{"round", step.round}, {"reason", error.what()}});
    // Under a budget the reason stays with the client: it may tell of records.
    step.failed = work_->disclosure ? "its data cannot be read" : error.what();
    return std::nullopt;
  }
}

TakenStep Agent::take(const v1::Task& task, std::span<const std::byte> bytes) {
  Message received = decode_message(bytes, work_->own.initial->shared_layout(), "the server's task");
  if (work_->own.experiment.training.standardise) {
    work_->scales = take_scales(received, work_->own.model.input, "the server's task");
  }
  TakenStep step{
      task.round(), task.phase(), task.digest(), {}, {}, {}, work_->state.before(task.round(), task.phase())};
  const std::optional<ClientShard> shard = shard_for(step);
  if (!shard) {
    return step;
  }
  const ClientSeat seat{work_->id, client_stream(work_->own.rng, work_->id, task.round()), *shard,
                        [this, reached = shard->window](int window) {
                          require(window <= reached, ErrorCode::internal,
                                  "[client] a window must have been reached ({}), got {}", reached, window);
                          return with_scales(data_.train_of_window(window), work_->scales);
                        },
                        work_->disclosure ? &*work_->disclosure : nullptr};
  ClientOutcome outcome =
      take_step(*work_->own.algorithm, task.round(), task.task(), received, seat, step.after, *work_->own.trainer);
  if (work_->disclosure) {
    work_->state.count(work_->disclosure->counts());
  }
  step.report = outcome.report;
  if (const auto* answer = std::get_if<ClientAnswer>(&outcome.answer)) {
    step.answer = encode_message(answer->message, work_->own.initial->layout());
  } else {
    step.failed = std::get<ClientDropped>(outcome.answer).reason;
  }
  steps_ += 1;
  return step;
}

TakenStep Agent::survey(const v1::Task& task) {
  TakenStep step{task.round(), task.phase(), task.digest(), {}, {}, {}, {}};
  if (const std::optional<ClientShard> shard = shard_for(step)) {
    step.report.num_examples = static_cast<std::int64_t>(shard->train.size());
    step.answer = encode_message(survey_answer(shard->train), work_->own.initial->layout());
  }
  return step;
}

bool Agent::may_be_asked(const v1::Task& task) const {
  const bool surveys =
      task.round() == kSurveyRound && work_->own.experiment.training.standardise && work_->state.committed() == 0;
  return task.phase() >= 0 && (task.round() >= 1 || surveys);
}

bool Agent::answer(const v1::Task& task, std::span<const std::byte> bytes) {
  const TakenStep* step = work_->state.find(task.round(), task.phase(), task.digest());
  TakenStep passing;
  if (step == nullptr) {
    TakenStep taken = task.round() == kSurveyRound ? survey(task) : take(task, bytes);
    if (taken.failed_to_answer() || task.round() == kSurveyRound) {
      // It is not kept: a round that begins again asks the same, and by then the data may be good. Sums change nothing.
      passing = std::move(taken);
      step = &passing;
    } else {
      // On disk before it is sent: what the server may have counted must not be forgotten.
      work_->state.keep(std::move(taken));
      step = work_->state.find(task.round(), task.phase(), task.digest());
    }
  }
  v1::Answer head;
  head.set_round(step->round);
  head.set_phase(step->phase);
  head.set_task(step->task);
  head.set_failed(step->failed);
  if (work_->disclosure) {
    say_released(*work_->disclosure, "", head);
  } else if (!step->answer.empty()) {
    *head.mutable_telemetry() = telemetry_of(step->report);
  }
  fault_point("agent.answer_kept");
  return outbox_->send(head, step->answer);
}

void Agent::read_frames(ServerLink& link, const std::string& session, Watchdog& watchdog, Inbox& inbox) {
  Intake intake(session, work_->own.largest_task());
  v1::ServerFrame frame;
  while (link.receive(frame)) {
    watchdog.heard();
    std::optional<Saying> saying = intake.take(frame);
    if (!saying) {
      continue;
    }
    const bool ends = std::holds_alternative<Ending>(*saying);
    inbox.push(std::move(*saying));
    if (ends) {
      return;
    }
  }
  inbox.push(lost());
}

void Agent::beat(const std::stop_token& end, double pause_seconds) {
  for (;;) {
    if (!options_.clock->rest_for(pause_seconds, end, stop_.token()) && end.stop_requested()) {
      return;
    }
    v1::ClientFrame frame;
    if (stop_.requested()) {
      // The server need not wait for this client. Whether it hears it or not, the watchdog ends the connection.
      frame.mutable_goodbye()->set_reason(v1::SHUTTING_DOWN);
      static_cast<void>(outbox_->send(std::move(frame)));
      return;
    }
    frame.mutable_beat()->set_echo(1);
    if (!outbox_->send(std::move(frame))) {
      return;  // the reader tells why
    }
  }
}

void Agent::take_leave(ServerLink& link, Watchdog& watchdog, const std::string& why) {
  watchdog.set_patience(kFarewell);
  v1::ClientFrame frame;
  // Under a budget the reason stays with the client, as in a round.
  frame.mutable_goodbye()->set_text(guarded_ ? "it does not agree to this federation" : why);
  static_cast<void>(outbox_->send(std::move(frame)));
  v1::ServerFrame unread;
  while (link.receive(unread)) {  // a connection that is cut now may not have brought it
  }
}

Ending Agent::serve(ServerLink& link) {
  Watchdog watchdog(link, stop_, *options_.clock, Clock::seconds(options_.patience_seconds));
  outbox_ = std::make_unique<Outbox>(link, [&watchdog] { watchdog.heard(); });
  std::string session;
  std::variant<v1::Welcome, Ending> met = introduce(hello(), link, *outbox_, session);
  if (auto* ending = std::get_if<Ending>(&met)) {
    return std::move(*ending);
  }
  const auto& welcome = std::get<v1::Welcome>(met);
  if (options_.id && welcome.id() != *options_.id) {
    const std::string why = fmt::format("the certificate is that of client {}, the data are those of client {}",
                                        welcome.id(), *options_.id);
    take_leave(link, watchdog, why);
    return {v1::UNKNOWN_CLIENT, why, 0};
  }
  // Making what the work needs may take a while; the server's own patience ends it.
  watchdog.set_patience(Clock::duration::max());
  try {
    prepare_work(welcome);
    hold_to(welcome);
  } catch (const Error& error) {
    take_leave(link, watchdog, error.what());
    throw;
  }
  work_->state.commit(welcome.committed(), {welcome.counted().round(), welcome.counted().phases()});
  note(fmt::format("joined as client {}, round {} is finished", to_index(work_->id), welcome.committed()),
       {{"client", to_index(work_->id)}, {"round", welcome.committed()}});
  next_sign_ = options_.clock->now() + Clock::seconds(options_.sign_seconds);
  watchdog.set_patience(Clock::seconds(kMissedBeats * welcome.heartbeat_seconds()));
  watchdog.allow_farewell(kFarewell);
  Inbox inbox;
  const std::jthread reader([&] { read_frames(link, session, watchdog, inbox); });
  const std::jthread heart([&](const std::stop_token& end) { beat(end, welcome.heartbeat_seconds()); });
  // However this ends, the threads see the end of the connection before they are joined.
  struct Cancel {
    ServerLink& link;
    ~Cancel() { link.cancel(); }
  } const cancel{link};
  return work(inbox, welcome.committed());
}

Saying Agent::next_of(Inbox& inbox, const Wait& wait) {
  for (;;) {
    if (std::optional<Saying> item = inbox.pop(*options_.clock, next_sign_)) {
      return std::move(*item);
    }
    const auto minutes = std::chrono::duration_cast<std::chrono::minutes>(options_.clock->now() - wait.since).count();
    note(fmt::format("waiting for round {} to {}{}", wait.round, wait.answered ? "go on" : "begin",
                     minutes > 0 ? fmt::format(", {} min", minutes) : ""),
         {{"round", wait.round}});
    next_sign_ = options_.clock->now() + Clock::seconds(options_.sign_seconds);
  }
}

Ending Agent::work(Inbox& inbox, Round finished) {
  Wait wait{std::int64_t{finished} + 1, options_.clock->now()};
  for (;;) {
    Saying item = next_of(inbox, wait);
    if (auto* ending = std::get_if<Ending>(&item)) {
      return std::move(*ending);
    }
    if (const auto* committed = std::get_if<v1::Committed>(&item)) {
      work_->state.commit(committed->round(), {committed->round(), committed->phases()});
      wait = {std::int64_t{committed->round()} + 1, options_.clock->now()};
    } else if (const auto* verdict = std::get_if<v1::Verdict>(&item)) {
      if (verdict->reason() != v1::ACCEPTED && verdict->reason() != v1::DUPLICATE) {
        note(fmt::format("round {}: the answer was refused ({}): {}", verdict->round(),
                         v1::Reason_Name(verdict->reason()), printable(verdict->text())),
             {{"round", verdict->round()}, {"reason", v1::Reason_Name(verdict->reason())}});
      }
    } else {
      const auto& job = std::get<Job>(item);
      if (!may_be_asked(job.task)) {
        return lost(fmt::format("the server asked for phase {} of round {}", job.task.phase(), job.task.round()));
      }
      static_cast<void>(answer(job.task, job.bytes));  // where the connection is lost the reader tells why
      if (job.task.round() != kSurveyRound) {
        wait = {job.task.round(), options_.clock->now(), /*answered=*/true};
      }
    }
  }
}

}  // namespace feroma::net
