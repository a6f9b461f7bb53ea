#pragma once

#include <memory>
#include <string>

#include "feroma/models/parameters.h"
#include "net/flower_scalars.h"

namespace feroma::net {

/// A model as Flower sends it: each tensor a whole .npy file of 32-bit floats in C order, in the layout's order.
[[nodiscard]] flower::Parameters to_flower(const Parameters& model);

/// Reads a model that a Flower peer sent. Other tensors or shapes than the layout's, element types that are no numbers
/// and values that are not finite are an invalid_data error that begins with `what`; nothing is allocated from a length
/// that was not checked against what is there.
[[nodiscard]] Parameters from_flower(const flower::Parameters& tensors,
                                     const std::shared_ptr<const ParamLayout>& layout, const std::string& what);

/// Bytes of a message with a model and `numbers` more as text, at most. NumPy computes in 64 bits, so peers may send
/// tensors of that width.
[[nodiscard]] std::size_t largest_flower_message(const ParamLayout& layout, std::size_t numbers);

}  // namespace feroma::net
