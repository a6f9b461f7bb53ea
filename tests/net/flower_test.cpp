// Flower's messages, tensors and profiles: what travels, byte by byte, and what is refused of it.
#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <limits>

#include "feroma/core/npy.h"
#include "feroma/models/spec.h"
#include "net/flower_dialect.h"
#include "net/flower_tensors.h"
#include "tests/core/expect_error.h"

namespace feroma::net::test {
namespace {

using feroma::test::error_of;
using feroma::test::holds;

std::string bytes(std::initializer_list<int> values) {
  std::string text;
  for (const int value : values) {
    text.push_back(static_cast<char>(value));
  }
  return text;
}

template <class Message>
std::string wire(const Message& message) {
  return message.SerializeAsString();
}

template <class Message>
Message read(const std::string& text) {
  Message message;
  EXPECT_TRUE(message.ParseFromString(text));
  return message;
}

// ---- messages ----

TEST(FlowerWire, ServerMessagesAreWhatFlowerReads) {
  flower::ServerMessage message;
  message.mutable_reconnect_ins()->set_seconds(5);
  EXPECT_EQ(wire(message), bytes({0x0a, 2, 0x08, 5}));
  message.mutable_reconnect_ins()->set_seconds(0);
  EXPECT_EQ(wire(message), bytes({0x0a, 0})) << "zero is left out";
  message.mutable_get_properties_ins();
  EXPECT_EQ(wire(message), bytes({0x12, 0}));
  message.mutable_get_parameters_ins();
  EXPECT_EQ(wire(message), bytes({0x1a, 0}));
  put(*message.mutable_fit_ins()->mutable_config(), "a", std::int64_t{-1});
  EXPECT_EQ(wire(message), bytes({0x22, 9, 0x12, 7, 0x0a, 1, 'a', 0x12, 2, 0x40, 1})) << "integers are zig-zag";
  *message.mutable_evaluate_ins()->mutable_parameters()->add_tensors() = "x";
  message.mutable_evaluate_ins()->mutable_parameters()->set_tensor_type("n");
  EXPECT_EQ(wire(message), bytes({0x2a, 8, 0x0a, 6, 0x0a, 1, 'x', 0x12, 1, 'n'}));
}

TEST(FlowerWire, ScalarsHaveFlowersNumbers) {
  const auto scalar_of = [](const auto& value) {
    Scalars scalars;
    put(scalars, "k", value);
    return wire(scalars.at("k"));
  };
  EXPECT_EQ(scalar_of(1.0), bytes({0x09, 0, 0, 0, 0, 0, 0, 0xf0, 0x3f}));
  EXPECT_EQ(scalar_of(std::int64_t{3}), bytes({0x40, 6}));
  EXPECT_EQ(scalar_of(std::int64_t{-3}), bytes({0x40, 5}));
  EXPECT_EQ(scalar_of(true), bytes({0x68, 1}));
  EXPECT_EQ(scalar_of(false), bytes({0x68, 0})) << "which of the kinds it is must be told even where it is zero";
  EXPECT_EQ(scalar_of(std::string("ab")), bytes({0x72, 2, 'a', 'b'}));
  const Bytes raw{std::byte{7}};
  EXPECT_EQ(scalar_of(std::span<const std::byte>(raw)), bytes({0x7a, 1, 7}));
  flower::Scalar large;
  large.set_large(1);
  EXPECT_EQ(wire(large), bytes({0x30, 1}));
}

TEST(FlowerWire, ClientMessagesAreReadAsFlowerWritesThem) {
  const auto goodbye = read<flower::ClientMessage>(bytes({0x0a, 2, 0x08, 4}));
  EXPECT_EQ(goodbye.disconnect_res().reason(), flower::ACK);
  const auto properties = read<flower::ClientMessage>(
      bytes({0x12, 19, 0x0a, 4, 0x08, 1, 0x12, 0, 0x12, 11, 0x0a, 3, 'c', 'i', 'd', 0x12, 4, 0x72, 2, '1', '2'}));
  EXPECT_EQ(properties.get_properties_res().status().code(), flower::GET_PROPERTIES_NOT_IMPLEMENTED);
  EXPECT_EQ(integer_in(properties.get_properties_res().properties(), "cid"), 12);
  const auto parameters = read<flower::ClientMessage>(bytes({0x1a, 5, 0x12, 3, 0x0a, 1, 'x'}));
  EXPECT_EQ(parameters.get_parameters_res().parameters().tensors(0), "x");
  flower::ClientMessage cut_off;
  EXPECT_FALSE(cut_off.ParseFromString(bytes({0x22, 16, 0x12, 3, 0x0a, 1, 'x', 0x18, 7})));
  const auto fit = read<flower::ClientMessage>(
      bytes({0x22, 16, 0x12, 3, 0x0a, 1, 'x', 0x18, 7, 0x22, 7, 0x0a, 1, 'm', 0x12, 2, 0x68, 1}));
  EXPECT_EQ(fit.fit_res().num_examples(), 7);
  EXPECT_TRUE(is_true(fit.fit_res().metrics(), "m"));
  const auto score = read<flower::ClientMessage>(bytes({0x2a, 7, 0x15, 0, 0, 0, 0x3f, 0x18, 3}));
  EXPECT_EQ(score.evaluate_res().status().code(), flower::OK) << "left out where all is well";
  EXPECT_EQ(score.evaluate_res().loss(), 0.5F) << "32 bits";
  EXPECT_EQ(score.evaluate_res().num_examples(), 3);
}

TEST(FlowerWire, NumbersComeInSeveralKinds) {
  Scalars scalars;
  put(scalars, "real", 0.25);
  put(scalars, "whole", std::int64_t{4});
  put(scalars, "nan", std::numeric_limits<double>::quiet_NaN());
  put(scalars, "text", std::string("17"));
  put(scalars, "words", std::string("17 apples"));
  scalars["large"].set_large(std::numeric_limits<std::uint64_t>::max());
  EXPECT_EQ(number_in(scalars, "real"), 0.25);
  EXPECT_EQ(number_in(scalars, "whole"), 4);
  EXPECT_EQ(number_in(scalars, "nan"), std::nullopt);
  EXPECT_EQ(number_in(scalars, "none"), std::nullopt);
  EXPECT_EQ(integer_in(scalars, "text"), 17);
  EXPECT_EQ(integer_in(scalars, "words"), std::nullopt);
  EXPECT_EQ(integer_in(scalars, "large"), std::nullopt);
  EXPECT_EQ(integer_in(scalars, "real"), std::nullopt);
}

TEST(FlowerWire, ListsOfNumbersAreReadStrictly) {
  const auto list = [](std::string_view text) { return numbers_in_json(text, 4, "the list"); };
  EXPECT_EQ(list("[1, -2.5e1,3]"), (std::vector<float>{1, -25, 3}));
  EXPECT_EQ(list(" [[1, 2], [3, 4]]\n"), (std::vector<float>{1, 2, 3, 4}));
  EXPECT_EQ(list("[]"), std::vector<float>{});
  for (const char* text : {"", "1", "[1", "[1,]", "[,1]", "[1 2]", "[1]]", "[1] x", "[NaN]", "[Infinity]", "[\"1\"]",
                           "{\"a\": 1}", "[1e999]", "[null]", "[[1], 2", "[1][2]", "[0x10]"}) {
    EXPECT_TRUE(holds(error_of(ErrorCode::invalid_data, [&] { (void)list(text); }), "the list must be")) << text;
  }
  EXPECT_TRUE(holds(error_of(ErrorCode::invalid_data, [&] { (void)list("[1,2,3,4,5]"); }), "at most 4 numbers"));
  const std::string deep = std::string(100'000, '[') + std::string(100'000, ']');
  EXPECT_EQ(list(deep), std::vector<float>{}) << "brackets cost no stack";
}

// ---- tensors ----

/// Two tensors and a counter, as batch norm has them.
std::shared_ptr<const ParamLayout> small_layout() {
  auto layout = std::make_shared<ParamLayout>();
  layout->add("fc.weight", SegmentKind::weight, {2, 3});
  layout->add("fc.bias", SegmentKind::bias, {2});
  layout->add("norm.num_batches_tracked", SegmentKind::buffer, {1});
  return layout;
}

std::string npy(std::string_view type, bool fortran, std::string_view shape, std::string_view data) {
  std::string dictionary =
      fmt::format("{{'descr': '{}', 'fortran_order': {}, 'shape': {}, }}", type, fortran ? "True" : "False", shape);
  dictionary.append((64 - (10 + dictionary.size() + 1) % 64) % 64, ' ');
  dictionary += '\n';
  std::string text("\x93NUMPY\x01\x00", 8);
  text += static_cast<char>(dictionary.size() & 0xff);
  text += static_cast<char>(dictionary.size() >> 8);
  return text + dictionary + std::string(data);
}

template <class T>
std::string raw(std::initializer_list<T> values) {
  std::string text(values.size() * sizeof(T), '\0');
  std::memcpy(text.data(), values.begin(), text.size());
  return text;
}

/// What NumPy would send of the small layout.
flower::Parameters good_tensors() {
  flower::Parameters tensors;
  tensors.set_tensor_type("numpy.ndarray");
  tensors.add_tensors(npy("<f4", false, "(2, 3)", raw({1.F, 2.F, 3.F, 4.F, 5.F, 6.F})));
  tensors.add_tensors(npy("<f4", false, "(2,)", raw({7.F, 8.F})));
  tensors.add_tensors(npy("<i8", false, "()", raw({std::int64_t{9}})));
  return tensors;
}

std::vector<float> values_of(const flower::Parameters& tensors) {
  const Parameters model = from_flower(tensors, small_layout(), "it");
  return {model.values().begin(), model.values().end()};
}

TEST(FlowerTensors, ReadsWhatNumPyWrites) {
  EXPECT_EQ(values_of(good_tensors()), (std::vector<float>{1, 2, 3, 4, 5, 6, 7, 8, 9}));
  flower::Parameters wide = good_tensors();
  wide.set_tensors(1, npy("<f8", false, "(2,)", raw({7.5, 8.5})));
  EXPECT_EQ(values_of(wide)[6], 7.5F);
  flower::Parameters turned = good_tensors();
  turned.set_tensors(0, npy("<f4", true, "(2, 3)", raw({1.F, 4.F, 2.F, 5.F, 3.F, 6.F})));
  EXPECT_EQ(values_of(turned), values_of(good_tensors())) << "Fortran order, as a transposed matrix has";
  flower::Parameters counter = good_tensors();
  counter.set_tensors(2, npy("<f4", false, "(1,)", raw({9.F})));
  EXPECT_EQ(values_of(counter), values_of(good_tensors()));
}

TEST(FlowerTensors, ComeBackAsTheyWere) {
  const ModelSpec spec = make_model("resnet9", {3, 32, 32}, 10);
  const Parameters model = initialise(spec, Rng(3));
  const flower::Parameters tensors = to_flower(model);
  EXPECT_EQ(tensors.tensor_type(), "numpy.ndarray");
  ASSERT_EQ(static_cast<std::size_t>(tensors.tensors_size()), model.layout().segments.size());
  EXPECT_EQ(tensors.tensors(0).substr(0, 8), std::string("\x93NUMPY\x01\x00", 8));
  EXPECT_TRUE(holds(tensors.tensors(0), "{'descr': '<f4', 'fortran_order': False, 'shape': (64, 3, 3, 3), }"));
  const Parameters back = from_flower(tensors, model.shared_layout(), "it");
  EXPECT_TRUE(std::equal(back.values().begin(), back.values().end(), model.values().begin()));
  std::size_t counters = 0;
  for (std::size_t i = 0; i < model.layout().segments.size(); ++i) {
    if (model.layout().segments[i].name.ends_with("num_batches_tracked")) {
      EXPECT_TRUE(holds(tensors.tensors(static_cast<int>(i)), "'shape': ()")) << "PyTorch's have no dimensions";
      counters += 1;
    }
  }
  EXPECT_GT(counters, 0U);
  EXPECT_LE(tensors.ByteSizeLong(), largest_flower_message(model.layout(), 0));
}

TEST(FlowerTensors, RefusesWhatIsNotTheModel) {
  const auto refusal = [](const std::function<void(flower::Parameters&)>& change) {
    flower::Parameters tensors = good_tensors();
    change(tensors);
    return error_of(ErrorCode::invalid_data, [&] { (void)values_of(tensors); });
  };
  const auto with = [&](int tensor, const std::string& file) {
    return refusal([&](flower::Parameters& tensors) { tensors.set_tensors(tensor, file); });
  };
  const std::string two = raw({7.F, 8.F});
  EXPECT_TRUE(holds(refusal([](auto& t) { t.mutable_tensors()->RemoveLast(); }), "has 3 tensors, got 2"));
  EXPECT_TRUE(holds(refusal([](auto& t) { t.add_tensors(t.tensors(1)); }), "has 3 tensors, got 4"));
  EXPECT_TRUE(holds(refusal([](auto& t) { t.mutable_tensors()->SwapElements(0, 1); }), "must be 2x3, got 2"));
  EXPECT_TRUE(holds(refusal([](auto& t) { t.set_tensor_type("torch"); }), "must be of type numpy.ndarray"));
  EXPECT_TRUE(holds(with(1, ""), "it: tensor 1 (fc.bias): is not a .npy file"));
  EXPECT_TRUE(holds(with(1, "not an array at all"), "is not a .npy file"));
  EXPECT_TRUE(holds(with(1, npy("<f4", false, "(2,)", two).substr(0, 9)), "is not a .npy file"));
  EXPECT_TRUE(holds(with(1, npy("<f4", false, "(2,)", two).substr(0, 40)), "the array header claims"));
  EXPECT_TRUE(holds(with(1, npy("<f4", false, "(2,)", two.substr(0, 7))), "asks for more"));
  EXPECT_TRUE(holds(with(1, npy("<f4", false, "(2,)", two + "x")), "asks for 8 bytes of data, the file has 9"));
  EXPECT_TRUE(holds(with(1, npy("<f4", false, "(3,)", raw({1.F, 2.F, 3.F}))), "must be 2, got 3"));
  EXPECT_TRUE(holds(with(0, npy("<f4", false, "(3, 2)", raw({1.F, 2.F, 3.F, 4.F, 5.F, 6.F}))), "must be 2x3, got 3x2"));
  EXPECT_TRUE(holds(with(1, npy("<f4", false, "()", raw({1.F}))), "must be 2, got a single number"));
  EXPECT_TRUE(holds(with(1, npy("<f4", false, "(2, 9223372036854775807)", two)), "asks for more"));
  EXPECT_TRUE(holds(with(1, npy("<f4", false, "(-2,)", two)), "dimension 0"));
  EXPECT_TRUE(holds(with(1, npy("|O", false, "(2,)", two)), "got |O"));
  EXPECT_TRUE(holds(with(1, npy("<f2", false, "(2,)", "abcd")), "got <f2"));
  EXPECT_TRUE(holds(with(1, npy(">f4", false, "(2,)", two)), "got >f4"));
  EXPECT_TRUE(holds(with(1, npy("<i8", false, "(2,)", raw({std::int64_t{1}, std::int64_t{2}}))), "f4 or f8, got i8"));
  EXPECT_TRUE(holds(with(1, npy("|u1", false, "(2,)", "ab")), "f4 or f8, got u1"));
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_TRUE(holds(with(1, npy("<f4", false, "(2,)", raw({1.F, nan}))), "must be finite"));
  EXPECT_TRUE(holds(with(1, npy("<f8", false, "(2,)", raw({1.0, 1e300}))), "must be finite"));
  EXPECT_TRUE(holds(with(1, std::string("\x93NUMPY\x02\x00\xff\xff\xff\xff", 12)), "the array header claims"));
  EXPECT_TRUE(holds(with(1, std::string("\x93NUMPY\x03\x00\x00\x00", 10)), "version must be 1.0 or 2.0"));
  EXPECT_TRUE(holds(with(1, std::string(1 << 20, 'x')), "must have at most"));
}

// ---- profiles ----

/// Three latents, one projected coordinate, two classes, class shares.
FlowerProfiles small_profiles(bool full_marginal) {
  return {{full_marginal ? 3 : 1, 1, 2, true}, 3, Latent::penultimate, false};
}
const Projector kProjector{3, 1, {0.6F, 0.8F, 0}, {1, 0, 0}};

TEST(FlowerProfile, IsReadAsItIs) {
  Scalars metrics;
  put(metrics, "profile", std::string("[1, 2, 3, 4, 5, 6, 0.5, 0.5]"));
  const std::vector<float> values{1, 2, 3, 4, 5, 6, 0.5F, 0.5F};
  EXPECT_EQ(profile_in(metrics, small_profiles(false), kProjector), values);
  put(metrics, "profile", npy_bytes(values, std::array<std::int64_t, 1>{8}));
  EXPECT_EQ(profile_in(metrics, small_profiles(false), kProjector), values);
  EXPECT_EQ(profile_in({}, small_profiles(false), kProjector), std::nullopt);
  const auto refusal = [&] {
    return error_of(ErrorCode::invalid_data, [&] { (void)profile_in(metrics, small_profiles(false), kProjector); });
  };
  put(metrics, "profile", std::string("[1, 2]"));
  EXPECT_TRUE(holds(refusal(), "[flower] the metric profile must have 8 numbers, got 2"));
  put(metrics, "profile", 1.0);
  EXPECT_TRUE(holds(refusal(), "must be a JSON list or a .npy file"));
  put(metrics, "profile", npy_bytes(std::array{1.0, 1e200}, std::array<std::int64_t, 1>{2}));
  EXPECT_TRUE(holds(refusal(), "must be finite"));
}

// Means project as points do: 0.6 (x - 1) + 0.8 y. Spreads: sqrt(0.36 s^2 + 0.64 t^2).
TEST(FlowerProfile, IsMadeOfMomentsOfRawLatents) {
  Scalars metrics;
  put(metrics, "latent_space_mean", std::string("[2, 1, 9]"));
  put(metrics, "latent_space_std", std::string("[1, 1, 7]"));
  put(metrics, "latent_space_mean_by_label", std::string("[[1, 1, 5], [0, 0, 0]]"));
  put(metrics, "latent_space_std_by_label", std::string("[[0, 2, 5], [0, 0, 0]]"));
  const auto refusal = [&] {
    return error_of(ErrorCode::invalid_data, [&] { (void)profile_in(metrics, small_profiles(false), kProjector); });
  };
  EXPECT_TRUE(holds(refusal(), "class_shares is missing"));
  put(metrics, "class_shares", std::string("[1, 0]"));
  const Floats narrow = profile_in(metrics, small_profiles(false), kProjector).value();
  const Floats expected{1.4F, 1, 0.8F, 1.6F, 0, 0, 1, 0};
  ASSERT_EQ(narrow.size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_NEAR(narrow[i], expected[i], 1e-6) << i;
  }
  const Floats full = profile_in(metrics, small_profiles(true), kProjector).value();
  EXPECT_EQ(Floats(full.begin(), full.begin() + 6), (Floats{2, 1, 9, 1, 1, 7}))
      << "all latents stay in the first block";
  put(metrics, "class_shares", std::string("[2, -1]"));
  EXPECT_TRUE(holds(refusal(), "class_shares must be in 0..1, got 2"));
}

TEST(FlowerProfile, IsMadeOfMomentsThatAreProjectedAlready) {
  Scalars metrics;
  put(metrics, "latent_space_mean", std::string("[2]"));
  put(metrics, "latent_space_std", std::string("[1]"));
  put(metrics, "latent_space_mean_by_label", std::string("[3, -1]"));
  put(metrics, "latent_space_std_by_label", std::string("[4, -1]"));
  put(metrics, "class_shares", std::string("[1, 0]"));
  EXPECT_EQ(profile_in(metrics, small_profiles(false), kProjector), (Floats{2, 1, 3, 4, -1, -1, 1, 0}));
  const std::string full =
      error_of(ErrorCode::invalid_data, [&] { (void)profile_in(metrics, small_profiles(true), kProjector); });
  EXPECT_TRUE(holds(full, "latent_space_mean must have 3 numbers, got 1"));
  put(metrics, "latent_space_std_by_label", std::string("[4, -1, 5]"));
  const std::string long_one =
      error_of(ErrorCode::invalid_data, [&] { (void)profile_in(metrics, small_profiles(false), kProjector); });
  EXPECT_TRUE(holds(long_one, "latent_space_std_by_label must have 2 numbers, got 3"));
}

// ---- methods ----

FederationPlan plan_of(const std::string& text) {
  return read_federation_plan(
      parse_settings("[scenario]\ndataset = 'fmnist'\nclients = 3\nrounds = 4\n" + text, "test"));
}

TEST(FlowerMethods, AreThoseThatTrainWhatTheyAreSent) {
  const FlowerDialect prox = flower_dialect(plan_of("[[algorithm]]\nname = 'fedprox'\nmu = 0.25"));
  EXPECT_EQ(prox.proximal_mu, 0.25);
  EXPECT_FALSE(prox.profiles.has_value());
  Scalars config;
  describe_round(config, prox, 2);
  EXPECT_EQ(number_in(config, "proximal_mu"), 0.25);
  EXPECT_EQ(integer_in(config, "current_round"), 2);
  EXPECT_EQ(integer_in(config, "tot_rounds"), 4);
  EXPECT_EQ(integer_in(config, "local_epochs"), 2);
  const FlowerDialect feroma = flower_dialect(plan_of(
      "[[algorithm]]\nname = 'feroma'\nwarmup_rounds = 2\npreset = 'reference'\nprofile.latent = 'penultimate'"));
  EXPECT_EQ(feroma.profiles.value().shape.size(), 220U);
  EXPECT_EQ(feroma.profiles.value().width, 84);
  const auto refusal = [](const std::string& text) {
    return error_of(ErrorCode::unsupported, [&] { (void)flower_dialect(plan_of(text)); });
  };
  EXPECT_TRUE(holds(refusal("[[algorithm]]\nname = 'scaffold'"), "cannot take part in scaffold"));
  EXPECT_TRUE(holds(refusal("[[algorithm]]\nname = 'feroma'\nwarmup_rounds = 2\npreset = 'paper'"), "pca_box"));
  EXPECT_TRUE(holds(refusal("[[algorithm]]\nname = 'feroma'\nwarmup_rounds = 2\nprofile.encoder = 'input_moments'"),
                    "input_moments"));
  EXPECT_TRUE(holds(refusal("[privacy]\nmode = 'gaussian'\n[[algorithm]]\nname = 'feroma'\nwarmup_rounds = 2"),
                    "privacy.mode gaussian"));
}

}  // namespace
}  // namespace feroma::net::test
