#include "feroma/runtime/attack.h"

#include <algorithm>
#include <array>
#include <limits>
#include <sstream>
#include <variant>

#include "feroma/core/error.h"
#include "feroma/core/number.h"

namespace feroma {
namespace {

/// What a profile travels as: moments, or noisy sums and the bounds they belong to.
constexpr std::array kProfile{"profile", "sums", "epoch"};

bool has_profile(const Message& message) { return message.has("profile") || message.has("sums"); }

/// Every client of the list; `refuse` is called with each word that is no number.
template <class Refuse>
std::set<ClientId> read_clients(const std::string& text, Refuse refuse) {
  std::set<ClientId> clients;
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    if (const auto number = parse_number<std::uint32_t>(word)) {
      clients.insert(ClientId{*number});
    } else {
      refuse(word);
    }
  }
  return clients;
}

/// What a model of an answer was made from; null where nothing that was received fits.
ParametersPtr counterpart(const Message& received, const std::string& key, const Parameters& model) {
  const auto fits = [&](const Blob& value) {
    const auto* other = std::get_if<ParametersPtr>(&value);
    return other != nullptr && *other != nullptr && (*other)->size() == model.size();
  };
  const auto same = received.values.find(key);
  if (same != received.values.end() && fits(same->second)) {
    return std::get<ParametersPtr>(same->second);
  }
  const auto any = std::find_if(received.values.begin(), received.values.end(),
                                [&](const auto& entry) { return fits(entry.second); });
  return any == received.values.end() ? nullptr : std::get<ParametersPtr>(any->second);
}

/// `from` moved by `factor` times the way from it to `to`.
Parameters moved(const Parameters& from, const Parameters& to, double factor) {
  Parameters result = to.clone();
  for (std::size_t i = 0; i < result.size(); ++i) {
    const auto start = static_cast<double>(from.values()[i]);
    result.values()[i] = static_cast<float>(start + factor * (static_cast<double>(to.values()[i]) - start));
  }
  return result;
}

Parameters poisoned(const Parameters& model) {
  Parameters result = model.clone();
  std::fill(result.values().begin(), result.values().end(), std::numeric_limits<float>::quiet_NaN());
  return result;
}

}  // namespace

void AttackOptions::check(int training, int rounds, Problems& problems) const {
  const std::set<ClientId> liars = read_clients(clients, [&](const std::string& word) {
    problems.add("attack.clients must be numbers of clients, such as \"0 5\", got \"{}\"", word);
  });
  for (const ClientId client : liars) {
    if (to_index(client) >= static_cast<std::uint32_t>(training)) {
      problems.add("attack.clients must be in 0..{}, the clients that train, got {}", training - 1, to_index(client));
    }
  }
  if (from_round > rounds) {
    problems.add("attack.from_round must be <= scenario.rounds ({}), got {}", rounds, from_round);
  }
  const AttackOptions defaults;
  const bool lies = kind != AttackKind::none;
  const auto applies = [&](std::string_view key, bool changed, bool acts, std::string_view needed) {
    if (changed && !acts) {
      problems.add("attack.{} would be ignored: it needs {}", key, needed);
    }
  };
  applies("clients", !clients.empty(), lies, "attack.kind");
  applies("from_round", from_round != defaults.from_round, lies, "attack.kind");
  applies("factor", factor != defaults.factor, lies && kind != AttackKind::nan,
          "attack.kind sign_flip, scale or forged_profile");
  applies("kind", lies, clients.find_first_not_of(' ') != std::string::npos, "attack.clients");
}

Attack::Attack(const AttackOptions& options)
    : options_(options), liars_(read_clients(options.clients, [](const std::string& word) {
        fail(ErrorCode::invalid_config, "attack.clients must be numbers of clients, got \"{}\"", word);
      })) {}

bool Attack::lies(ClientId client, Round round) const {
  return options_.kind != AttackKind::none && round >= options_.from_round && liars_.contains(client);
}

void Attack::tamper(const Message& received, Message& answer) const {
  for (auto& [key, value] : answer.values) {
    auto* model = std::get_if<ParametersPtr>(&value);
    if (model == nullptr || *model == nullptr) {
      continue;
    }
    if (options_.kind == AttackKind::nan) {
      *model = share(poisoned(**model));
    } else if (const ParametersPtr from = counterpart(received, key, **model)) {
      *model = share(moved(*from, **model, options_.kind == AttackKind::scale ? options_.factor : -options_.factor));
    }
  }
}

void Attack::forge(Round round, const std::map<ClientId, Message*>& answers) const {
  if (options_.kind != AttackKind::forged_profile) {
    return;
  }
  const auto honest = std::find_if(answers.begin(), answers.end(), [&](const auto& entry) {
    return !lies(entry.first, round) && has_profile(*entry.second);
  });
  if (honest == answers.end()) {
    return;
  }
  for (const auto& [client, answer] : answers) {
    if (!lies(client, round) || !has_profile(*answer)) {
      continue;
    }
    for (const char* key : kProfile) {
      if (honest->second->has(key)) {
        answer->values[key] = honest->second->values.at(key);
      }
    }
  }
}

}  // namespace feroma
