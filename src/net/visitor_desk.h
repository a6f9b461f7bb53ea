#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>

#include "feroma/algorithms/algorithm.h"
#include "net/session.h"

namespace feroma::net {

/// Serves clients that take no part in training from the models of the last finished round. From any thread.
class VisitorDesk {
 public:
  using Committed = std::function<std::shared_ptr<const Algorithm>()>;

  /// Visitors choose among `candidates` models at most. So many models of single clients, or one where that is 0, a
  /// certificate gets of a finished round, however often it comes: any profile can be claimed.
  VisitorDesk(std::shared_ptr<const ParamLayout> layout, Committed committed, int candidates)
      : layout_(std::move(layout)), committed_(std::move(committed)), candidates_(candidates) {}

  /// What a visitor is asked, and how its inputs are to be scaled; a refusal where there is nothing to serve yet.
  [[nodiscard]] Assignment ask(const Session& session, const v1::Visit& visit, Round round,
                               const InputScales& scales = {});
  /// Refuses a description that begins, where none was asked for or it is larger than one can be.
  void check(const Session& session, const v1::Answer& head);
  /// The offer that its description leads to; a refusal where that cannot be believed.
  [[nodiscard]] Assignment serve(const Session& session, const Delivery& delivery);
  void left(const Session& session);

 private:
  struct Visitor {
    std::shared_ptr<const Algorithm> algorithm;
    VisitorWish wish;
    Round round = 0;
    std::string question;       ///< digest
    std::uint64_t largest = 0;  ///< bytes of its answer
  };

  /// What of an offer a certificate may have; a refusal where nothing is left.
  [[nodiscard]] Offer rationed(const std::string& certificate, Round round, Offer offer);
  /// Needs the lock.
  [[nodiscard]] std::map<const Session*, Visitor>::iterator asked(const Session& session, const v1::Answer& head);

  const std::shared_ptr<const ParamLayout> layout_;
  const Committed committed_;
  const int candidates_;
  std::mutex mutex_;
  std::map<const Session*, Visitor> visitors_;  ///< asked, not yet served
  Round given_round_ = 0;
  std::map<std::string, std::set<ModelSource>> given_;  ///< models of single clients, by certificate, of that round
};

}  // namespace feroma::net
