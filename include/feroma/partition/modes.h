#pragma once

#include <array>
#include <string_view>
#include <utility>

namespace feroma {

enum class Level { low, medium, high };
constexpr auto enum_names(Level) {
  using enum Level;
  return std::array<std::pair<Level, std::string_view>, 3>{{{low, "low"}, {medium, "medium"}, {high, "high"}}};
}

/// `clean` has no leaks and no lost stages; `feroma` is the paper's data with its quirks; `anda_2024` is the published
/// generator, which tests clients on what they have seen themselves and never scales P(Y).
enum class Generator { clean, feroma, anda_2024 };
constexpr auto enum_names(Generator) {
  using enum Generator;
  return std::array<std::pair<Generator, std::string_view>, 3>{
      {{clean, "clean"}, {feroma, "feroma"}, {anda_2024, "anda-2024"}}};
}

/// Training data stay (ND), are replaced (DR) or accumulate (DA) at each stage; test data come from distributions that
/// occur in training (ND) or are new to the client (DR). In `fixed` nothing changes and tests are like training.
enum class DriftMode { fixed, trND_teDR, trDA_teDR, trDA_teND, trDR_teDR, trDR_teND };
constexpr auto enum_names(DriftMode) {
  using enum DriftMode;
  return std::array<std::pair<DriftMode, std::string_view>, 6>{{{fixed, "static"},
                                                                {trND_teDR, "trND_teDR"},
                                                                {trDA_teDR, "trDA_teDR"},
                                                                {trDA_teND, "trDA_teND"},
                                                                {trDR_teDR, "trDR_teDR"},
                                                                {trDR_teND, "trDR_teND"}}};
}
[[nodiscard]] constexpr bool has_stages(DriftMode mode) {
  return mode != DriftMode::fixed && mode != DriftMode::trND_teDR;
}
[[nodiscard]] constexpr bool accumulates(DriftMode mode) {
  return mode == DriftMode::trDA_teDR || mode == DriftMode::trDA_teND;
}
/// Whether the test distribution is one that the client has never trained on.
[[nodiscard]] constexpr bool tests_drift(DriftMode mode) {
  return mode == DriftMode::trND_teDR || mode == DriftMode::trDA_teDR || mode == DriftMode::trDR_teDR;
}

/// Which distribution a client is tested on. `automatic` is the drift mode's own rule.
enum class TestRule { automatic, last_list, last_set, own_seen, own_last, unseen, seen_once };
constexpr auto enum_names(TestRule) {
  using enum TestRule;
  return std::array<std::pair<TestRule, std::string_view>, 7>{{{automatic, "auto"},
                                                               {last_list, "last_list"},
                                                               {last_set, "last_set"},
                                                               {own_seen, "own_seen"},
                                                               {own_last, "own_last"},
                                                               {unseen, "unseen"},
                                                               {seen_once, "seen_once"}}};
}

/// How much each client's samples are repeated. `code` keeps a stage at 1/30 of the dataset, `paper` follows the text
/// (half, twice and three times the data of 20 clients for 10, 50 and 100), `none` repeats nothing.
enum class ScaleRule { automatic, code, paper, none };
constexpr auto enum_names(ScaleRule) {
  using enum ScaleRule;
  return std::array<std::pair<ScaleRule, std::string_view>, 4>{
      {{automatic, "auto"}, {code, "code"}, {paper, "paper"}, {none, "none"}}};
}

/// Where unseen test clients get their distributions: angles or colours and class sets that the bank has not, or pairs
/// of an angle and a colour held out of it, both of which occur in training with others.
enum class UnseenFrom { outside, bank };
constexpr auto enum_names(UnseenFrom) {
  using enum UnseenFrom;
  return std::array<std::pair<UnseenFrom, std::string_view>, 2>{{{outside, "outside"}, {bank, "bank"}}};
}

/// trND_teDR: which patterns or labels are frequent in a client's test data.
enum class TestOrder { reversed, fresh };
constexpr auto enum_names(TestOrder) {
  using enum TestOrder;
  return std::array<std::pair<TestOrder, std::string_view>, 2>{{{reversed, "reversed"}, {fresh, "fresh"}}};
}

}  // namespace feroma
