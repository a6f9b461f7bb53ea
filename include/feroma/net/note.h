#pragma once

#include <functional>
#include <initializer_list>
#include <string>

#include "feroma/core/log.h"

namespace feroma {

/// Tells people what happens to a client; the text is complete without the fields, which are for programs.
using Note = std::function<void(const std::string& text, std::initializer_list<log::Field> fields)>;

}  // namespace feroma
