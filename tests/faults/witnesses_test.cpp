// A client under a budget of which something was lost, restored or renewed while one witness at least is current: never
// more than the budget is told, but for what an operator vouches for.
#include <array>
#include <limits>
#include <set>

#include "feroma/privacy/witness.h"
#include "tests/faults/hub_fixture.h"
#include "tests/faults/release_listener.h"
#include "tests/faults/tiny_federation.h"
#include "tests/net/once.h"

namespace feroma::faults {
namespace {

namespace fs = std::filesystem;

constexpr int kBudget = 6;     // releases
constexpr Round kOlder = 3;    // the round after which copies were made
constexpr Round kCurrent = 5;  // the last one before something is lost
constexpr Round kLast = 12;
constexpr int kMostWords = 4;  // of an operator, before a client takes part again

/// How much of something there is.
enum class Has { current, older, lost };
constexpr std::array kEvery{Has::current, Has::older, Has::lost};
constexpr const char* name_of(Has has) {
  return has == Has::current ? "current" : has == Has::older ? "older" : "lost";
}

struct Situation {
  Has ledger = Has::current;
  Has memory = Has::current;  ///< client.state
  Has file = Has::current;    ///< beside the data
  Has server = Has::current;
  bool other_folder = false;       ///< for the client's state: neither ledger nor memory are in it
  bool other_certificate = false;  ///< with another number
  bool old_server = false;         ///< one that counts no releases

  [[nodiscard]] std::string text() const {
    return fmt::format("ledger {}, client.state {}, file {}, server {}{}{}{}", name_of(ledger), name_of(memory),
                       name_of(file), name_of(server), other_folder ? ", another folder" : "",
                       other_certificate ? ", another certificate" : "", old_server ? ", which does not count" : "");
  }
};

/// Every situation in which somebody who can say so knows of all that was released.
std::vector<Situation> situations() {
  std::vector<Situation> all;
  for (const Has file : kEvery) {
    for (const Has server : kEvery) {
      for (const Has ledger : kEvery) {
        for (const Has memory : kEvery) {
          const bool without_it = std::set{ledger, memory, file}.contains(Has::current);
          if (without_it || server == Has::current) {
            all.push_back({ledger, memory, file, server});
          }
          if (without_it && server == Has::current) {
            all.push_back({ledger, memory, file, server});
            all.back().old_server = true;
          }
        }
      }
      if (file == Has::current || server == Has::current) {
        all.push_back({Has::lost, Has::lost, file, server, true});
      }
      if (file == Has::current) {
        all.push_back({Has::lost, Has::lost, file, server, true, true});
      }
    }
  }
  return all;
}

/// A connection to a server of before.
class OldServer final : public ServerLink {
 public:
  explicit OldServer(ServerLink& link) : link_(link) {}
  bool send(const v1::ClientFrame& frame) override { return link_.send(frame); }
  bool receive(v1::ServerFrame& frame) override {
    const bool received = link_.receive(frame);
    if (received && frame.has_welcome()) {
      frame.mutable_welcome()->clear_released();
    }
    return received;
  }
  void cancel() override { link_.cancel(); }

 private:
  ServerLink& link_;
};

/// Data that are new in every round, and in every life of the client.
class NewData final : public ClientData {
 public:
  NewData(TinyData data, int first) : data_(std::move(data)), first_(first) {}
  [[nodiscard]] SampleShape shape() const override { return data_.shape(); }
  [[nodiscard]] int classes() const override { return data_.classes(); }
  [[nodiscard]] bool multi_label() const override { return false; }
  [[nodiscard]] ClientShard shard(Round round) override {
    ClientShard shard = data_.shard(round);
    shard.window = first_ + round;
    return shard;
  }
  [[nodiscard]] View train_of_window(int) override { return data_.train_of_window(0); }

 private:
  TinyData data_;
  int first_;
};

class Witnesses : public TinyFederation {
 protected:
  Witnesses() {
    const std::string algorithm = fmt::format(
        "name = 'feroma'\nwarmup_rounds = 1\nprofile.dimensions = 6\n[privacy]\nmode = 'gaussian'\nepsilon_total = 2\n"
        "max_releases = {}",
        kBudget);
    todo_ = plan(2, kLast, algorithm, "present/server");
    todo_.server.min_clients = 1;
    todo_.server.min_answers = 1;
    layout_ = initialise(todo_.experiment.model(todo_.input, todo_.classes), Rng(1)).shared_layout();
  }

