#include "algorithms/equipment.h"

#include <utility>

namespace feroma {

Message Equipment::encoder() const {
  const ParametersPtr& newest = (next ? *next : extractor).encoder;
  return newest ? Message{{{"encoder", newest}}} : Message{};
}

Message Equipment::missing_of(ClientId client) const {
  Message message = holders.contains(client) ? Message{} : to_message(extractor);
  if (next) {
    message.values.merge(to_message(*next, kNext).values);
  }
  if (early.contains(client)) {
    message.values.erase(next ? kNext + "encoder" : "encoder");
  }
  return message;
}

void Equipment::change() {
  extractor = *std::exchange(next, std::nullopt);
  holders.clear();
}

void Equipment::forget(ClientId client) {
  holders.erase(client);
  early.erase(client);
}

}  // namespace feroma
