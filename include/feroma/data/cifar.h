#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "feroma/data/dataset.h"

namespace feroma {

/// One record of a CIFAR binary batch: label bytes, then 3 x 32 x 32 pixels, channel by channel.
struct CifarLayout {
  int label_bytes = 1;  ///< 1 for CIFAR-10; 2 for CIFAR-100 (coarse, then fine)
  int label_index = 0;  ///< which of them is the class
  int classes = 10;
};

inline constexpr CifarLayout kCifar10{.label_bytes = 1, .label_index = 0, .classes = 10};
inline constexpr CifarLayout kCifar100{.label_bytes = 2, .label_index = 1, .classes = 100};

/// Adds the records of a batch to `samples`. Errors are invalid_data and name the file, the rule and the offset.
void append_cifar_(Samples& samples, std::span<const std::byte> bytes, const std::string& name, CifarLayout layout);

}  // namespace feroma
