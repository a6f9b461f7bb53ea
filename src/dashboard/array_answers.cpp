#include "dashboard/array_answers.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <unordered_map>

#include "dashboard/json.h"
#include "dashboard/matrix_file.h"
#include "feroma/core/error.h"

namespace feroma::dashboard {
namespace {

/// Rounds, and profiles of each, that the plane is fitted to.
constexpr std::size_t kFittedRounds = 6;
constexpr std::size_t kFittedRows = 300;
/// Bytes of clients.csv for one round that are read again.
constexpr std::size_t kMostLines = std::size_t{64} << 20;
/// Weights are drawn, not computed with.
constexpr double kShownDigits = 1e5;

/// What a request about arrays needs, copied so that files are read while others look.
struct Subject {
  std::filesystem::path folder;
  std::string label;
  std::string version;  ///< changes with the list of places
  bool told = false;
  bool federation = false;
  std::vector<Place> places;     ///< of the events that name the arrays' clients
  std::size_t chosen = 0;        ///< of them
  std::optional<Place> columns;  ///< of the chosen round
  std::optional<Place> lines;
  detail::ClientLines client_columns = {};  ///< of the lines

  [[nodiscard]] std::filesystem::path file(const char* kind, int round) const {
    return folder / kind / fmt::format("{}-{}.npy", label, round);
  }
  [[nodiscard]] int round() const { return places[chosen].round; }
};

std::optional<Place> exactly(const std::vector<Place>& places, int round) {
  const Place* place = place_of(places, round);
  return place != nullptr && place->round == round ? std::optional(*place) : std::nullopt;
}

Subject subject_of(const RunWatch& watch, const Query& query, bool profiles) {
  const int round = number_in(query, "round", 0, std::numeric_limits<int>::max(), std::numeric_limits<int>::max());
  return watch.see([&](const Sight& sight) {
    const AlgorithmState& run = algorithm_of(sight, query);
    Subject subject;
    // Runs of earlier versions name the clients behind profiles in their mixing events only.
    subject.places = profiles && !run.profiles.empty() ? run.profiles : run.mixing;
    const Place* place = place_of(subject.places, round);
    if (place == nullptr) {
      throw BadRequest(subject.places.empty() ? "this algorithm has written none" : "there is none that early");
    }
    subject.folder = sight.folder;
    subject.label = run.label;
    subject.version = fmt::format("{}/{}/{}", sight.epoch, run.label, subject.places.size());
    subject.told = tells_counts(sight);
    subject.federation = sight.federation;
    subject.chosen = static_cast<std::size_t>(place - subject.places.data());
    subject.columns = exactly(run.client_columns, place->round);
    subject.lines = exactly(run.client_lines, place->round);
    subject.client_columns = sight.run.client_columns;
    return subject;
  });
}

Json event_at(const Subject& subject, const Place& place) {
  Json event = Json::parse(read_piece(subject.folder / "events.jsonl", place.offset, place.size), nullptr,
                           /*allow_exceptions=*/false);
  require(event.is_object(), ErrorCode::invalid_data, "the events were cut meanwhile");
  return event;
}

std::vector<std::uint32_t> ids_in(const Json& event, const char* key) {
  std::vector<std::uint32_t> ids;
  require(event.contains(key) && event[key].is_array(), ErrorCode::invalid_data, "an event names no {}", key);
  for (const Json& id : event[key]) {
    require(id.is_number_unsigned() && id.get<std::uint64_t>() <= std::numeric_limits<std::uint32_t>::max(),
            ErrorCode::invalid_data, "{} must hold client ids, got {}", key, id.dump());
    ids.push_back(id.get<std::uint32_t>());
  }
  return ids;
}

/// The first and the last client of every block.
Json ends_of(const std::vector<std::uint32_t>& ids, std::size_t block) {
  Json ends = Json::array();
  for (std::size_t first = 0; first < ids.size(); first += block) {
    ends.push_back(Json::array({ids[first], ids[std::min(first + block, ids.size()) - 1]}));
  }
  return ends;
}

/// What clients.csv and the events say of the clients in one round.
struct Traits {
  std::unordered_map<std::uint32_t, Json> distribution;
  std::unordered_map<std::uint32_t, std::string> strategy;
  std::unordered_map<std::uint32_t, Json> moved;
};

void read_lines(const Subject& subject, Traits& traits) {
  if (!subject.lines || subject.lines->size > kMostLines) {
    return;
  }
  const std::string text = read_piece(subject.folder / "clients.csv", subject.lines->offset, subject.lines->size);
  std::size_t begin = 0;
  for (std::size_t end = text.find('\n'); end != std::string::npos; end = text.find('\n', begin)) {
    const std::string_view line = std::string_view(text).substr(begin, end - begin);
    begin = end + 1;
    try {
      const auto [label, round, client] = subject.client_columns.parse(line, "clients.csv");
      if (round == subject.round()) {
        traits.strategy[client.client] = client.strategy;
        traits.distribution[client.client] =
            subject.told && !subject.federation ? Json(client.distribution) : Json(nullptr);
      }
    } catch (const Error&) {
      continue;  // damage is told where the file is read first
    }
  }
}

Traits traits_of(const Subject& subject) {
  Traits traits;
  read_lines(subject, traits);
  if (subject.columns) {
    const Json event = event_at(subject, *subject.columns);
    const std::vector<std::uint32_t> ids = ids_in(event, "client");
    if (event.contains("moved") && event["moved"].is_array() && event["moved"].size() == ids.size()) {
      for (std::size_t i = 0; i < ids.size(); ++i) {
        traits.moved[ids[i]] = event["moved"][i];
      }
    }
  }
  return traits;
}

/// One of many, evenly spread.
std::vector<std::size_t> spread_over(std::size_t count, std::size_t most) {
  std::vector<std::size_t> chosen;
  const std::size_t wanted = std::min(count, most);
  for (std::size_t i = 0; i < wanted; ++i) {
    chosen.push_back(wanted == 1 ? 0 : i * (count - 1) / (wanted - 1));
  }
  return chosen;
}

template <class Map>
Json value_or_null(const Map& map, std::uint32_t id) {
  const auto found = map.find(id);
  return found == map.end() ? Json(nullptr) : Json(found->second);
}

/// None where it is gone or damaged.
std::optional<MatrixFile> readable_matrix(const std::filesystem::path& file) {
  try {
    return MatrixFile(file);
  } catch (const Error&) {
    return std::nullopt;
  }
}

/// The profile in a row; none where it is damaged.
std::optional<std::vector<float>> readable_profile(const MatrixFile& matrix, std::size_t row) {
  try {
    return matrix.read(row, 1);
  } catch (const Error&) {
    return std::nullopt;
  }
}

double shortened(double value) { return std::round(value * kShownDigits) / kShownDigits; }

}  // namespace

std::string mixing_answer(const RunWatch& watch, const Query& query) {
  const auto cells = static_cast<std::size_t>(number_in(query, "cells", 8, 256, 128));
  const Subject subject = subject_of(watch, query, /*profiles=*/false);
  const Json event = event_at(subject, subject.places[subject.chosen]);
  const std::vector<std::uint32_t> receivers = ids_in(event, "receivers");
  const std::vector<std::uint32_t> sources = ids_in(event, "sources");
  const MatrixFile matrix(subject.file("mixing", subject.round()));
  require(matrix.rows() == receivers.size() && matrix.cols() == sources.size(), ErrorCode::invalid_data,
          "mixing of round {}: must be {} receivers x {} sources, is {} x {}", subject.round(), receivers.size(),
          sources.size(), matrix.rows(), matrix.cols());
  const Blocks blocks = in_blocks(matrix, cells);
  Json weights = Json::array();
  for (const double weight : blocks.values) {
    weights.push_back(shortened(weight));
  }
  return text_of({{"algorithm", subject.label},
                  {"round", subject.round()},
                  {"receivers_of", receivers.size()},
                  {"sources_of", sources.size()},
                  {"receivers", ends_of(receivers, blocks.block_rows)},
                  {"sources", ends_of(sources, blocks.block_cols)},
                  {"weights", std::move(weights)}});
}

Plane ProfileMap::plane_of(const std::string& key, const std::filesystem::path& folder, const std::string& label,
                           const std::vector<Place>& places, std::size_t cols) {
  const std::lock_guard lock(mutex_);
  if (fitted_ && fitted_->key == key) {
    return fitted_->plane;
  }
  std::vector<float> points;
  for (const std::size_t i : spread_over(places.size(), kFittedRounds)) {
    const auto matrix = readable_matrix(folder / "profiles" / fmt::format("{}-{}.npy", label, places[i].round));
    if (!matrix || matrix->cols() != cols) {
      continue;
    }
    for (const std::size_t row : spread_over(matrix->rows(), kFittedRows)) {
      if (const auto values = readable_profile(*matrix, row)) {
        points.insert(points.end(), values->begin(), values->end());
      }
    }
  }
  fitted_ = Fitted{key, fit_plane(points, cols)};
  return fitted_->plane;
}

std::string ProfileMap::answer(const RunWatch& watch, const Query& query) {
  const auto trail = static_cast<std::size_t>(number_in(query, "trail", 0, 30, 5));
  const auto most = static_cast<std::size_t>(number_in(query, "points", 1, 1000, 300));
  const Subject subject = subject_of(watch, query, /*profiles=*/true);
  const std::vector<std::uint32_t> receivers = ids_in(event_at(subject, subject.places[subject.chosen]), "receivers");
  const std::size_t cols = MatrixFile(subject.file("profiles", subject.round())).cols();
  const Plane plane =
      plane_of(fmt::format("{}/{}", subject.version, cols), subject.folder, subject.label, subject.places, cols);
  const Traits traits = traits_of(subject);

  Json clients = Json::array();
  const std::vector<std::size_t> shown = spread_over(receivers.size(), most);
  for (const std::size_t row : shown) {
    const std::uint32_t id = receivers[row];
    clients.push_back({{"client", id},
                       {"strategy", value_or_null(traits.strategy, id)},
                       {"distribution", value_or_null(traits.distribution, id)},
                       {"moved", value_or_null(traits.moved, id)},
                       {"path", Json::array()}});
  }
  Json rounds = Json::array();
  for (std::size_t at = subject.chosen - std::min(subject.chosen, trail); at <= subject.chosen; ++at) {
    const Place& place = subject.places[at];
    const auto matrix = readable_matrix(subject.file("profiles", place.round));
    const std::vector<std::uint32_t> ids = ids_in(event_at(subject, place), "receivers");
    const bool whole = matrix && ids.size() == matrix->rows() && matrix->cols() == cols;
    // What cannot be read of an old round leaves a gap in the trails; the one that was asked for must be whole.
    require(whole || at < subject.chosen, ErrorCode::invalid_data, "profiles of round {}: must be of {} clients",
            place.round, ids.size());
    std::unordered_map<std::uint32_t, std::size_t> row_of;
    for (std::size_t row = 0; whole && row < ids.size(); ++row) {
      row_of[ids[row]] = row;
    }
    rounds.push_back(place.round);
    for (Json& client : clients) {
      const auto row = row_of.find(client["client"].get<std::uint32_t>());
      if (row == row_of.end()) {
        client["path"].push_back(nullptr);
        continue;
      }
      const auto values = readable_profile(*matrix, row->second);
      require(values || at < subject.chosen, ErrorCode::invalid_data,
              "profiles of round {}: that of client {} cannot be read", place.round, row->first);
      if (!values) {
        client["path"].push_back(nullptr);
        continue;
      }
      const std::array<double, 2> at_place = plane.place(*values);
      client["path"].push_back(Json::array({shortened(at_place[0]), shortened(at_place[1])}));
    }
  }
  return text_of({{"algorithm", subject.label},
                  {"round", subject.round()},
                  {"rounds", std::move(rounds)},
                  {"of", receivers.size()},
                  {"alarm_above", kAlarm},
                  {"explained", plane.explained},
                  {"clients", std::move(clients)}});
}

}  // namespace feroma::dashboard
