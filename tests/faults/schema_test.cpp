// F10: answers whose tensors are of another model, of another kind, in another order, too many or too few.
#include <limits>

#include "feroma/algorithms/answers.h"
#include "feroma/core/archive.h"
#include "tests/faults/hub_fixture.h"

namespace feroma::faults {
namespace {

/// The bytes of an answer, written piece by piece so that each can be wrong.
class Crafted {
 public:
  Crafted& text(std::string_view value) {
    archive_.put(value);
    return *this;
  }
  template <class T>
  Crafted& number(T value) {
    archive_.put(value);
    return *this;
  }
  template <class T>
  Crafted& vector(const std::vector<T>& values) {
    archive_.put(values);
    return *this;
  }
  Crafted& count(std::uint64_t values) { return number(values); }
  Crafted& floats(std::string_view key, const Floats& values) {
    return text(key).number<std::uint8_t>(0).vector(values);
  }
  Crafted& ints(std::string_view key, const Ints& values) { return text(key).number<std::uint8_t>(1).vector(values); }
  Crafted& model(std::string_view key, const Floats& values) {
    return text(key).number<std::uint8_t>(2).number<std::uint8_t>(1).vector(values);
  }
  /// A model that is not written as its values.
  Crafted& model_tag(std::string_view key, std::uint8_t tag) {
    return text(key).number<std::uint8_t>(2).number<std::uint8_t>(tag);
  }
  operator Bytes() const { return archive_.bytes(); }

 private:
  ArchiveWriter archive_;
};

struct Variant {
  std::string name;
  Bytes bytes;
  std::string reason;  ///< part of what is said about it
};

class Schema : public HubTest {
 protected:
  Crafted begin_with(std::uint64_t values) const {
    Crafted crafted;
    crafted.text(layout_digest(initial->layout())).count(values);
    return crafted;
  }
  Floats values(std::size_t count) const { return Floats(count, 0.25F); }

  std::vector<Variant> of_other_models() const {
    std::vector<Variant> variants;
    const std::string reason = "other names or shapes";
    const auto add = [&](const std::string& name, const ModelSpec& spec) {
      const ParametersPtr model = share(initialise(spec, Rng(1)));
      const Message told{{{"model", model}, {"num_examples", Ints{7}}}};
      variants.push_back({name, encode_message(told, model->layout()), reason});
    };
    add("one class more", test::toy_model({1, 1, 2}, 3));
    add("one class less", test::toy_model({1, 1, 2}, 1));
    add("as many numbers in another shape", test::toy_model({1, 1, 1}, 3));
    add("wider input", test::toy_model({1, 1, 3}, 2));
    add("another name for the same tensor", {"toy", {1, 1, 2}, 2, {Flatten{}, Linear{"head", 2}}});
    add("two layers", {"toy", {1, 1, 2}, 2, {Flatten{}, Linear{"fc", 2}, Linear{"head", 2}}});
    add("a third layer", {"toy", {1, 1, 2}, 2, {Flatten{}, Linear{"fc", 2}, Linear{"mid", 2}, Linear{"head", 2}}});
    add("two channels", test::toy_model({2, 1, 2}, 2));
    std::string digest = layout_digest(initial->layout());
    const auto with_digest = [&](const std::string& name, const std::string& other) {
      variants.push_back(
          {name, Crafted().text(other).count(2).model("model", values(initial->size())).ints("num_examples", {7}),
           reason});
    };
    with_digest("no digest", "");
    with_digest("a shorter digest", digest.substr(1));
    with_digest("a longer digest", digest + "0");
    digest.front() = digest.front() == '0' ? '1' : '0';
    with_digest("another digest", digest);
    return variants;
  }

  std::vector<Variant> of_other_sizes() const {
    const std::size_t size = initial->size();
    std::vector<Variant> variants;
    for (const std::size_t count : {std::size_t{0}, size - 1, size + 1, size / 2, 2 * size, 16 * size}) {
      variants.push_back({fmt::format("{} values instead of {}", count, size),
                          begin_with(2).model("model", values(count)).ints("num_examples", {7}), "must have"});
    }
    const auto add = [&](const std::string& name, std::uint8_t tag, const std::string& reason) {
      variants.push_back({name, begin_with(2).model_tag("model", tag).ints("num_examples", {7}), reason});
    };
    add("no model under the name", 0, "model");
    add("an unknown model tag", 9, "unknown tag 9");
    variants.push_back({"a model that was sent before",
                        begin_with(2).model_tag("model", 2).number<std::uint32_t>(0).ints("num_examples", {7}),
                        "refers to model 0 of 0"});
    variants.push_back({"a model by the name of a file",
                        begin_with(2).model_tag("model", 3).text("models/secret").ints("num_examples", {7}),
                        "models must be in it"});
    return variants;
  }

