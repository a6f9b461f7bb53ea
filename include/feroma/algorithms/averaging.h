#pragma once

#include <array>
#include <string_view>
#include <utility>

namespace feroma {

/// How clients count in the mean of their models. Papers differ, so each method's default is its own paper's.
enum class Averaging {
  uniform,   ///< everybody as much
  examples,  ///< by their training samples
};
constexpr auto enum_names(Averaging) {
  using enum Averaging;
  return std::array<std::pair<Averaging, std::string_view>, 2>{{{uniform, "uniform"}, {examples, "examples"}}};
}

}  // namespace feroma