  /// What stopped the client for good; empty where it took part until the last round, or until round `until`.
  std::string live_until(Round until, const Situation& how = {}) {
    todo_.round_finished = [this, until](const RoundRecord& record, int) {
      if (record.round == until) {
        stop.request();
      }
    };
    stop.renew();
    std::string refused;
    Coordinator coordinator(todo_, stop);
    {
      const std::jthread client([&] {
        refused = live_once(coordinator.hub(), how);
        if (!refused.empty()) {
          stop.request();
        }
      });
      try {
        coordinator.run();
      } catch (const Error& error) {
        EXPECT_EQ(error.code(), ErrorCode::interrupted) << error.what();
        coordinator.hub().dismiss({v1::SHUTTING_DOWN, "the server stops", 1});
      }
      stop.request();
    }
    return refused;
  }

  [[nodiscard]] fs::path place() const { return folder / "present"; }
  [[nodiscard]] fs::path state_of(const Situation& how) const {
    return place() / (how.other_folder ? "renewed" : "client");
  }

  /// Makes `present` what the situation says.
  void make(const Situation& how) {
    fs::remove_all(place());
    fs::create_directories(state_of(how));
    const auto bring = [this](Has has, const std::string& what) {
      const fs::path from = folder / name_of(has) / what;
      if (has != Has::lost && fs::exists(from)) {
        fs::copy(from, place() / what, fs::copy_options::recursive);
      }
    };
    bring(how.ledger, "client/ledger");
    bring(how.memory, "client/client.state");
    bring(how.file, "data-releases");
    bring(how.server, "server");
  }
  void keep(Has as) const { fs::copy(place(), folder / name_of(as), fs::copy_options::recursive); }

  /// The two copies from which every situation is made.
  void begin() {
    EXPECT_EQ(live_until(kOlder), "");
    keep(Has::older);
    const std::size_t older = told_.size();
    EXPECT_EQ(live_until(kCurrent), "");
    keep(Has::current);
    EXPECT_GE(older, 1U);
    EXPECT_GT(told_.size(), older);
    EXPECT_LT(told_.size(), static_cast<std::size_t>(kBudget)) << "something is left to be told";
    told_before_ = told_;
  }

  /// Says what a refusal asks an operator to say; false where it asks for nothing.
  static bool vouch(const std::string& refusal) {
    static constexpr std::string_view kCommand = "feroma privacy vouch ";
    const std::size_t begin = refusal.find(kCommand);
    if (begin == std::string::npos) {
      return false;
    }
    std::istringstream words(refusal.substr(begin + kCommand.size()));
    std::string ledger;
    std::string option;
    std::string job;
    std::uint64_t releases = 0;
    double rho = 0;
    words >> ledger >> option >> job >> option >> releases >> option >> rho;
    Ledger(ledger, {}).vouch(job, releases, {rho, {}}, "a test");
    return true;
  }

  std::set<std::string> told_;  ///< digests of what the server was told, ever
  std::set<std::string> told_before_;
  FederationPlan todo_;
  std::shared_ptr<const ParamLayout> layout_;
  int lives_ = 0;

