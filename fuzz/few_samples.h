#pragma once

#include "feroma/net/client_data.h"

namespace feroma::fuzz {

inline constexpr SampleShape kFewShape{1, 2, 2};
inline constexpr int kFewClasses = 2;

/// Six samples of two classes.
class FewSamples final : public ClientData {
 public:
  FewSamples() {
    samples_.shape = kFewShape;
    for (int i = 0; i < 6; ++i) {
      samples_.labels.push_back(i % kFewClasses);
      for (int pixel = 0; pixel < 4; ++pixel) {
        samples_.pixels.push_back(static_cast<std::uint8_t>(i % kFewClasses == 0 ? 40 * i : 255 - pixel));
      }
    }
    recipes_ = {{{{}, {}}, {0, 1}}};
  }
  [[nodiscard]] SampleShape shape() const override { return kFewShape; }
  [[nodiscard]] int classes() const override { return kFewClasses; }
  [[nodiscard]] bool multi_label() const override { return false; }
  [[nodiscard]] ClientShard shard(Round) override { return {1, 1, view(0, 4), view(4, 6)}; }
  [[nodiscard]] View train_of_window(int) override { return view(0, 4); }

 private:
  [[nodiscard]] View view(std::uint32_t begin, std::uint32_t end) const {
    View view;
    view.samples = &samples_;
    view.recipes = recipes_;
    view.shape = kFewShape;
    for (; begin < end; ++begin) {
      view.items.push_back({begin, 0});
    }
    return view;
  }

  Samples samples_;
  std::vector<Recipe> recipes_;
};

}  // namespace feroma::fuzz
