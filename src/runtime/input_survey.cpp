#include "feroma/runtime/input_survey.h"

#include <bit>
#include <limits>

#include "feroma/algorithms/answers.h"
#include "feroma/core/error.h"
#include "feroma/core/log.h"
#include "feroma/runtime/exchange.h"

namespace feroma {
namespace {

constexpr const char* kSurvey = "standardise";
constexpr const char* kScalesKey = "input_scale";

/// Messages have no numbers of 64 bits but whole ones, and the bits are what counts.
Ints bits_of(std::span<const double> numbers) {
  Ints bits;
  for (const double number : numbers) {
    bits.push_back(std::bit_cast<std::int64_t>(number));
  }
  return bits;
}

std::vector<double> doubles_in(const Ints& bits) {
  std::vector<double> numbers;
  for (const std::int64_t number : bits) {
    numbers.push_back(std::bit_cast<double>(number));
  }
  return numbers;
}

InputSums sums_from(ClientId client, const Message& message, SampleShape shape) {
  constexpr std::int64_t any = std::numeric_limits<std::int64_t>::min();
  const Answer answer(kSurvey, client, message);
  InputSums sums;
  sums.samples = answer.examples(1);
  sums.sums = doubles_in(answer.integers("sums", scale_count(shape), any));
  sums.squares = doubles_in(answer.integers("squares", scale_count(shape), any));
  answer.expect_nothing_else();
  return sums;
}

/// Simulated clients as they are before the first round: they have their data and have not been asked for anything.
class FirstStage final : public ClientPool {
 public:
  explicit FirstStage(const Federation& federation) : federation_(federation) {}

  [[nodiscard]] std::map<ClientId, ClientOutcome> exchange(const Algorithm&, Round, int,
                                                           std::span<const ClientId> participants) override {
    std::map<ClientId, ClientOutcome> outcomes;
    for (const ClientId client : participants) {
      const View train = federation_.shard(client, 1).train;
      outcomes[client].answer = ClientAnswer{survey_answer(train), 0};
      outcomes[client].report.num_examples = static_cast<std::int64_t>(train.size());
    }
    return outcomes;
  }
  void save(ModelWriter&) const override {}
  void load(ModelReader&) override {}

 private:
  const Federation& federation_;
};

}  // namespace

Message survey_answer(const View& train) {
  const InputSums sums = input_sums(train);
  return {{{"num_examples", Ints{sums.samples}}, {"sums", bits_of(sums.sums)}, {"squares", bits_of(sums.squares)}}};
}

void put_scales(Message& message, const InputScales& scales) {
  if (!scales.empty()) {
    message.values[kScalesKey] = numbers_of(scales);
  }
}

InputScales take_scales(Message& message, SampleShape shape, const std::string& what) {
  const Floats numbers = message.has(kScalesKey) ? message.floats(kScalesKey) : Floats();
  message.values.erase(kScalesKey);
  return scales_from(numbers, shape, what);
}

Message InputSurvey::client_step(Round, int, ClientContext& context, const Message&) const {
  return survey_answer(context.train);
}

void InputSurvey::check_answer(Round, int, ClientId client, const Message& answer) const {
  check_input_sums(client, sums_from(client, answer, shape_), shape_);
}

std::map<ClientId, InputSums> InputSurvey::sums_in(const std::map<ClientId, Message>& answers) const {
  std::map<ClientId, InputSums> all;
  for (const auto& [client, answer] : answers) {
    all[client] = sums_from(client, answer, shape_);
  }
  return all;
}

std::map<ClientId, std::string> InputSurvey::refusals(Round, int, const std::map<ClientId, Message>& answers) const {
  return inflated_sums(sums_in(answers), columns_);
}

void InputSurvey::uplink(Round, int, std::map<ClientId, Message>& answers, StageSeconds&) { sums_ = sums_in(answers); }

InputScales survey_inputs(ClientPool& pool, std::span<const ClientId> clients, SampleShape shape,
                          const std::vector<std::string>& columns) {
  InputSurvey survey(shape, columns);
  const Exchanged exchanged = exchange_phases(survey, pool, kSurveyRound, {clients.begin(), clients.end()}, kSurvey);
  std::map<ClientId, InputSums> believed;
  for (const auto& [client, sums] : survey.sums()) {
    const std::int64_t announced = exchanged.reports.at(client).num_examples;
    if (sums.samples <= announced) {
      believed[client] = sums;
    } else {
      log::warning("{}: the sums of client {} are of {} samples, and it announces {}: they are left out", kSurvey,
                   pool.called(client), sums.samples, announced);
    }
  }
  if (const std::string unlike = unlike_sums(believed, columns); !unlike.empty()) {
    log::warning(
        "{}: clients {} and {} differ: {}; of two nobody can say which one is right, and both count: has one "
        "another unit?",
        kSurvey, pool.called(believed.begin()->first), pool.called(believed.rbegin()->first), unlike);
  }
  return scales_of(believed, shape);
}

InputScales survey_inputs(const Federation& federation, std::span<const ClientId> clients) {
  FirstStage pool(federation);
  return survey_inputs(pool, clients, federation.shape(), federation.dataset().train.columns);
}

}  // namespace feroma
