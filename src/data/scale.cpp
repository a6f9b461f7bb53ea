#include "feroma/data/scale.h"

#include <cmath>

#include "feroma/core/error.h"

namespace feroma {

std::vector<float> numbers_of(const InputScales& scales) {
  std::vector<float> numbers;
  numbers.reserve(2 * scales.size());
  for (const InputScale& scale : scales) {
    numbers.push_back(scale.factor);
    numbers.push_back(scale.offset);
  }
  return numbers;
}

InputScales scales_from(std::span<const float> numbers, SampleShape shape, const std::string& what) {
  require(!numbers.empty(), ErrorCode::invalid_data,
          "{}: has no scale of the inputs, without which models that were trained with training.standardise are of no "
          "use; earlier versions kept none: train them again",
          what);
  require(numbers.size() == 2 * scale_count(shape), ErrorCode::invalid_data,
          "{}: must have a factor and an offset for each of {} inputs, got {} numbers", what, scale_count(shape),
          numbers.size());
  InputScales scales;
  for (std::size_t i = 0; i < numbers.size(); i += 2) {
    require(std::isnormal(numbers[i]) && numbers[i] > 0 && std::isfinite(numbers[i + 1]), ErrorCode::invalid_data,
            "{}: input {} must have a factor above 0 and a finite offset, got {} and {}", what, i / 2, numbers[i],
            numbers[i + 1]);
    scales.push_back({numbers[i], numbers[i + 1]});
  }
  return scales;
}

}  // namespace feroma
