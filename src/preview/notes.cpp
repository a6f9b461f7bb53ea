#include "preview/notes.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <set>
#include <string_view>
#include <tuple>

namespace feroma::detail {
namespace {

constexpr int kDegreesPerTurn = 90;

std::string transform_text(Transform transform) {
  constexpr std::array<std::string_view, 3> kColours{"red", "green", "blue"};
  std::string text = fmt::format("{}°", transform.quarter_turns * kDegreesPerTurn);
  if (transform.tint >= 0 && transform.tint < static_cast<int>(kColours.size())) {
    text += fmt::format(" {}", kColours[static_cast<std::size_t>(transform.tint)]);
  }
  return text;
}

std::vector<std::size_t> classes_with(const std::vector<Transform>& transforms, Transform wanted) {
  std::vector<std::size_t> found;
  for (std::size_t c = 0; c < transforms.size(); ++c) {
    if (transforms[c] == wanted) {
      found.push_back(c);
    }
  }
  return found;
}

/// "90° red", or with the classes it concerns where they differ: "90° red except classes 2, 5".
void add_transforms(const std::vector<Transform>& transforms, std::vector<std::string>& parts) {
  std::vector<Transform> kinds;
  for (const Transform transform : transforms) {
    if (transform != Transform{} && std::find(kinds.begin(), kinds.end(), transform) == kinds.end()) {
      kinds.push_back(transform);
    }
  }
  const std::vector<std::size_t> plain = classes_with(transforms, Transform{});
  for (const Transform kind : kinds) {
    const std::vector<std::size_t> changed = classes_with(transforms, kind);
    if (changed.size() == transforms.size()) {
      parts.push_back(transform_text(kind));
    } else if (kinds.size() == 1 && plain.size() < changed.size()) {
      parts.push_back(fmt::format("{} except classes {}", transform_text(kind), fmt::join(plain, ", ")));
    } else {
      parts.push_back(fmt::format("{} for classes {}", transform_text(kind), fmt::join(changed, ", ")));
    }
  }
}

void add_labels(const std::vector<std::int32_t>& label_of_class, std::vector<std::string>& parts) {
  std::vector<std::string> moved;
  for (std::size_t c = 0; c < label_of_class.size(); ++c) {
    if (label_of_class[c] != static_cast<std::int32_t>(c)) {
      moved.push_back(fmt::format("{}→{}", c, label_of_class[c]));
    }
  }
  if (!moved.empty()) {
    parts.push_back(fmt::format("labels {}", fmt::join(moved, " ")));
  }
}

void add_classes(const std::vector<bool>& keeps_class, std::vector<std::string>& parts) {
  std::vector<std::size_t> kept;
  for (std::size_t c = 0; c < keeps_class.size(); ++c) {
    if (keeps_class[c]) {
      kept.push_back(c);
    }
  }
  if (kept.size() < keeps_class.size()) {
    parts.push_back(fmt::format("only classes {}", fmt::join(kept, ", ")));
  }
}

/// In how many ways the bank treats a class. Tables may be shorter than the class: then nothing happens to it.
std::size_t treatments(const Bank& bank, std::size_t c) {
  std::set<std::tuple<int, int, std::int32_t, bool>> different;
  for (const Bank::Entry& entry : bank.entries) {
    const auto& transforms = entry.recipe.transform_of_class;
    const auto& labels = entry.recipe.label_of_class;
    const Transform transform = c < transforms.size() ? transforms[c] : Transform{};
    different.emplace(transform.quarter_turns, transform.tint,
                      c < labels.size() ? labels[c] : static_cast<std::int32_t>(c),
                      c >= entry.keeps_class.size() || entry.keeps_class[c]);
  }
  return different.size();
}

}  // namespace

std::string about_distribution(const Bank::Entry& entry) {
  std::vector<std::string> parts;
  add_classes(entry.keeps_class, parts);
  add_transforms(entry.recipe.transform_of_class, parts);
  add_labels(entry.recipe.label_of_class, parts);
  return parts.empty() ? "as stored" : fmt::format("{}", fmt::join(parts, "; "));
}

std::vector<int> telling_classes(const Bank& bank, int classes) {
  std::vector<std::size_t> ways;
  for (std::size_t c = 0; c < static_cast<std::size_t>(classes); ++c) {
    ways.push_back(treatments(bank, c));
  }
  std::vector<int> order(static_cast<std::size_t>(classes));
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&ways](int a, int b) {
    return ways[static_cast<std::size_t>(a)] > ways[static_cast<std::size_t>(b)];
  });
  return order;
}

}  // namespace feroma::detail
