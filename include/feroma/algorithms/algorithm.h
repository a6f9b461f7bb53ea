#pragma once

#include <array>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "feroma/algorithms/offer.h"
#include "feroma/algorithms/predictor.h"
#include "feroma/client/context.h"
#include "feroma/core/ids.h"
#include "feroma/core/parallel.h"
#include "feroma/mapping/matrix.h"
#include "feroma/models/archive.h"
#include "feroma/models/message.h"
#include "feroma/models/spec.h"
#include "feroma/privacy/options.h"
#include "feroma/profile/profile.h"

namespace feroma {

class Disclosure;

/// What an algorithm is told before the first round.
struct ServerContext {
  ModelSpec model;
  ParametersPtr initial;
  FitOptions fit;
  Round rounds = 0;  ///< those scheduled; `extra_rounds` come after them
  int clients = 0;   ///< all that may ever train; 0 where that is not known
  int windows = 0;   ///< how many data a client trains on one after the other; 0 where that is not known
  Rng rng{0};        ///< the algorithm's own stream
  /// Reads a model file with the run's layout; for encoders that are given as a file.
  std::function<ParametersPtr(const std::string& path)> load_model;
  Parallel parallel = in_turn;  ///< how the server's own work is shared out
  bool multi_label = false;     ///< samples may have several labels, or none
  PrivacyOptions privacy = {};  ///< how what clients tell of their data is protected
};

/// How a test client is served; an algorithm that cannot serve a policy returns null and the result is N/A.
enum class TestPolicy {
  native,               ///< the method's own rule for an unlabelled client
  cluster_expectation,  ///< every cluster's prediction, weighted by the clients in it
  known_association,    ///< test client k is training client k
  personal_uniform,     ///< the mean prediction of all training clients' personal models
  nearest_signature,    ///< the single nearest profile's model
  few_label,            ///< a few labelled samples may be used to choose
};

/// The models a clustering method holds, and how much of each a training client uses (shares sum to 1).
struct ClusterView {
  std::vector<ParametersPtr> models;
  std::map<ClientId, std::vector<double>> shares;  ///< the last that are known, of everybody who ever answered
  std::vector<ClientId> present = {};              ///< who answered in the last round with answers; they have shares
};

/// What training clients remember, by client; for policies that serve one of them or ask all of them.
using Memories = std::map<ClientId, const Message*>;

/// Whether a client's mixture is one model, a few, or nearly all (effective parents 1 / sum w^2).
enum class Strategy { global, clustered, personal };
inline constexpr std::array<std::string_view, 3> kStrategyNames{"global", "clustered", "personal"};

/// Who took how much from whom in a round, and the profiles behind it; what the report draws.
struct RoundTrace {
  std::vector<ClientId> receivers;
  std::vector<ClientId> sources;
  std::vector<Round> source_rounds;  ///< in which each source was trained; empty: all in the round before
  Matrix mixing;                     ///< receivers x sources, rows sum to 1; empty where the round had no mapping
  Matrix profiles;                   ///< receivers x profile length; empty without profiles
  std::vector<Strategy> strategies;  ///< one per receiver
  double contraction = 0;            ///< how much disagreement between models survives the mixing
  double column_sum_min = 0;
  double column_sum_max = 0;
  /// How far each receiver's profile is from its last one, in units of their sampling noise; absent where there is
  /// none.
  std::vector<std::optional<double>> moved = {};
};

/// A model the method would hand out after the last round, and what is known of it.
struct ServedModel {
  std::optional<ClientId> client;  ///< whose data it was trained on; absent for a global model
  Round round = 0;                 ///< in which; 0: the last one
  ParametersPtr model;
  std::vector<float> profile;
  std::int64_t num_examples = 0;
};

/// How many models a message holds at most: one to a client, be it a task or an offer, and one from it.
struct ModelsInMessage {
  std::uint64_t task = 256;
  std::uint64_t answer = 16;
};

/// What a test client exchanges until it has the models that it predicts with, these left out.
struct TestTraffic {
  std::int64_t bytes_up = 0;
  std::int64_t bytes_down = 0;
};

/// A test client as a method may see it: unlabelled data, and a few labelled samples where the policy allows them.
struct TestContext {
  ClientId id{};
  const View& data;
  const View* few_labels = nullptr;  ///< null except under few_label
  Rng rng;
  Trainer& trainer;
  StageSeconds& seconds;
  const Memories* memories = nullptr;  ///< null where nobody's memory is within reach
  Disclosure* disclosure = nullptr;    ///< how the client tells of its data under a budget; null without one
  TestTraffic traffic = {};
};

/// Serves test clients all at once: one predictor for each, in their order. The contexts are gone afterwards.
using Community = std::function<std::vector<std::unique_ptr<Predictor>>(std::span<TestContext> clients)>;

/**
 * A federated algorithm. The round loop calls, for each phase of a round: downlink for every participant, client_step
 * on some worker or machine, check_answer for every answer, refusals for those that passed, then uplink once with those
 * that are left, in client-id order.
 */
class Algorithm {
 public:
  virtual ~Algorithm() = default;

