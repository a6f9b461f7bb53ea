#pragma once

#include <memory>
#include <set>
#include <string>
#include <utility>

#include "feroma/core/files.h"
#include "feroma/net/codec.h"
#include "net/wire.h"

namespace feroma::faults {

/// Reads what a client sends under a budget.
class ReleaseListener {
 public:
  /// `told` gets the digest of each release that leaves.
  ReleaseListener(std::shared_ptr<const ParamLayout> layout, std::set<std::string>& told)
      : layout_(std::move(layout)), told_(told) {}

  bool operator()(const v1::ClientFrame& frame) {
    if (frame.has_answer()) {
      size_ = frame.answer().size();
      bytes_.clear();
    } else if (frame.has_piece()) {
      const auto piece = std::as_bytes(std::span(frame.piece().data()));
      bytes_.insert(bytes_.end(), piece.begin(), piece.end());
      if (bytes_.size() == size_) {
        const Message message = decode_message(bytes_, layout_, "told");
        if (message.has("sums")) {
          told_.insert(sha256(std::as_bytes(std::span(message.ints("sums")))));
        }
      }
    }
    return true;
  }

 private:
  std::shared_ptr<const ParamLayout> layout_;
  std::set<std::string>& told_;
  Bytes bytes_;
  std::uint64_t size_ = 0;
};

}  // namespace feroma::faults
