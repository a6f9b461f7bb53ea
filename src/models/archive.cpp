#include "feroma/models/archive.h"

#include <algorithm>
#include <string>

#include "feroma/core/error.h"

namespace feroma {
namespace {

enum class ModelTag : std::uint8_t { null = 0, values = 1, reference = 2, placed = 3 };
enum class BlobTag : std::uint8_t { floats = 0, ints = 1, model = 2 };

void put_blob(ModelWriter& writer, const Floats& floats) {
  writer.out().put(BlobTag::floats);
  writer.out().put(floats);
}

void put_blob(ModelWriter& writer, const Ints& ints) {
  writer.out().put(BlobTag::ints);
  writer.out().put(ints);
}

void put_blob(ModelWriter& writer, const ParametersPtr& model) {
  writer.out().put(BlobTag::model);
  writer.put(model);
}

Blob get_blob(ModelReader& reader, const std::string& key) {
  const auto tag = reader.in().get<BlobTag>();
  switch (tag) {
    case BlobTag::floats: return reader.in().get_vector<float>();
    case BlobTag::ints: return reader.in().get_vector<std::int64_t>();
    case BlobTag::model: return reader.get_model();
  }
  fail(ErrorCode::invalid_data, "{}: value '{}' has the unknown kind {}", reader.in().what(), key,
       static_cast<int>(tag));
}

}  // namespace

void ModelWriter::put(const ParametersPtr& params) {
  if (params == nullptr) {
    out_.put(ModelTag::null);
    return;
  }
  const auto [entry, is_new] = written_.emplace(params, static_cast<std::uint32_t>(written_.size()));
  if (is_new && place_) {
    out_.put(ModelTag::placed);
    out_.put(std::string_view(place_(*params)));
  } else if (is_new) {
    out_.put(ModelTag::values);
    out_.put(params->values());
  } else {
    out_.put(ModelTag::reference);
    out_.put(entry->second);
  }
}

void ModelWriter::put(const Message& message) {
  out_.put<std::uint64_t>(message.values.size());
  for (const auto& [key, value] : message.values) {
    out_.put(std::string_view(key));
    std::visit([this](const auto& blob) { put_blob(*this, blob); }, value);
  }
}

ParametersPtr ModelReader::checked_model(std::span<const float> values) {
  require(values.size() == layout_->size, ErrorCode::invalid_data, "{}: a model must have {} values, got {}",
          in_.what(), layout_->size, values.size());
  Parameters params(layout_);
  std::copy(values.begin(), values.end(), params.values().begin());
  read_.push_back(share(std::move(params)));
  return read_.back();
}

ParametersPtr ModelReader::get_model() {
  const auto tag = in_.get<ModelTag>();
  switch (tag) {
    case ModelTag::null: return nullptr;
    case ModelTag::values: return checked_model(in_.get_vector<float>());
    case ModelTag::placed: {
      const std::string name = in_.get_string();
      require(static_cast<bool>(fetch_), ErrorCode::invalid_data, "{}: models must be in it, got the name \"{}\"",
              in_.what(), name);
      return checked_model(fetch_(name));
    }
    case ModelTag::reference: {
      const auto index = in_.get<std::uint32_t>();
      require(index < read_.size(), ErrorCode::invalid_data, "{}: refers to model {} of {} read so far", in_.what(),
              index, read_.size());
      return read_[index];
    }
  }
  fail(ErrorCode::invalid_data, "{}: a model has the unknown tag {}", in_.what(), static_cast<int>(tag));
}

Message ModelReader::get_message() {
  const auto count = in_.get<std::uint64_t>();
  // Each takes many times the memory of its bytes, however short it is.
  require(count <= kMostValues, ErrorCode::invalid_data, "{}: a message must have at most {} values, got {}",
          in_.what(), kMostValues, count);
  Message message;
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::string key = in_.get_string();
    // Keys are written in order; anything else was not written by ModelWriter.
    require(message.values.empty() || message.values.rbegin()->first < key, ErrorCode::invalid_data,
            "{}: message keys must be unique and in order, got '{}'", in_.what(), key);
    message.values.emplace(key, get_blob(*this, key));
  }
  return message;
}

}  // namespace feroma
