#include "feroma/drift/membership.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <sstream>

#include "feroma/core/error.h"

namespace feroma {
namespace {

struct Event {
  Round round = 0;
  std::size_t client = 0;
  bool arrives = false;
};

std::optional<int> read_number(std::string_view& text) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || value < 0) {
    return std::nullopt;
  }
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return value;
}

/// One word, "5:-0+7"; nothing where it is spelled wrongly.
std::optional<std::vector<Event>> read_word(std::string_view word) {
  const std::optional<int> round = read_number(word);
  if (!round || word.size() < 3 || word.front() != ':') {
    return std::nullopt;
  }
  word.remove_prefix(1);
  std::vector<Event> events;
  while (!word.empty()) {
    const char sign = word.front();
    word.remove_prefix(1);
    const std::optional<int> client = sign == '+' || sign == '-' ? read_number(word) : std::nullopt;
    if (!client) {
      return std::nullopt;
    }
    events.push_back({*round, static_cast<std::size_t>(*client), sign == '+'});
  }
  return events;
}

/// Every event of the list; `refuse` is called with each word that is none.
template <class Refuse>
std::vector<Event> read_events(const std::string& text, Refuse refuse) {
  std::vector<Event> all;
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    if (const auto events = read_word(word)) {
      all.insert(all.end(), events->begin(), events->end());
    } else {
      refuse(word);
    }
  }
  return all;
}

/// Draws one round from the one before. The last client that is there stays: a round without anybody is no round.
void draw_round(const MembershipOptions& options, const Rng& rng, std::vector<bool>& here, std::vector<bool>& known) {
  auto left = static_cast<std::size_t>(std::count(here.begin(), here.end(), true));
  for (std::size_t client = 0; client < here.size(); ++client) {
    // One stream per client, so that more clients do not change what the others do.
    const double draw = rng.derive("client", client).uniform();
    if (!here[client]) {
      here[client] = draw < (known[client] ? options.return_rate : options.arrival_rate);
    } else if (draw < options.departure_rate && left > 1) {
      here[client] = false;
      --left;
    }
  }
}

}  // namespace

bool MembershipOptions::constant() const {
  return initial == 0 && arrival_rate == 0 && departure_rate == 0 && return_rate == 0 && events.empty();
}

void MembershipOptions::check(int clients, int rounds, Problems& problems) const {
  if (test_only >= clients) {
    problems.add("membership.test_only must be < scenario.clients ({}), got {}", clients, test_only);
    return;
  }
  const int training = clients - test_only;
  if (initial > training) {
    problems.add("membership.initial must be <= the {} clients that train, got {}", training, initial);
  }
  const bool somebody_leaves = departure_rate > 0 || events.find('-') != std::string::npos;
  if (return_rate > 0 && !somebody_leaves) {
    problems.add("membership.return_rate must be 0 where nobody leaves, got {}", return_rate);
  }
  if (arrival_rate > 0 && (initial == 0 || initial == training)) {
    problems.add("membership.arrival_rate must be 0 where everybody is there from the start, got {}", arrival_rate);
  }
  const std::vector<Event> all = read_events(events, [&](const std::string& word) {
    problems.add("membership.events must be words like 3:+12-5, a round and who arrives or leaves, got \"{}\"", word);
  });
  for (const Event& event : all) {
    if (event.round < 1 || event.round > rounds) {
      problems.add("membership.events must name rounds in 1..{}, got {}", rounds, event.round);
    } else if (event.client >= static_cast<std::size_t>(training)) {
      problems.add("membership.events must name clients in 0..{}, got {}", training - 1, event.client);
    }
  }
}

Membership::Membership(const MembershipOptions& options, int clients, int rounds, const Rng& rng)
    : training_clients_(static_cast<std::size_t>(clients - options.test_only)) {
  if (options.constant()) {
    return;
  }
  const std::vector<Event> events = read_events(options.events, [](const std::string&) { unreachable(); });
  const std::size_t initial = options.initial == 0 ? training_clients_ : static_cast<std::size_t>(options.initial);
  std::vector<bool> here(training_clients_, false);
  std::fill_n(here.begin(), initial, true);
  std::vector<bool> known = here;
  for (Round round = 1; round <= rounds; ++round) {
    if (round > 1) {
      draw_round(options, rng.derive("membership", static_cast<std::uint64_t>(round)), here, known);
    }
    for (const Event& event : events) {
      if (event.round == round) {
        here[event.client] = event.arrives;
      }
    }
    require(std::find(here.begin(), here.end(), true) != here.end(), ErrorCode::invalid_config,
            "membership.events must leave at least one client in every round, got none in round {}", round);
    for (std::size_t client = 0; client < here.size(); ++client) {
      known[client] = known[client] || here[client];
    }
    present_.push_back(here);
  }
}

std::vector<ClientId> Membership::present(Round round) const {
  require(round >= 1, ErrorCode::internal, "[membership] rounds count from 1, got {}", round);
  const std::size_t row = std::min(static_cast<std::size_t>(round), present_.size());
  std::vector<ClientId> clients;
  for (std::size_t client = 0; client < training_clients_; ++client) {
    if (present_.empty() || present_[row - 1][client]) {
      clients.push_back(static_cast<ClientId>(client));
    }
  }
  return clients;
}

Round Membership::first_round(ClientId client) const {
  const std::size_t index = to_index(client);
  if (index >= training_clients_) {
    return 0;
  }
  for (std::size_t row = 0; row < present_.size(); ++row) {
    if (present_[row][index]) {
      return static_cast<Round>(row + 1);
    }
  }
  return present_.empty() ? 1 : 0;
}

int Membership::changes() const {
  int count = 0;
  for (std::size_t row = 1; row < present_.size(); ++row) {
    for (std::size_t client = 0; client < training_clients_; ++client) {
      count += present_[row][client] != present_[row - 1][client] ? 1 : 0;
    }
  }
  return count;
}

std::vector<ClientId> draw_participants(std::span<const ClientId> present, double participation, const Rng& rng,
                                        Round round) {
  const auto wanted = static_cast<std::size_t>(std::llround(participation * static_cast<double>(present.size())));
  if (wanted >= present.size()) {
    return {present.begin(), present.end()};
  }
  std::vector<std::uint32_t> drawn = rng.derive("participants", static_cast<std::uint64_t>(round))
                                         .sample(present.size(), std::max<std::size_t>(wanted, 1));
  std::sort(drawn.begin(), drawn.end());
  std::vector<ClientId> clients;
  for (const std::uint32_t position : drawn) {
    clients.push_back(present[position]);
  }
  return clients;
}

}  // namespace feroma
