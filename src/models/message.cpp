#include "feroma/models/message.h"

#include "feroma/core/error.h"

namespace feroma {
namespace {

template <class T>
const T& typed(const Message& message, const std::string& key, std::string_view kind) {
  const auto found = message.values.find(key);
  require(found != message.values.end(), ErrorCode::invalid_data, "[message] '{}' is missing", key);
  const T* value = std::get_if<T>(&found->second);
  require(value != nullptr, ErrorCode::invalid_data, "[message] '{}' must hold {}", key, kind);
  return *value;
}

std::size_t payload(const Floats& floats) { return floats.size() * sizeof(float); }
std::size_t payload(const Ints& ints) { return ints.size() * sizeof(std::int64_t); }
std::size_t payload(const ParametersPtr& model) { return model == nullptr ? 0 : model->size() * sizeof(float); }

}  // namespace

const Floats& Message::floats(const std::string& key) const { return typed<Floats>(*this, key, "floats"); }

const Ints& Message::ints(const std::string& key) const { return typed<Ints>(*this, key, "integers"); }

std::int64_t Message::integer(const std::string& key) const {
  const Ints& all = ints(key);
  require(all.size() == 1, ErrorCode::invalid_data, "[message] '{}' must hold one integer, got {}", key, all.size());
  return all.front();
}

const ParametersPtr& Message::model(const std::string& key) const {
  const ParametersPtr& model = typed<ParametersPtr>(*this, key, "a model");
  require(model != nullptr, ErrorCode::invalid_data, "[message] '{}' must hold a model, got an empty one", key);
  return model;
}

std::int64_t Message::bytes() const {
  std::size_t total = 0;
  for (const auto& [key, value] : values) {
    total += std::visit([](const auto& blob) { return payload(blob); }, value);
  }
  return static_cast<std::int64_t>(total);
}

}  // namespace feroma
