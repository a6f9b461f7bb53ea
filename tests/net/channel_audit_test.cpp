// What leaves a client whose profiles are under a budget: everything it says is recorded and looked at.
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "feroma/net/codec.h"
#include "tests/net/federation_fixture.h"

namespace feroma::net::test {
namespace {

class ChannelAudit : public FederationTest {
 protected:
  /// All that one client said in a whole federation.
  struct Recorded {
    std::vector<v1::ClientFrame> frames;
    std::vector<std::pair<v1::Answer, Message>> answers;
  };

  Recorded record(const std::string& mode, int seed) {
    std::filesystem::remove_all(folder / "server");
    const Experiment what = experiment(
        "name = 'feroma'\nwarmup_rounds = 2\n[privacy]\nmode = '" + mode + "'\nepsilon_total = 20\nmax_releases = 4",
        {fmt::format("scenario.seed={}", seed)});
    const FederationPlan todo = plan(what);
    Coordinator coordinator(todo, stop);
    Recorded recorded;
    std::vector<std::jthread> clients;
    for (std::uint32_t id = 0; id < 6; ++id) {
      std::filesystem::remove_all(folder / fmt::format("client-{}", id));
      clients.emplace_back([&, id] {
        live(id, [&] {
          const Pipe::Meddle listen = [&](v1::ClientFrame& frame) {
            recorded.frames.push_back(frame);
            return true;
          };
          return std::make_unique<Pipe>(coordinator.hub(), Peer{"pipe", std::nullopt, ""},
                                        id == 0 ? listen : Pipe::Meddle());
        });
      });
    }
    coordinator.run();
    clients.clear();
    layout = initialise(make_model("lenet5", federation->shape(), federation->classes()), Rng(1)).shared_layout();
    Bytes bytes;
    for (const v1::ClientFrame& frame : recorded.frames) {
      if (frame.has_answer()) {
        recorded.answers.emplace_back(frame.answer(), Message());
        bytes.clear();
      } else if (frame.has_piece()) {
        const auto piece = std::as_bytes(std::span(frame.piece().data()));
        bytes.insert(bytes.end(), piece.begin(), piece.end());
        if (bytes.size() == recorded.answers.back().first.size()) {
          recorded.answers.back().second = decode_message(bytes, layout, "recorded");
        }
      }
    }
    return recorded;
  }

  std::shared_ptr<const ParamLayout> layout;
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
    EXPECT_TRUE(is_subset(fields_of(frame.hello()), {"protocol", "software", "job", "committed", "id", "remembers"}));
    EXPECT_TRUE(is_subset(fields_of(frame.answer()), {"round", "phase", "task", "size", "digest", "failed"}))
        << "no counts, losses or accuracies";
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

// Other records, same lengths: sizes and numbers of frames say nothing of the data.
TEST_P(ChannelAuditOf, LengthsDoNotDependOnData) {
  const auto lengths = [](const Recorded& recorded) {
    std::vector<std::pair<int, std::size_t>> sizes;
    for (const auto& [head, message] : recorded.answers) {
      sizes.emplace_back(head.round() * 10 + head.phase(), head.size());
    }
    return sizes;
  };
  EXPECT_EQ(lengths(record(GetParam(), 1)), lengths(record(GetParam(), 2)));
}

INSTANTIATE_TEST_SUITE_P(Modes, ChannelAuditOf, ::testing::Values("pure", "gaussian"));

}  // namespace
}  // namespace feroma::net::test
