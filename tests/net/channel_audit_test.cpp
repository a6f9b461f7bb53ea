// What leaves a client whose profiles are under a budget: everything it says is recorded and looked at.
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "feroma/net/codec.h"
#include "feroma/privacy/ledger.h"
#include "net/visitor.h"
#include "tests/net/federation_fixture.h"

namespace feroma::net::test {
namespace {

/// How much of its part of the scenario a client has.
enum class Has { everything, one_class, one_record };

View less_of(View view, Has has, std::int32_t label) {
  std::vector<ViewItem> kept;
  for (std::size_t i = 0; i < view.size(); ++i) {
    if (has == Has::everything || view.label(i) == label) {
      kept.push_back(view.items[i]);
    }
  }
  view.items = std::move(kept);
  return view;
}

/// Records of the first one's class, or that one alone; then none is held out.
class LessData final : public ClientData {
 public:
  LessData(std::unique_ptr<ClientData> whole, Has has) : whole_(std::move(whole)), has_(has) {}

  [[nodiscard]] SampleShape shape() const override { return whole_->shape(); }
  [[nodiscard]] int classes() const override { return whole_->classes(); }
  [[nodiscard]] bool multi_label() const override { return whole_->multi_label(); }
  [[nodiscard]] ClientShard shard(Round round) override {
    ClientShard part = whole_->shard(round);
    const std::int32_t label = part.train.label(0);
    part.train = less_of(std::move(part.train), has_, label);
    part.held_out = less_of(std::move(part.held_out), has_, label);
    if (has_ == Has::one_record) {
      part.train.items.resize(1);
      part.held_out.items.clear();
    }
    return part;
  }
  [[nodiscard]] View train_of_window(int window) override { return whole_->train_of_window(window); }

 private:
  std::unique_ptr<ClientData> whole_;
  Has has_;
};

/// Everything that a client or a visitor said.
struct Recorded {
  std::vector<v1::ClientFrame> frames;
  std::vector<std::pair<v1::Answer, Message>> answers;

  [[nodiscard]] Pipe::Meddle listener() {
    return [this](v1::ClientFrame& frame) {
      frames.push_back(frame);
      return true;
    };
  }
  /// Puts the pieces together.
  void read_answers(const std::shared_ptr<const ParamLayout>& layout) {
    Bytes bytes;
    for (const v1::ClientFrame& frame : frames) {
      if (frame.has_answer()) {
        answers.emplace_back(frame.answer(), Message());
        bytes.clear();
      } else if (frame.has_piece()) {
        const auto piece = std::as_bytes(std::span(frame.piece().data()));
        bytes.insert(bytes.end(), piece.begin(), piece.end());
        if (bytes.size() == answers.back().first.size()) {
          answers.back().second = decode_message(bytes, layout, "recorded");
        }
      }
    }
  }
};

class ChannelAudit : public FederationTest {
 protected:
  /// Plays a whole federation, whose server then stays, and writes down what client 0 says.
  Recorded record(const std::string& mode, int seed, Has has = Has::everything) {
    coordinator.reset();
    std::filesystem::remove_all(folder / "server");
    todo = plan(experiment(
        "name = 'feroma'\nwarmup_rounds = 2\n[privacy]\nmode = '" + mode + "'\nepsilon_total = 20\nmax_releases = 4",
        {fmt::format("scenario.seed={}", seed)}));
    coordinator = std::make_unique<Coordinator>(todo, stop);
    Recorded recorded;
    std::vector<std::jthread> clients;
    for (std::uint32_t id = 0; id < 6; ++id) {
      std::filesystem::remove_all(folder / fmt::format("client-{}", id));
    }
    clients.emplace_back([&] { live_watched(has, recorded); });
    for (std::uint32_t id = 1; id < 6; ++id) {
      clients.emplace_back([&, id] { live(id, [&] { return std::make_unique<Pipe>(coordinator->hub()); }); });
    }
    coordinator->run();
    clients.clear();
    layout = initialise(make_model("lenet5", federation->shape(), federation->classes()), Rng(1)).shared_layout();
    recorded.read_answers(layout);
    return recorded;
  }

