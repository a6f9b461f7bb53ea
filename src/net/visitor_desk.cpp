#include "net/visitor_desk.h"

#include <algorithm>

#include "feroma/core/error.h"
#include "feroma/evaluation/visit.h"
#include "feroma/net/codec.h"

namespace feroma::net {
namespace {

/// Seconds after which a visitor that came too early should come again.
constexpr double kPause = 5;

[[noreturn]] void refuse(v1::Reason reason, const Error& error) { throw Refusal{reason, printable(error.what())}; }

}  // namespace

Assignment VisitorDesk::ask(const Session& session, const v1::Visit& visit, Round round) {
  Visitor visitor;
  visitor.algorithm = committed_ ? committed_() : nullptr;
  if (visitor.algorithm == nullptr) {
    throw Refusal{v1::LATE, "no round is finished yet", kPause};
  }
  const auto candidates = static_cast<std::uint32_t>(candidates_);
  visitor.wish = {visit.few_labels(), static_cast<int>(std::min(visit.candidates(), candidates))};
  visitor.round = round;
  Assignment question =
      make_assignment(round, kQuestionPhase, encode_message(visitor.algorithm->visitor_question(), *layout_));
  visitor.question = question.parcel.digest;
  const std::lock_guard lock(mutex_);
  visitors_[&session] = std::move(visitor);
  return question;
}

Assignment VisitorDesk::serve(const Session& session, const Delivery& delivery) {
  Visitor visitor;
  {
    const std::lock_guard lock(mutex_);
    const auto found = visitors_.find(&session);
    const bool asked = found != visitors_.end() && delivery.head.phase() == kQuestionPhase &&
                       delivery.head.task() == found->second.question;
    if (!asked) {
      throw Refusal{v1::UNASKED, "a visitor describes its data once, when it is asked"};
    }
    visitor = std::move(found->second);
    visitors_.erase(found);
  }
  Message told;
  try {
    told = decode_message(delivery.bytes, layout_, "a visitor's description");
  } catch (const Error& error) {
    refuse(v1::MALFORMED, error);
  }
  try {
    const Offer offer = offer_to_visitor(*visitor.algorithm, told, visitor.wish);
    return make_assignment(visitor.round, kOfferPhase, encode_message(to_message(offer), *layout_));
  } catch (const Error& error) {
    refuse(v1::UNBELIEVABLE, error);
  }
}

void VisitorDesk::left(const Session& session) {
  const std::lock_guard lock(mutex_);
  visitors_.erase(&session);
}

}  // namespace feroma::net
