#pragma once

#include "feroma/algorithms/algorithm.h"

namespace feroma {

/// Models for a client that takes no part in training: by the method's own rule, or those that it holds: the one for
/// all, or its clusters by their clients' share. A method whose models are its clients' own has none for others, which
/// is an `unsupported` error.
[[nodiscard]] Offer offer_to_visitor(const Algorithm& algorithm, const Message& told, const VisitorWish& wish);

/// The client's part: what is left to choose is chosen.
[[nodiscard]] Offer settle_as_visitor(const Algorithm& algorithm, const Offer& offer, TestContext& context);

}  // namespace feroma
