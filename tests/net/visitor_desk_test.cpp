// How visitors are received: who is asked, who is served, and how much they get.
#include "net/visitor_desk.h"

#include <fmt/core.h>

#include <algorithm>
#include <functional>

#include "tests/faults/hub_fixture.h"
#include "tests/net/log_lines.h"

namespace feroma::net::test {
namespace {

using faults::HubTest;
using faults::Probe;

class Visitors : public HubTest {
 protected:
  /// A hub that serves visitors from a method.
  void serve(std::function<std::shared_ptr<const Algorithm>()> committed) {
    Hub::Job job{"job", "", initial->shared_layout(), true, kClients};
    job.committed = std::move(committed);
    hub = std::make_unique<Hub>(job, options, Hub::Past{1, {}}, stop);
  }
  void serve(const Algorithm& method) {
    serve([&method] { return std::shared_ptr<const Algorithm>(std::shared_ptr<void>(), &method); });
  }
  std::unique_ptr<Pipe> visitor(const std::string& certificate) {
    auto pipe = std::make_unique<Pipe>(*hub, Peer{"pipe", ClientId{0}, "site-0", certificate});
    v1::ClientFrame frame;
    frame.set_counter(1);
    frame.mutable_hello()->set_protocol(kProtocol);
    frame.mutable_hello()->mutable_visit();
    static_cast<void>(pipe->send(frame));
    return pipe;
  }
  /// How a visitor is received: the reason for which it is refused, or none where it is asked; `asked` is the question.
  static v1::Reason received(Pipe& pipe, v1::ServerFrame* asked = nullptr) {
    v1::ServerFrame frame;
    while (pipe.receive(frame) && !frame.has_goodbye() && !frame.has_task()) {
    }
    EXPECT_TRUE(frame.has_goodbye() || frame.has_task()) << "the connection was lost";
    if (asked != nullptr) {
      *asked = frame;
    }
    return frame.goodbye().reason();
  }
  /// The reason for which a description is refused, or none; its head alone is sent where it says another size.
  v1::Reason described(const Bytes& bytes, std::optional<std::uint64_t> size = {}) {
    const std::unique_ptr<Pipe> pipe = visitor("a");
    v1::ServerFrame asked;
    EXPECT_EQ(received(*pipe, &asked), v1::REASON_UNSPECIFIED);
    std::vector<v1::ClientFrame> frames{Probe::head_of(asked.task(), bytes)};
    if (size) {
      frames.front().mutable_answer()->set_size(*size);
    } else {
      for (v1::ClientFrame& piece : Probe::pieces_of(bytes)) {
        frames.push_back(std::move(piece));
      }
    }
    frames.emplace_back().mutable_beat()->set_echo(1);  // answered where the connection goes on
    for (std::size_t i = 0; i < frames.size(); ++i) {
      frames[i].set_session(asked.session());
      frames[i].set_counter(2 + i);
      static_cast<void>(pipe->send(frames[i]));
    }
    v1::ServerFrame answer;
    while (pipe->receive(answer) && !answer.has_goodbye() && !answer.has_beat()) {
    }
    EXPECT_TRUE(answer.has_goodbye() || answer.has_beat()) << "the connection was lost";
    return answer.goodbye().reason();
  }
};

/// A method that offers the models of the clients that a description names, each its own; none without a model. Above
/// a hundred they are mixtures with the next client's, of which it has so many hundredths less.
class OfClients final : public Algorithm {
 public:
  explicit OfClients(ParametersPtr model) : model_(std::move(model)) {}
  void init(const ServerContext&) override {}
  [[nodiscard]] Message downlink(Round, int, ClientId) const override { return {}; }
  [[nodiscard]] Message client_step(Round, int, ClientContext&, const Message&) const override { return {}; }
  void uplink(Round, int, std::map<ClientId, Message>&, StageSeconds&) override {}
  [[nodiscard]] std::optional<Offer> offer(const Message& told, const VisitorWish& wish) const override {
    if (model_ == nullptr) {
      return std::nullopt;
    }
    Offer offer{wish.few_labels ? Choice::by_labels : Choice::as_offered, {}, {}};
    for (const std::int64_t claimed : told.ints("clients")) {
      const double others = static_cast<double>(claimed / 100) / 100;
      const std::int64_t client = claimed % 100;
      offer.models.push_back(share(model_->clone()));
      offer.sources.push_back({{{static_cast<ClientId>(client), 0}, 1 - others}});
      if (others > 0) {
        offer.sources.back()[{static_cast<ClientId>(client + 1), 0}] = others;
      }
    }
    if (!wish.few_labels) {
      offer.weights.assign(offer.models.size(), 1.0 / static_cast<double>(offer.models.size()));
    }
    return offer;
  }
  [[nodiscard]] std::vector<ServedModel> served() const override { return {}; }
  void save(ModelWriter&) const override {}
  void load(ModelReader&) override {}