  /// A visit to the server of `record`, by a client that was never there before.
  Recorded record_visit(const std::string& name, const VisitorSamples& samples, const VisitorWish& wish) {
    Recorded recorded;
    Pipe pipe(coordinator->hub(), {"pipe", ClientId{visitors_++}, ""}, recorded.listener());
    VisitorOptions options{folder / name};
    options.data = "0123456789abcdef";
    const auto result = pay_visit(
        pipe, options, [&](const DataNames&) { return samples; }, wish, stop);
    EXPECT_TRUE(std::holds_alternative<Assigned>(result)) << name;
    EXPECT_EQ(audit_ledger(folder / name / "ledger").size(), 1U) << name;
    recorded.read_answers(layout);
    return recorded;
  }

  FederationPlan todo;
  std::unique_ptr<Coordinator> coordinator;
  std::shared_ptr<const ParamLayout> layout;

 private:
  std::uint32_t visitors_ = 1000;

  void live_watched(Has has, Recorded& recorded) {
    AgentOptions options;
    options.state = folder / "client-0";
    options.id = 0;
    LessData data(scenario_client_data(federation, ClientId{0}), has);
    Agent agent(options, data, stop);
    for (Ending ending; !stop.requested() && ending.reason != v1::FINISHED;) {
      Pipe pipe(coordinator->hub(), {"pipe", std::nullopt, ""}, recorded.listener());
      ending = agent.serve(pipe);
      if (ending.reason != v1::FINISHED && ending.retry_seconds <= 0) {
        ADD_FAILURE() << "it was refused for good: " << ending.text;
        stop.request();  // the others would wait for it
      }
    }
  }
};

/// Set fields of a frame besides its kind's message, by name.
std::set<std::string> fields_of(const google::protobuf::Message& message) {
  std::vector<const google::protobuf::FieldDescriptor*> fields;
  message.GetReflection()->ListFields(message, &fields);
  std::set<std::string> names;
  for (const auto* field : fields) {
    names.insert(field->name());
  }
  return names;
}

bool is_subset(const std::set<std::string>& some, const std::set<std::string>& all) {
  return std::includes(all.begin(), all.end(), some.begin(), some.end());
}

class ChannelAuditOf : public ChannelAudit, public ::testing::WithParamInterface<const char*> {};

TEST_P(ChannelAuditOf, OnlyWhatIsAllowedLeaves) {
  const Recorded recorded = record(GetParam(), 1);
  ASSERT_FALSE(recorded.answers.empty());
  for (const v1::ClientFrame& frame : recorded.frames) {
    EXPECT_TRUE(is_subset(fields_of(frame), {"session", "counter", "hello", "beat", "answer", "piece", "goodbye"}));
    EXPECT_TRUE(frame.GetReflection()->GetUnknownFields(frame).empty());
    EXPECT_TRUE(is_subset(fields_of(frame.hello()),
                          {"protocol", "software", "job", "committed", "id", "remembers", "process", "attempt"}));
    EXPECT_TRUE(
        is_subset(fields_of(frame.answer()), {"round", "phase", "task", "size", "digest", "failed", "released"}))
        << "no counts, losses or accuracies";
    EXPECT_TRUE(is_subset(fields_of(frame.answer().released()), {"releases", "rho", "epsilon"}));
  }
  bool profiles = false;
  for (const auto& [head, message] : recorded.answers) {
    EXPECT_EQ(head.failed(), "") << "reasons may tell of records";
    std::set<std::string> keys;
    for (const auto& [key, value] : message.values) {
      keys.insert(key);
    }
    const bool is_profile = keys == std::set<std::string>{"epoch", "sums"};
    EXPECT_TRUE(is_profile || keys == std::set<std::string>{"model"} || keys == std::set<std::string>{"norms"} ||
                keys == std::set<std::string>{"spent"})
        << fmt::format("{}", fmt::join(keys, " "));
    profiles = profiles || is_profile;
    if (is_profile) {
      // Whole numbers: no floating-point remainder can tell of a sum before its noise.
      EXPECT_TRUE(std::holds_alternative<Ints>(message.values.at("sums")));
    }
  }
  EXPECT_TRUE(profiles) << "nothing was audited";
}

// Other records, fewer of them, or of one class: same lengths. Sizes and numbers of messages say nothing of the data.
TEST_P(ChannelAuditOf, LengthsDoNotDependOnData) {
  // Bytes of each answer's head and of what follows it; the same again where a connection was lost.
  using Lengths = std::map<std::pair<int, int>, std::pair<std::size_t, std::uint64_t>>;
  const auto lengths = [](const Recorded& recorded) {
    Lengths sizes;
    for (const auto& [head, message] : recorded.answers) {
      EXPECT_EQ(head.failed(), "") << "round " << head.round() << ", phase " << head.phase();
      const std::pair size(head.ByteSizeLong(), head.size());
      const auto known = sizes.emplace(std::pair(head.round(), head.phase()), size);
      EXPECT_EQ(known.first->second, size) << "round " << head.round() << ", phase " << head.phase();
    }
    return sizes;
  };
  const Lengths usual = lengths(record(GetParam(), 1));
  EXPECT_EQ(usual.size(), 2U + 3 * 2) << "one answer in each round of the warm-up, two in the others";
  EXPECT_EQ(lengths(record(GetParam(), 2, Has::one_class)), usual);
  EXPECT_EQ(lengths(record(GetParam(), 3, Has::one_record)), usual);
}

// The same of a client that only asks for a model, with and without labels.
TEST_P(ChannelAuditOf, AVisitorTellsNoMore) {
  static_cast<void>(record(GetParam(), 1));
  const TestShard shard = federation->test(ClientId{0}, kFewLabels);
  const View one_class = less_of(shard.data, Has::one_class, shard.data.label(0));
  ASSERT_LT(one_class.size(), shard.data.size());
  View one_sample = shard.data;
  one_sample.items.resize(1);
  View one_label = shard.few_labels;
  one_label.items.resize(1);
  struct Visitor {
    const char* name;
    const View& all;
    const View* labelled;
  };
  const std::vector<Visitor> visitors{{"all", shard.data, nullptr},
                                      {"one-class", one_class, nullptr},
                                      {"one-sample", one_sample, nullptr},
                                      {"all-labels", shard.data, &shard.few_labels},
                                      {"one-label", one_sample, &one_label}};
  std::map<bool, std::set<std::vector<std::size_t>>> lengths;  // of all frames; that there are labels is said
  for (const Visitor& visitor : visitors) {
    const bool has_labels = visitor.labelled != nullptr;
    const Recorded recorded = record_visit(visitor.name, {visitor.all, visitor.labelled, 1}, {has_labels, 3});
    std::vector<std::size_t> sizes;
    for (const v1::ClientFrame& frame : recorded.frames) {
      EXPECT_TRUE(is_subset(fields_of(frame), {"session", "counter", "hello", "answer", "piece"}));
      EXPECT_TRUE(frame.GetReflection()->GetUnknownFields(frame).empty());
      EXPECT_TRUE(is_subset(fields_of(frame.hello()), {"protocol", "software", "visit"}));
      EXPECT_TRUE(is_subset(fields_of(frame.hello().visit()), {"few_labels", "candidates"}));
      EXPECT_TRUE(is_subset(fields_of(frame.answer()), {"round", "phase", "task", "size", "digest", "released"}));
      EXPECT_TRUE(is_subset(fields_of(frame.answer().released()), {"releases", "rho", "epsilon", "data"}));
      sizes.push_back(frame.ByteSizeLong());
    }
    lengths[has_labels].insert(sizes);
    ASSERT_EQ(recorded.answers.size(), 1U) << visitor.name;
    const Message& told = recorded.answers.front().second;
    EXPECT_EQ(told.values.size(), 2U) << visitor.name;
    EXPECT_TRUE(told.has("epoch") && std::holds_alternative<Ints>(told.values.at("sums"))) << visitor.name;
  }
  EXPECT_EQ(lengths[false].size(), 1U) << "all visitors without labels say as much";
  EXPECT_EQ(lengths[true].size(), 1U) << "and so do all with some";
}

INSTANTIATE_TEST_SUITE_P(Modes, ChannelAuditOf, ::testing::Values("pure", "gaussian"));

}  // namespace
}  // namespace feroma::net::test
