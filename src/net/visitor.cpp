#include "net/visitor.h"

#include "feroma/core/build_info.h"
#include "feroma/core/error.h"
#include "feroma/evaluation/visit.h"
#include "feroma/net/codec.h"
#include "feroma/runtime/input_survey.h"
#include "net/client_work.h"
#include "net/watchdog.h"

namespace feroma::net {
namespace {

v1::Hello hello_of(const VisitorWish& wish) {
  v1::Hello hello;
  hello.set_protocol(kProtocol);
  hello.set_software(fmt::format("feroma {}", build_info().version));
  hello.mutable_visit()->set_few_labels(wish.few_labels);
  hello.mutable_visit()->set_candidates(static_cast<std::uint32_t>(wish.candidates));
  return hello;
}

/// What a visit needs once the server has said what it works with.
class Visit {
 public:
  Visit(const v1::Welcome& welcome, const VisitorOptions& options, const ReadVisitor& read)
      : samples_(read({columns_in(welcome), {}})),
        work_(make_client_work(welcome, {samples_.all.shape, 0, false}, options.privacy)),
        data_(options.data) {
    if (work_.experiment.privacy.guarded()) {
      disclosure_.emplace(work_.experiment.privacy, ledger_place(options.privacy, options.state, options.witness),
                          welcome.job(), system_entropy(), samples_.version);
    }
    if (disclosure_ && !data_.empty()) {
      disclosure_->hold_to("the server", known_to(welcome, data_));
    }
    assigned_.algorithm = work_.experiment.algorithms.front().label;
    assigned_.round = welcome.committed();
    assigned_.model = work_.experiment.training.model;
    assigned_.input = work_.model.input;
    assigned_.names.columns = columns_in(welcome);
    assigned_.classes = work_.model.classes;
    assigned_.multi_label = welcome.samples().multi_label();
    assigned_.standardise = work_.experiment.training.standardise;
  }

  [[nodiscard]] std::uint64_t largest_task() const { return work_.largest_task(); }

  [[nodiscard]] Bytes describe(const Job& question) {
    Message asked = decode_message(question.bytes, work_.initial->shared_layout(), "the server's question");
    assigned_.bytes_down += asked.bytes();
    if (assigned_.standardise) {
      assigned_.scales = take_scales(asked, assigned_.input, "the server's question");
    }
    scaled_.emplace(samples_, assigned_.scales);
    TestContext context = this->context();
    const Message told = work_.algorithm->visitor_profile(asked, context);
    assigned_.bytes_up += told.bytes();
    return encode_message(told, work_.initial->layout());
  }

  /// What is said with the description.
  void introduce_description(v1::Answer& head) const {
    if (disclosure_ && !data_.empty()) {
      say_released(*disclosure_, data_, head);
    }
  }

  [[nodiscard]] Assigned take(const Job& job) {
    require(scaled_.has_value(), ErrorCode::invalid_data, "the server's offer came before its question");
    const Message message = decode_message(job.bytes, work_.initial->shared_layout(), "the server's offer");
    const Offer offer = offer_from(message);
    TestContext context = this->context();
    assigned_.bytes_down += message.bytes();
    assigned_.choice = offer.choice;
    assigned_.candidates = static_cast<int>(offer.models.size());
    assigned_.offer = settle_as_visitor(*work_.algorithm, offer, context);
    return std::move(assigned_);
  }

 private:
  [[nodiscard]] TestContext context() {
    return {ClientId{0},
            scaled_->all(),
            scaled_->labelled(),
            work_.rng.derive("visitor"),
            *work_.trainer,
            seconds_,
            nullptr,
            disclosure_ ? &*disclosure_ : nullptr};
  }

  const VisitorSamples samples_;
  ClientWork work_;
  const std::string data_;
  std::optional<ScaledSamples> scaled_;  ///< since the server has said how
  std::optional<Disclosure> disclosure_;
  StageSeconds seconds_;
  Assigned assigned_;
};

}  // namespace

std::variant<Assigned, Ending> pay_visit(ServerLink& link, const VisitorOptions& options, const ReadVisitor& read,
                                         const VisitorWish& wish, const Stop& stop) {
  const Clock::duration patience = Clock::seconds(options.patience_seconds);
  Watchdog watchdog(link, stop, *options.clock, patience);
  Outbox outbox(link, [&watchdog] { watchdog.heard(); });
  std::string session;
  std::variant<v1::Welcome, Ending> met = introduce(hello_of(wish), link, outbox, session);
  if (auto* ending = std::get_if<Ending>(&met)) {
    return std::move(*ending);
  }
  Visit visit(std::get<v1::Welcome>(met), options, read);
  Intake intake(session, visit.largest_task());
  v1::ServerFrame frame;
  while (link.receive(frame)) {
    watchdog.heard();
    std::optional<Saying> saying = intake.take(frame);
    if (!saying) {
      continue;
    }
    if (auto* ending = std::get_if<Ending>(&*saying)) {
      return std::move(*ending);
    }
    const auto* job = std::get_if<Job>(&*saying);
    if (job != nullptr && job->task.phase() == kOfferPhase) {
      return visit.take(*job);
    }
    if (job == nullptr || job->task.phase() != kQuestionPhase) {
      return lost("the server said something that is not for visitors");
    }
    watchdog.set_patience(Clock::duration::max());  // while this client is the one that works
    const Bytes told = visit.describe(*job);
    watchdog.set_patience(patience);
    v1::Answer head;
    head.set_round(job->task.round());
    head.set_phase(kQuestionPhase);
    head.set_task(job->task.digest());
    visit.introduce_description(head);
    if (!outbox.send(head, told)) {
      break;
    }
  }
  return lost();
}

}  // namespace feroma::net