  std::vector<Variant> of_other_kinds() const {
    const Floats whole = values(initial->size());
    const std::vector<double> wide(initial->size(), 0.25);
    return {
        {"floats where a model belongs", begin_with(2).floats("model", whole).ints("num_examples", {7}), "model"},
        {"integers where a model belongs", begin_with(2).ints("model", Ints(whole.size(), 1)).ints("num_examples", {7}),
         "model"},
        {"doubles where floats belong",
         begin_with(2).text("model").number<std::uint8_t>(2).number<std::uint8_t>(1).vector(wide).ints("num_examples",
                                                                                                       {7}),
         ""},
        {"an unknown kind", begin_with(2).text("model").number<std::uint8_t>(3).vector(whole).ints("num_examples", {7}),
         "unknown kind 3"},
        {"a count as floats", begin_with(2).model("model", whole).floats("num_examples", {7}), "num_examples"},
        {"a count as a model", begin_with(2).model("model", whole).model("num_examples", whole), "num_examples"},
        {"two counts", begin_with(2).model("model", whole).ints("num_examples", {7, 7}), "num_examples"},
        {"no count", begin_with(2).model("model", whole).ints("num_examples", {}), "num_examples"},
        {"a negative count", begin_with(2).model("model", whole).ints("num_examples", {-1}), "num_examples"},
        {"one sample more than anybody has",
         begin_with(2).model("model", whole).ints("num_examples", {kMostExamples + 1}), "num_examples"},
        {"a count beside which nobody else's counts",
         begin_with(2).model("model", whole).ints("num_examples", {std::int64_t{1} << 62}), "num_examples"},
        {"the smallest count",
         begin_with(2).model("model", whole).ints("num_examples", {std::numeric_limits<std::int64_t>::min()}),
         "num_examples"},
    };
  }

  std::vector<Variant> of_other_order() const {
    const Floats whole = values(initial->size());
    return {
        {"nothing", Bytes(1), ""},
        {"an empty message", begin_with(0), "model"},
        {"no model", begin_with(1).ints("num_examples", {7}), "model"},
        {"no examples", begin_with(1).model("model", whole), "num_examples"},
        {"another name", begin_with(2).model("models", whole).ints("num_examples", {7}), "model"},
        {"the other order", begin_with(2).ints("num_examples", {7}).model("model", whole), "unique and in order"},
        {"twice the same", begin_with(3).model("model", whole).model("model", whole).ints("num_examples", {7}),
         "unique and in order"},
        {"fewer than announced", begin_with(3).model("model", whole).ints("num_examples", {7}), ""},
        {"more than announced", begin_with(1).model("model", whole).ints("num_examples", {7}), ""},
        {"more announced than could ever be",
         begin_with(~std::uint64_t{0}).model("model", whole).ints("num_examples", {7}), ""},
        {"a name without an end", begin_with(2).number<std::uint64_t>(1U << 30), ""},
    };
  }

  std::vector<Variant> of_other_values() const {
    std::vector<Variant> variants;
    for (const float value : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(),
                              -std::numeric_limits<float>::infinity(), std::numeric_limits<float>::signaling_NaN()}) {
      for (const std::size_t at : {std::size_t{0}, initial->size() - 1}) {
        Floats whole = values(initial->size());
        whole[at] = value;
        variants.push_back({fmt::format("{} at {}", value, at),
                            begin_with(2).model("model", whole).ints("num_examples", {7}), "must be finite"});
      }
    }
    return variants;
  }

  void expect_refused(const std::vector<Variant>& variants) {
    for (const Variant& variant : variants) {
      round += 1;
      Probe liar(*hub, 0);
      Probe honest(*hub, 1);
      begin(round, 2);
      const v1::Task task = liar.task();
      const v1::Verdict verdict = liar.answer(task, variant.bytes);
      EXPECT_TRUE(verdict.reason() == v1::MALFORMED || verdict.reason() == v1::UNBELIEVABLE)
          << variant.name << ": " << v1::Reason_Name(verdict.reason());
      EXPECT_FALSE(verdict.text().empty()) << variant.name;
      EXPECT_NE(verdict.text().find(variant.reason), std::string::npos) << variant.name << ": " << verdict.text();
      if (verdict.reason() == v1::MALFORMED) {
        EXPECT_EQ(liar.answer(task, Bytes()).reason(), v1::ACCEPTED) << "it may still say that it failed";
      }
      EXPECT_EQ(honest.answer(honest.task(), update(1)).reason(), v1::ACCEPTED);
      exchange.join();
      EXPECT_TRUE(counted_of(0).empty()) << variant.name;
      EXPECT_EQ(counted_of(1), update(1));
    }
  }

  Round round = 0;
};

TEST_F(Schema, AnswersThatDoNotFitAreRefusedByName) {
  std::vector<Variant> all;
  for (const auto& some :
       {of_other_models(), of_other_sizes(), of_other_kinds(), of_other_order(), of_other_values()}) {
    all.insert(all.end(), some.begin(), some.end());
  }
  EXPECT_GE(all.size(), 50U);
  expect_refused(all);
  EXPECT_EQ(counted(v1::MALFORMED) + counted(v1::UNBELIEVABLE), all.size());
}

TEST_F(Schema, ATensorThatNobodyAskedForIsRefused) {
  const Floats whole = values(initial->size());
  expect_refused({
      {"a second model", begin_with(3).model("model", whole).model("model2", whole).ints("num_examples", {7}),
       "model2"},
      {"further numbers", begin_with(3).floats("extra", {1}).model("model", whole).ints("num_examples", {7}), "extra"},
  });
}

}  // namespace
}  // namespace feroma::faults
