#pragma once

#include <map>
#include <optional>
#include <vector>

#include "feroma/algorithms/shiftex.h"
#include "feroma/mapping/divergence.h"
#include "feroma/models/archive.h"

namespace feroma {

/// What is remembered of data: a sample of their embeddings, and how many there were of each class.
struct LatentMemory {
  std::vector<float> embeddings;
  std::int64_t seen = 0;  ///< samples that the embeddings were drawn from
  std::vector<double> histogram;

  [[nodiscard]] RowsView rows(int width) const { return {embeddings, static_cast<std::size_t>(width)}; }
  /// Adds more data and keeps at most `most` embeddings, each sample that was ever seen with the same chance.
  void add(const LatentMemory& more, int width, int most, Rng& rng);
};

/// A client whose data have changed: what they look like now, and what its own test would still take for noise.
struct ShiftReport {
  LatentMemory data;
  double threshold = 0;
};

/// ShiftEx's experts, what each of them has seen, and who uses which.
class ExpertPool {
 public:
  struct Expert {
    ParametersPtr model;
    LatentMemory memory;
  };

  ExpertPool() = default;
  ExpertPool(const ShiftExOptions& options, ParametersPtr initial, int width, Rng rng);

  [[nodiscard]] const std::vector<Expert>& experts() const { return experts_; }
  [[nodiscard]] Expert& expert(std::size_t i) { return experts_[i]; }
  /// Who was never assigned uses the first.
  [[nodiscard]] std::size_t expert_of(ClientId client) const;
  [[nodiscard]] std::optional<double> bandwidth() const { return bandwidth_; }
  [[nodiscard]] bool met(ClientId client) const { return assignment_.contains(client); }
  /// The client counts as one that has never shown its data.
  void forget(ClientId client) { assignment_.erase(client); }

  /// Clients that show their data for the first time. The first of all fill the first expert's memory and fix the
  /// kernel's bandwidth; later ones join the expert that resembles them most.
  void introduce(const std::map<ClientId, LatentMemory>& clients, const Parallel& parallel);
  /// Groups the clients whose data have changed and gives each group an expert.
  void reassign(const std::map<ClientId, ShiftReport>& shifted, const Parallel& parallel);
  /// The expert whose memory is nearest to unlabelled embeddings; absent before there is a memory.
  [[nodiscard]] std::optional<std::size_t> nearest(RowsView embeddings) const;

  void save(ModelWriter& out) const;
  void load(ModelReader& in);

 private:
  struct Choice {
    std::size_t expert = 0;
    double cost = 0;
  };
  /// The expert that `data` cost least to give to.
  [[nodiscard]] Choice cheapest(const LatentMemory& data, const Parallel& parallel) const;
  [[nodiscard]] double mmd(const LatentMemory& a, const LatentMemory& b) const;
  [[nodiscard]] Matrix distances(const std::vector<const ShiftReport*>& reports, const Parallel& parallel) const;
  /// Merges experts below `settled` that have seen and become the same.
  void merge_alike(double eps, std::size_t settled, const Parallel& parallel);
  [[nodiscard]] std::optional<std::size_t> last_alike(std::size_t expert, std::size_t end, double eps,
                                                      const Parallel& parallel) const;
  void merge(std::size_t into, std::size_t from);

  ShiftExOptions options_;
  int width_ = 1;
  Rng rng_{0};
  std::uint64_t draws_ = 0;  ///< how many streams the memories have drawn from
  std::optional<double> bandwidth_;
  std::vector<Expert> experts_;
  std::map<ClientId, std::size_t> assignment_;
};

/// The cosine between the weights of two models.
[[nodiscard]] double weight_cosine(const Parameters& a, const Parameters& b);

}  // namespace feroma