 private:
  std::string live_once(Hub& hub, const Situation& how) {
    AgentOptions options;
    options.state = state_of(how);
    options.id = how.other_certificate ? 1 : 0;
    options.witness = place() / "data-releases";
    options.patience_seconds = 30;
    options.clock = &tiny_clock();
    NewData data(TinyData(0, rows), 1000 * lives_++);
    try {
      Agent agent(options, data, stop);
      while (!stop.requested()) {
        Pipe pipe(hub, {"pipe", std::nullopt, ""}, ReleaseListener(layout_, told_));
        OldServer old(pipe);
        const Ending ending = how.old_server ? agent.serve(old) : agent.serve(pipe);
        if (ending.reason == v1::FINISHED) {
          return "";
        }
        if (ending.retry_seconds <= 0 && !stop.requested()) {
          return v1::Reason_Name(ending.reason);
        }
      }
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  }
};

TEST_F(Witnesses, InEverySituationTheBudgetHolds) {
  begin();
  int refused = 0;
  int played_on = 0;
  for (const Situation& how : situations()) {
    SCOPED_TRACE(how.text());
    make(how);
    told_ = told_before_;
    const std::string why = live_until(kLast, how);
    EXPECT_LE(told_.size(), static_cast<std::size_t>(kBudget)) << "told without a word";
    // A server that is older than the client's memory, or another one, says so first.
    const bool is_strange = how.memory != Has::lost && !how.other_folder &&
                            (how.server == Has::lost || (how.server == Has::older && how.memory == Has::current));
    if (is_strange) {
      EXPECT_TRUE(why == "AHEAD" || why == "OTHER_JOB") << why;
      continue;
    }
    if (how.ledger == Has::current) {
      EXPECT_EQ(why, "") << "a ledger that is ahead goes on";
      EXPECT_EQ(told_.size(), static_cast<std::size_t>(kBudget)) << "with what is left";
      played_on += 1;
      continue;
    }
    EXPECT_NE(why.find("The ledger was lost"), std::string::npos) << why;
    EXPECT_EQ(told_, told_before_) << "nothing was told";
    refused += 1;
    // With as many words as there are witnesses that the first did not answer, all is counted and the client goes on.
    std::string left = why;
    for (int word = 0; word < kMostWords && vouch(left); ++word) {
      left = live_until(kLast, how);
    }
    EXPECT_EQ(left, "");
    EXPECT_LE(told_.size(), static_cast<std::size_t>(kBudget)) << "what was vouched for counts";
  }
  EXPECT_GE(refused, 30);
  EXPECT_GE(played_on, 15);
}

// A kill between any two writes, and then everything lost but one witness: the budget holds. Nothing lost: it goes on.
TEST_F(Witnesses, AKillBetweenAnyTwoWritesNeitherOpensNorCloses) {
  EXPECT_EQ(live_until(kOlder), "");
  keep(Has::older);
  told_before_ = told_;
  constexpr std::array kPoints{"ledger.begun",      "ledger.line_written", "ledger.bytes_written",
                               "witness.begun",     "witness.written",     "state.releases_counted",
                               "agent.answer_kept", "hub.release_counted"};
  for (const char* point : kPoints) {
    fs::remove_all(folder / name_of(Has::current));
    make({Has::older, Has::older, Has::older, Has::older});
    told_ = told_before_;
    std::string killed;
    {
      const net::test::Once kill(point, [] { fail(ErrorCode::interrupted, "killed"); });
      killed = live_until(kOlder + 2);
    }
    keep(Has::current);
    const std::set<std::string> told = std::exchange(told_before_, told_);
    if (std::string_view(point) != "hub.release_counted") {
      EXPECT_EQ(killed, "killed") << point;
    }
    EXPECT_EQ(live_until(kLast), "") << point << ": a ledger that a crash left ahead goes on";
    EXPECT_LE(told_.size(), static_cast<std::size_t>(kBudget)) << point;
    for (const Situation& one : {Situation{Has::lost, Has::current, Has::lost, Has::older},
                                 {Has::lost, Has::lost, Has::current, Has::older},
                                 {Has::lost, Has::lost, Has::lost, Has::current},
                                 {Has::older, Has::lost, Has::lost, Has::current},
                                 {Has::older, Has::lost, Has::current, Has::older}}) {
      make(one);
      told_ = told_before_;
      static_cast<void>(live_until(kLast, one));
      EXPECT_LE(told_.size(), static_cast<std::size_t>(kBudget)) << point << ", then " << one.text();
    }
    told_before_ = told;
  }
}

// As today's files are: nobody but the ledger counts. All others do from the start of the next life.
TEST_F(Witnesses, AbsentWitnessesClaimNothingAndAreWrittenAtOnce) {
  begin();
  make({Has::current, Has::lost, Has::lost, Has::older});
  const std::string job = audit_ledger(place() / "client" / "ledger").front().key.job;
  const auto lines = audit_ledger(place() / "client" / "ledger").size();
  fs::remove(place() / "data-releases");
  EXPECT_EQ(live_until(kOlder + 1), "");
  EXPECT_GE(WitnessFile(place() / "data-releases").known(place() / "client" / "ledger", job, false).at(job).releases,
            lines);
}

// A server cannot make a client tell more, whatever it says; one that says too much is named.
TEST_F(Witnesses, AServerThatClaimsMoreIsNamed) {
  begin();
  make({});
  const Situation usual;
  const std::string job = audit_ledger(place() / "client" / "ledger").front().key.job;
  {
    RoundLog log(place() / "server", [] { return JobRecord(); });
    ArchiveWriter fact;
    put(fact, ReleaseCount{40, 0, {}});
    log.note("released client 0", fact.take());
  }
  const std::string why = live_until(kLast, usual);
  EXPECT_NE(why.find("the server knows of 40"), std::string::npos) << why;
  EXPECT_EQ(why.find("--rho 0 "), std::string::npos) << "it cannot say that they were free: " << why;
  EXPECT_EQ(told_, told_before_);
  // It lies: they were not of these data.
  Ledger(place() / "client" / "ledger", {}).vouch(job, 40, {0, {}}, "the server lies");
  EXPECT_EQ(live_until(kLast, usual), "");
  EXPECT_EQ(told_.size(), static_cast<std::size_t>(kBudget));
}

/// What a server makes of the counts that clients send.
class CountedReleases : public HubTest {
 protected:
  CountedReleases() {
    hub = std::make_unique<Hub>(Hub::Job{"job",
                                         "",
                                         initial->shared_layout(),
                                         true,
                                         kClients,
                                         {},
                                         {},
                                         ModelsInMessage().answer,
                                         [this](const std::string& releaser, const ReleaseCount& count) {
                                           kept.emplace_back(releaser, count);
                                         }},
                                options, Hub::Past{}, stop, &drain);
  }
  ~CountedReleases() override { stop.request(); }

