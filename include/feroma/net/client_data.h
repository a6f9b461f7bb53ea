#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "feroma/drift/federation.h"

namespace feroma {

/// The data of one client of a federation. They may change while it runs; each change is a new window.
class ClientData {
 public:
  virtual ~ClientData() = default;

  [[nodiscard]] virtual SampleShape shape() const = 0;
  [[nodiscard]] virtual int classes() const = 0;
  [[nodiscard]] virtual bool multi_label() const = 0;
  /// What the client has in a round. Views are valid until the next call, or as long as the object where past windows
  /// are kept.
  [[nodiscard]] virtual ClientShard shard(Round round) = 0;
  /// From now on windows that are over stay within reach, and take their memory. Without it they may be gone.
  virtual void keep_past_windows() {}
  /// The federation's models take inputs as they are: now and after each change the log says where they are too large.
  virtual void expect_own_scale() {}
  /// The federation calls a table's columns so: now and after each change they are those, in this order. An
  /// invalid_data error where one is missing. Views of before are over.
  virtual void expect_columns(const std::vector<std::string>&) {}
  /// Its training data of a window that it has reached; an invalid_data error where they are gone.
  [[nodiscard]] virtual View train_of_window(int window) = 0;
};

/// A client's part of a simulated scenario: what the simulator would give client `id`.
[[nodiscard]] std::unique_ptr<ClientData> scenario_client_data(std::shared_ptr<const Federation> federation,
                                                               ClientId id);

/// Data of the client's own: a folder as docs/data.md describes it, all of its training samples. It is looked at before
/// every step; changed files are a new window, whose number is kept in `state`.
[[nodiscard]] std::unique_ptr<ClientData> folder_client_data(const std::filesystem::path& folder,
                                                             const std::filesystem::path& state);

}  // namespace feroma