  /// An `unsupported` error says that the method has no meaning for this model or data; a run goes on without it.
  virtual void init(const ServerContext& context) = 0;
  /// Message exchanges in this round; the last one trains.
  [[nodiscard]] virtual int phases(Round round) const;
  /// What the server sends to `client`. Const: may be called for several clients at once.
  [[nodiscard]] virtual Message downlink(Round round, int phase, ClientId client) const = 0;
  /// What clients are asked in a phase, as a small number that travels with the message: the phase itself unless the
  /// method says otherwise. A client's own copy of a method knows its options and the model, but nothing of what
  /// happened on the server.
  [[nodiscard]] virtual int task(Round round, int phase) const;
  /// The client's part. Const, because it may run on another thread or machine, and for the latter it may depend on
  /// nothing but its arguments and what `init` was told.
  [[nodiscard]] virtual Message client_step(Round round, int task, ClientContext& context,
                                            const Message& received) const = 0;
  /// Refuses an answer that cannot be believed with an invalid_data error: the client then counts as one that did not
  /// answer, so that it cannot end a federation. `algorithms/answers.h` has the rules. Everything passes by default.
  virtual void check_answer(Round round, int phase, ClientId client, const Message& answer) const;
  /// Answers that cannot be believed beside the others, and why; their clients count as ones that did not answer.
  /// Nobody by default.
  [[nodiscard]] virtual std::map<ClientId, std::string> refusals(Round round, int phase,
                                                                 const std::map<ClientId, Message>& answers) const;
  /// The server's part: aggregation, mapping, clustering. `answers` holds those who answered; they passed the check.
  virtual void uplink(Round round, int phase, std::map<ClientId, Message>& answers, StageSeconds& seconds) = 0;
  /// Whether nothing but models and budgeted releases leaves a client: exact counts, losses and accuracies stay.
  [[nodiscard]] virtual bool keeps_budget() const;
  /// Whether the method ends with this round, because a client's budget is spent and the options say so.
  [[nodiscard]] virtual bool ends() const;
  /// What its largest messages hold in a federation of so many clients; over a network larger ones are not read.
  [[nodiscard]] virtual ModelsInMessage most_models(std::uint64_t clients) const;
  /// What a client's answer to a phase holds at most, never more than `most_models` says; asked when it is given its
  /// task.
  [[nodiscard]] virtual std::uint64_t models_in_answer(Round round, int phase, ClientId client) const;
  /// Rounds after the scheduled ones, on the last round's data.
  [[nodiscard]] virtual int extra_rounds() const;
  /// A client has lost everything it was sent: what it needs to take part must be sent again. Between rounds.
  virtual void forget(ClientId client);
  /// Whether clients are asked for data of windows that are over, so that they must keep them.
  [[nodiscard]] virtual bool asks_for_past_windows() const;
  /// What people should know before they take the method's figures in this run for its own; empty: nothing.
  [[nodiscard]] virtual std::string remark() const;
  /// Called on the client before the first phase of a round in which its data version changed.
  virtual void on_window_change(ClientContext& context) const;
  /// How the method itself serves a policy; null where it has no rule of its own. `evaluation/serve.h` then derives
  /// one from `clusters` and `personal`, so that methods write no evaluation code.
  [[nodiscard]] virtual std::unique_ptr<Predictor> predictor(TestPolicy policy, TestContext& context) const;
  // A test client may be elsewhere. Then it asks, describes its data, is made an offer and settles it; the steps on the
  // client depend on nothing but their arguments and what `init` was told. `evaluation/visit.h` serves methods that ask
  // nothing of their visitors.
  /// What a visitor needs to describe its data; empty where it need not.
  [[nodiscard]] virtual Message visitor_question() const;
  /// The description, made on the client from unlabelled data.
  [[nodiscard]] virtual Message visitor_profile(const Message& question, TestContext& context) const;
  /// Numbers that a description has at most; over a network longer ones are not read. A profile's by default.
  [[nodiscard]] virtual std::int64_t description_floats() const;
  /// The server's part; a description that cannot be believed is an invalid_data error. Absent where the method has no
  /// rule of its own.
  [[nodiscard]] virtual std::optional<Offer> offer(const Message& told, const VisitorWish& wish) const;
  /// The client's choice: an offer that leaves none. Absent where the method has no rule of its own.
  [[nodiscard]] virtual std::optional<Offer> settle(const Offer& offer, TestContext& context) const;
  /// How test clients that help one another are served together; empty where `predictor` serves each on its own.
  [[nodiscard]] virtual Community community(TestPolicy policy) const;
  /// How often, at most, a sample of a test client goes through models until it is predicted the method's own way,
  /// where so many clients train; a stranger has data like nobody's of them. What tests cost a run is told from it
  /// before the first round; by default every training client has a model that is asked.
  [[nodiscard]] virtual Passes passes_to_serve(int clients, bool stranger) const;
  /// How unlike what clients trained on each sample of a view looks to the method, the stranger the larger; labels are
  /// not read. Empty for methods without such a measure.
  [[nodiscard]] virtual std::vector<double> strangeness(Trainer& trainer, const View& view) const;
  /// Absent for methods that do not cluster.
  [[nodiscard]] virtual std::optional<ClusterView> clusters() const;
  /// The personal model of a training client, from what it remembers; null where there is none.
  [[nodiscard]] virtual std::unique_ptr<Predictor> personal(const Message& memory) const;
  /// What happened in the last finished round.
  [[nodiscard]] virtual const RoundTrace* trace() const;
  /// The models behind `predictor`, for the model store.
  [[nodiscard]] virtual std::vector<ServedModel> served() const = 0;
  /// What a client's profile is made of; absent for methods without one.
  [[nodiscard]] virtual std::optional<ProfileShape> profile_shape() const;
  /// Numbers that it has.
  [[nodiscard]] std::optional<std::int64_t> profile_floats() const;

  /// Server state, complete: load(save(x)) continues bit for bit. `init` was called before `load`.
  virtual void save(ModelWriter& out) const = 0;
  virtual void load(ModelReader& in) = 0;
};

/// Calls `init`; a method that tells more of clients' data than the run's privacy allows is an `unsupported` error.
void prepare(Algorithm& algorithm, const ServerContext& context);

/// Whether test clients spend of a privacy budget when they are served: what they tell of their data costs.
[[nodiscard]] bool spends_on_tests(const Algorithm& algorithm, const PrivacyOptions& privacy);

}  // namespace feroma
