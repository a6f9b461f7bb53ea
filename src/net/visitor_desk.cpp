#include "net/visitor_desk.h"

#include <algorithm>

#include "feroma/core/error.h"
#include "feroma/evaluation/visit.h"
#include "feroma/net/codec.h"
#include "feroma/runtime/input_survey.h"

namespace feroma::net {
namespace {

/// Seconds after which a visitor that came too early should come again.
constexpr double kPause = 5;

/// A description is at most its numbers, or sums that take twice the bytes, and what is around them.
constexpr std::uint64_t kSmallParts = std::uint64_t{64} << 10;
constexpr std::uint64_t kBytesPerNumber = 16;

std::uint64_t largest_description(const Algorithm& algorithm) {
  return kSmallParts + kBytesPerNumber * static_cast<std::uint64_t>(algorithm.description_floats());
}

[[noreturn]] void refuse(v1::Reason reason, const Error& error, double retry_seconds = 0) {
  throw Refusal{reason, printable(error.what()), retry_seconds};
}

}  // namespace

Assignment VisitorDesk::ask(const Session& session, const v1::Visit& visit, Round round, const InputScales& scales) {
  Visitor visitor;
  try {
    visitor.algorithm = committed_ ? committed_() : nullptr;
  } catch (const Error& error) {
    refuse(v1::UNAVAILABLE, error, kPause);  // the models of the last round cannot be read
  }
  if (visitor.algorithm == nullptr) {
    throw Refusal{v1::LATE, "no round is finished yet", kPause};
  }
  const auto candidates = static_cast<std::uint32_t>(candidates_);
  visitor.wish = {visit.few_labels(), static_cast<int>(std::min(visit.candidates(), candidates))};
  visitor.round = round;
  Message asked = visitor.algorithm->visitor_question();
  put_scales(asked, scales);
  Assignment question = make_assignment(round, kQuestionPhase, encode_message(asked, *layout_));
  visitor.question = question.parcel.digest;
  visitor.largest = largest_description(*visitor.algorithm);
  const std::lock_guard lock(mutex_);
  visitors_[&session] = std::move(visitor);
  return question;
}

std::map<const Session*, VisitorDesk::Visitor>::iterator VisitorDesk::asked(const Session& session,
                                                                            const v1::Answer& head) {
  const auto found = visitors_.find(&session);
  if (found == visitors_.end() || head.phase() != kQuestionPhase || head.task() != found->second.question) {
    throw Refusal{v1::UNASKED, "a visitor describes its data once, when it is asked"};
  }
  return found;
}

void VisitorDesk::check(const Session& session, const v1::Answer& head) {
  const std::lock_guard lock(mutex_);
  const std::uint64_t largest = asked(session, head)->second.largest;
  if (head.size() > largest) {
    throw Refusal{v1::TOO_LARGE, fmt::format("a description has at most {} bytes, got {}", largest, head.size())};
  }
}

Assignment VisitorDesk::serve(const Session& session, const Delivery& delivery) {
  Visitor visitor;
  {
    const std::lock_guard lock(mutex_);
    const auto found = asked(session, delivery.head);
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
    const Offer offer =
        rationed(session.peer().fingerprint, visitor.round, offer_to_visitor(*visitor.algorithm, told, visitor.wish));
    return make_assignment(visitor.round, kOfferPhase, encode_message(to_message(offer), *layout_));
  } catch (const Error& error) {
    // What is wrong with the description is the visitor's; that there is no model for it is the method's.
    refuse(error.code() == ErrorCode::invalid_data ? v1::UNBELIEVABLE : v1::UNAVAILABLE, error);
  }
}

Offer VisitorDesk::rationed(const std::string& certificate, Round round, Offer offer) {
  if (certificate.empty() || offer.sources.empty()) {
    return offer;  // nobody can be told from others without certificates; what has no sources is no single client's
  }
  const auto most = static_cast<std::size_t>(std::max(candidates_, 1));
  const std::lock_guard lock(mutex_);
  if (round > given_round_) {
    given_.clear();
    given_round_ = round;
  }
  std::set<ModelSource>& given = given_[certificate];
  // Where nearly all of a mixture is one client's, it is that client's model.
  constexpr double kNearlyAll = 0.9;
  Offer rest{offer.choice, {}, std::move(offer.weights), {}, std::move(offer.adaptation)};
  for (std::size_t i = 0; i < offer.models.size(); ++i) {
    const ModelShares& shares = offer.sources[i];
    const auto largest = std::max_element(shares.begin(), shares.end(),
                                          [](const auto& a, const auto& b) { return a.second < b.second; });
    if (largest != shares.end() && largest->second >= kNearlyAll) {
      const ModelSource& source = largest->first;
      if (given.size() >= most && !given.contains(source)) {
        continue;
      }
      given.insert(source);
    }
    rest.models.push_back(std::move(offer.models[i]));
    rest.sources.push_back(std::move(offer.sources[i]));
  }
  const bool is_whole = rest.models.size() == offer.models.size();
  if (rest.models.empty() || (rest.choice == Choice::as_offered && !is_whole)) {
    throw Refusal{v1::UNAVAILABLE, fmt::format("this certificate has had {} models of single clients of round {}; more "
                                               "come with the next round, if there is one",
                                               given.size(), round)};
  }
  return rest;
}

void VisitorDesk::left(const Session& session) {
  const std::lock_guard lock(mutex_);
  visitors_.erase(&session);
}

}  // namespace feroma::net
