// Both sides of a visit by a client that takes no part in training. Chunks are descriptions for the server (kind 0),
// questions (1) and offers (2) for the client.
#include <cmath>
#include <numeric>

#include "feroma/evaluation/visit.h"
#include "feroma/net/codec.h"
#include "fuzz/chunks.h"
#include "fuzz/guard.h"
#include "fuzz/played.h"

namespace {

using feroma::Message;
using feroma::Offer;
using feroma::fuzz::Chunk;
using feroma::fuzz::expect;

const feroma::fuzz::Played& feroma_after_two_rounds() {
  static const feroma::fuzz::Played played = feroma::fuzz::play("feroma");
  return played;
}

class Visit {
 public:
  void hear(const Chunk& chunk) {
    const Message message = decode_message(chunk.bytes, played_.initial->shared_layout(), "fuzz");
    switch (chunk.kind % 3) {
      case 0: serve(message); break;
      case 1: (void)played_.algorithm->visitor_profile(message, context_); break;
      default: settle(message);
    }
  }

 private:
  void serve(const Message& told) const {
    for (const bool few_labels : {false, true}) {
      const Offer offer = offer_to_visitor(*played_.algorithm, told, {few_labels, 2});
      expect(!offer.models.empty() && offer.models.size() <= 2, "so many models leave the server at most");
      expect(to_message(offer_from(to_message(offer))).bytes() == to_message(offer).bytes(), "an offer is understood");
    }
  }
  void settle(const Message& offered) {
    const Offer offer = settle_as_visitor(*played_.algorithm, feroma::offer_from(offered), context_);
    const double sum = std::accumulate(offer.weights.begin(), offer.weights.end(), 0.0);
    expect(offer.weights.size() == offer.models.size() && std::abs(sum - 1) < 1e-3, "nothing is left to choose");
  }

  const feroma::fuzz::Played& played_ = feroma_after_two_rounds();
  feroma::fuzz::FewSamples samples_;
  feroma::ClientShard shard_ = samples_.shard(1);
  feroma::StageSeconds seconds_;
  feroma::TestContext context_{feroma::ClientId{0}, shard_.train,     &shard_.held_out,
                               feroma::Rng(1),      *played_.trainer, seconds_};
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  feroma::fuzz::Chunks chunks(feroma::fuzz::bytes_of(data, size));
  Visit visit;
  while (const std::optional<Chunk> chunk = chunks.next()) {
    feroma::fuzz::guarded([&] { visit.hear(*chunk); });
  }
  return 0;
}
