#pragma once

#include <map>
#include <span>
#include <string>

#include "feroma/algorithms/algorithm.h"
#include "feroma/data/input_sums.h"
#include "feroma/drift/federation.h"
#include "feroma/runtime/client_pool.h"

namespace feroma {

/// The exchange before the first round, in which the scale of the inputs is fixed.
inline constexpr Round kSurveyRound = 0;

/// What a client answers in it: the sums of its training samples.
[[nodiscard]] Message survey_answer(const View& train);

/// The scale travels with every task, so that whoever is asked has it, whenever it came.
void put_scales(Message& message, const InputScales& scales);
/// Takes it out again; a message without it is an error that names `what` it is.
[[nodiscard]] InputScales take_scales(Message& message, SampleShape shape, const std::string& what);

/**
 * Asks the clients that are there before the first round for the sums of their training samples. It is an algorithm of
 * one phase, so that its answers are checked, refused and counted like those of a round, by the same code in a
 * simulation and over a network.
 */
class InputSurvey final : public Algorithm {
 public:
  explicit InputSurvey(SampleShape shape, std::vector<std::string> columns = {})
      : shape_(shape), columns_(std::move(columns)) {}

  void init(const ServerContext&) override {}
  [[nodiscard]] Message downlink(Round, int, ClientId) const override { return {}; }
  [[nodiscard]] Message client_step(Round round, int task, ClientContext& context,
                                    const Message& received) const override;
  void check_answer(Round round, int phase, ClientId client, const Message& answer) const override;
  [[nodiscard]] std::map<ClientId, std::string> refusals(Round round, int phase,
                                                         const std::map<ClientId, Message>& answers) const override;
  void uplink(Round round, int phase, std::map<ClientId, Message>& answers, StageSeconds& seconds) override;
  [[nodiscard]] std::vector<ServedModel> served() const override { return {}; }
  void save(ModelWriter&) const override {}
  void load(ModelReader&) override {}

  /// The sums that are believed, after the exchange.
  [[nodiscard]] const std::map<ClientId, InputSums>& sums() const { return sums_; }

 private:
  [[nodiscard]] std::map<ClientId, InputSums> sums_in(const std::map<ClientId, Message>& answers) const;

  SampleShape shape_;
  std::vector<std::string> columns_;  ///< a table's, for messages; none where nobody knows them
  std::map<ClientId, InputSums> sums_;
};

/// Plays it with the clients of `pool` and makes one scale of their sums; an invalid_data error where nobody's can be
/// believed. `columns` are a table's, for messages.
[[nodiscard]] InputScales survey_inputs(ClientPool& pool, std::span<const ClientId> clients, SampleShape shape,
                                        const std::vector<std::string>& columns = {});
/// The same with simulated clients, by their data of the first stage.
[[nodiscard]] InputScales survey_inputs(const Federation& federation, std::span<const ClientId> clients);

}  // namespace feroma
