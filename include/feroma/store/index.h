#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "feroma/core/ids.h"

struct sqlite3;

namespace feroma {

/// One stored model and what is known of the data behind it.
struct StoreEntry {
  std::string algorithm;           ///< label of the run: "feroma-auto"
  std::optional<ClientId> client;  ///< whose data it was trained on; absent for a global model
  Round round = 0;
  std::string model_file;      ///< relative to the folder of the index
  std::vector<float> profile;  ///< empty where the method has none
  int distribution = 0;        ///< true id, for people and oracle metrics
  std::optional<double> validation_score;
  std::int64_t num_examples = 0;

  friend bool operator==(const StoreEntry&, const StoreEntry&) = default;
};

/// What to list; an absent field matches everything.
struct StoreQuery {
  std::optional<std::string> algorithm;
  std::optional<Round> round;
};

/**
 * The index of a run's models: an SQLite file `store.db`, one row per (algorithm, client, round). Not thread-safe;
 * several processes may read while one writes.
 */
class StoreIndex {
 public:
  enum class Mode { create, read_only };

  /// Opens the index, with `create` making an empty one where there is none. A foreign file is an invalid_data error.
  StoreIndex(const std::filesystem::path& path, Mode mode);

  /// Adds the entries in one transaction: all or none. An entry with the same key replaces the old one.
  void insert(std::span<const StoreEntry> entries);
  /// Forgets rounds after `round`, for a run that goes on from an earlier commit.
  void remove_after(const std::string& algorithm, Round round);
  /// The matching entries by algorithm, round and client.
  [[nodiscard]] std::vector<StoreEntry> list(const StoreQuery& query) const;
  /// SHA-256 of all that is there of an algorithm.
  [[nodiscard]] std::string digest(const std::string& algorithm) const;

 private:
  struct Close {
    void operator()(sqlite3* database) const;
  };

  std::filesystem::path path_;
  std::unique_ptr<sqlite3, Close> database_;
};

}  // namespace feroma