 private:
  ParametersPtr model_;
};

/// Visitors that invent what they tell, to get at one client's model after the other.
class Collectors : public Visitors {
 protected:
  /// How many models a certificate is offered for a claim; -1 where the server says that there is none for it.
  int offered(const std::string& certificate, const Ints& claimed, bool few_labels = true) {
    Pipe pipe(*hub, Peer{"pipe", ClientId{0}, "site-0", certificate});
    Outbox outbox(pipe);
    v1::Hello hello;
    hello.set_protocol(kProtocol);
    hello.mutable_visit()->set_few_labels(few_labels);
    hello.mutable_visit()->set_candidates(64);
    std::string session;
    EXPECT_TRUE(std::holds_alternative<v1::Welcome>(introduce(hello, pipe, outbox, session)));
    Intake intake(session, std::uint64_t{1} << 20);
    v1::ServerFrame frame;
    while (pipe.receive(frame)) {
      const std::optional<Saying> saying = intake.take(frame);
      const auto* job = saying ? std::get_if<Job>(&*saying) : nullptr;
      if (job != nullptr && job->task.phase() == kOfferPhase) {
        const Message offer = decode_message(job->bytes, initial->shared_layout(), "offer");
        return static_cast<int>(offer_from(offer).models.size());
      }
      if (job != nullptr) {
        v1::Answer head;
        head.set_phase(kQuestionPhase);
        head.set_task(job->task.digest());
        outbox.send(head, encode_message({{{"clients", claimed}}}, initial->layout()));
      } else if (saying) {
        EXPECT_EQ(std::get<Ending>(*saying).reason, v1::UNAVAILABLE);
        EXPECT_EQ(std::get<Ending>(*saying).text,
                  fmt::format("this certificate has had {} models of single clients of round {}; more come with the "
                              "next round, if there is one",
                              std::max(options.candidates, 1), hub->past().committed));
        return -1;
      }
    }
    ADD_FAILURE() << "the connection was lost";
    return 0;
  }
};

TEST_F(Collectors, GetFewModelsOfSingleClientsOfARound) {
  options.candidates = 3;
  const OfClients method(initial);
  serve(method);
  EXPECT_EQ(offered("a", {0, 1}), 2);
  EXPECT_EQ(offered("a", {0, 1}), 2) << "what it has had counts once";
  EXPECT_EQ(offered("a", {1, 2, 3}), 2) << "there is room for one more";
  EXPECT_EQ(offered("a", {3}), -1);
  EXPECT_EQ(offered("a", {3, 0}), 1);
  EXPECT_EQ(offered("b", {3}), 1) << "others are not touched";
  EXPECT_EQ(offered("", {0, 1, 2, 3}), 4) << "without certificates nobody is known";
  hub->announce(2, {});
  EXPECT_EQ(offered("a", {3}), 1) << "another round, other models";
}

TEST_F(Collectors, AreWrittenDownWhenTheyAreServed) {
  options.candidates = 1;
  const OfClients method(initial);
  serve(method);
  Lines lines;
  EXPECT_EQ(offered("a", {1}), 1);
  const std::string line = "visitor site-0 from pipe was served from the models of round 1";
  EXPECT_EQ(lines.with(line + " address=pipe round=1 name=site-0").size(), 1U)
      << ::testing::PrintToString(lines.with(""));
  EXPECT_EQ(offered("a", {2}), -1);
  EXPECT_EQ(lines.with("was served").size(), 1U) << "who is refused is not served";
}

// What is to be mixed is whole or not at all; one client's alone may be all that the method gives.
TEST_F(Collectors, GetOneWhereNobodyMayChoose) {
  options.candidates = 0;
  const OfClients method(initial);
  serve(method);
  EXPECT_EQ(offered("a", {1}, /*few_labels=*/false), 1);
  EXPECT_EQ(offered("a", {1, 2}, /*few_labels=*/false), -1);
  EXPECT_EQ(offered("a", {2}, /*few_labels=*/false), -1);
  EXPECT_EQ(offered("a", {1}, /*few_labels=*/false), 1);
}

TEST_F(Collectors, GetNoMoreInMixturesThatAreNearlyOneClients) {
  options.candidates = 1;
  const OfClients method(initial);
  serve(method);
  EXPECT_EQ(offered("a", {501}, /*few_labels=*/false), 1) << "0.95 of client 1";
  EXPECT_EQ(offered("a", {1}, /*few_labels=*/false), 1) << "which it has had";
  EXPECT_EQ(offered("a", {502}, /*few_labels=*/false), -1);
  EXPECT_EQ(offered("a", {1502}, /*few_labels=*/false), 1) << "0.85 of one client is a mixture";
}

TEST_F(Visitors, OfOneCertificateAreFewAtATime) {
  serve(*algorithm);
  std::vector<std::unique_ptr<Pipe>> inside;
  for (int i = 0; i < 4; ++i) {
    inside.push_back(visitor("a"));
    EXPECT_EQ(received(*inside.back()), v1::REASON_UNSPECIFIED);
  }
  EXPECT_EQ(received(*visitor("a")), v1::TWICE);
  EXPECT_EQ(received(*visitor("b")), v1::REASON_UNSPECIFIED) << "others are not touched";
  EXPECT_EQ(counted(v1::TWICE), 1U);
  inside.pop_back();
  EXPECT_EQ(received(*visitor("a")), v1::REASON_UNSPECIFIED) << "a visit that is over counts no more";
}

// FedAvg asks nothing of them, so that all they have to say is an empty message.
TEST_F(Visitors, DescribeTheirDataInFewBytes) {
  serve(*algorithm);
  constexpr std::uint64_t kMost = std::uint64_t{64} << 10;
  EXPECT_EQ(described(encode_message({}, initial->layout())), v1::REASON_UNSPECIFIED);
  EXPECT_EQ(described({}, kMost), v1::REASON_UNSPECIFIED);
  EXPECT_EQ(described({}, kMost + 1), v1::TOO_LARGE);
}

/// FedAvg that asks visitors for twenty numbers; no answer may be much longer here, where a model has six.
class Curious final : public Algorithm {
 public:
  explicit Curious(const Algorithm& inner) : inner_(inner) {}
  void init(const ServerContext&) override {}
  [[nodiscard]] Message downlink(Round, int, ClientId) const override { return {}; }
  [[nodiscard]] Message client_step(Round, int, ClientContext&, const Message&) const override { return {}; }
  void uplink(Round, int, std::map<ClientId, Message>&, StageSeconds&) override {}
  [[nodiscard]] std::int64_t description_floats() const override { return 20; }
  [[nodiscard]] std::vector<ServedModel> served() const override { return inner_.served(); }
  void save(ModelWriter&) const override {}
  void load(ModelReader&) override {}

 private:
  const Algorithm& inner_;
};

TEST_F(Visitors, DescribeTheirDataAsFarAsTheMethodAsks) {
  const Curious curious(*algorithm);
  serve(curious);
  constexpr std::uint64_t kMost = (std::uint64_t{64} << 10) + 16 * 20;
  EXPECT_EQ(described({}, kMost), v1::REASON_UNSPECIFIED);
  EXPECT_EQ(described({}, kMost + 1), v1::TOO_LARGE);
}

// Neither is the visitor's fault, so neither may look like an attack.
TEST_F(Visitors, OfAServerThatHasNothingForThemAreToldSo) {
  serve([]() -> std::shared_ptr<const Algorithm> { fail(ErrorCode::io, "models/x: cannot read: disk on fire"); });
  EXPECT_EQ(received(*visitor("a")), v1::UNAVAILABLE);
  const OfClients without_models(nullptr);
  serve(without_models);
  EXPECT_EQ(described(encode_message({}, initial->layout())), v1::UNAVAILABLE) << "it has no model for visitors";
  EXPECT_EQ(counted(v1::MALFORMED) + counted(v1::UNBELIEVABLE), 0U);
}

}  // namespace
}  // namespace feroma::net::test