  v1::Reason say(Probe& probe, const v1::Task& task, const v1::Released& released) {
    v1::ClientFrame frame = Probe::head_of(task, update(1));
    *frame.mutable_answer()->mutable_released() = released;
    probe.say(std::move(frame));
    for (v1::ClientFrame& piece : Probe::pieces_of(update(1))) {
      probe.say(std::move(piece));
    }
    return probe.reaction();
  }
  static v1::Released count(std::uint64_t releases, double rho, const std::string& data = "") {
    v1::Released released;
    released.set_releases(releases);
    released.set_rho(rho);
    released.set_data(data);
    return released;
  }

  std::vector<std::pair<std::string, ReleaseCount>> kept;
};

TEST_F(CountedReleases, AreKeptWithAnswersThatCountAndKnownWithAll) {
  Probe client(*hub, 0);
  Probe other(*hub, 1);
  begin(1, 2);
  const v1::Task task = client.task();
  EXPECT_EQ(say(client, task, count(2, 0.5)), v1::ACCEPTED);
  const std::vector<std::pair<std::string, ReleaseCount>> once{{"client 0", {2, 0.5, {}}}};
  EXPECT_EQ(kept, once);
  EXPECT_EQ(say(client, task, count(7, 0.9)), v1::DUPLICATE);
  EXPECT_EQ(kept, once) << "nobody fills the disk with answers that do not count";
  EXPECT_EQ(hub->past().released.at("client 0").releases, 7U);
  EXPECT_EQ(say(other, other.task(), count(1, 0.1)), v1::ACCEPTED);
  exchange.join();
  begin(2, 1);
  EXPECT_EQ(say(client, client.task(), count(3, 0.6)), v1::ACCEPTED);
  EXPECT_EQ(kept.back(), (std::pair<std::string, ReleaseCount>{"client 0", {7, 0.9, {}}})) << "it never falls";
}

TEST_F(CountedReleases, ThatAreNoneAreRefused) {
  for (const v1::Released& lie : {count(1, std::numeric_limits<double>::quiet_NaN()), count(1, -1),
                                  count(1, std::numeric_limits<double>::infinity()), count(1, 0.1, "ab")}) {
    Probe client(*hub, 0);
    begin(1, 1);
    EXPECT_EQ(say(client, client.task(), lie), v1::MALFORMED);
    Probe again(*hub, 0);
    EXPECT_EQ(again.answer(again.task(), update(1)).reason(), v1::ACCEPTED);
    exchange.join();
  }
  EXPECT_TRUE(kept.empty());
}

}  // namespace
}  // namespace feroma::faults
