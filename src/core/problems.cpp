#include "feroma/core/problems.h"

#include "feroma/core/error.h"

namespace feroma {

void Problems::locate(const Settings& settings) {
  for (std::string& message : messages_) {
    const auto found = settings.find(message.substr(0, message.find_first_of(" :")));
    if (found != settings.end()) {
      message = found->second.where + ": " + message;
    }
  }
}

void Problems::raise() const {
  if (messages_.empty()) {
    return;
  }
  std::string text;
  for (const std::string& message : messages_) {
    text += (text.empty() ? "" : "\n") + message;
  }
  throw Error(ErrorCode::invalid_config, text);
}

}  // namespace feroma
