#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "feroma/core/batch.h"

namespace feroma {

/**
 * The samples of one split, held once in their own type; clients only ever hold views over it. Inputs are either bytes
 * (pictures) or numbers (signals, tables), never both.
 */
struct Samples {
  SampleShape shape;
  std::vector<std::uint8_t> pixels;   ///< count x shape.size(), value = byte / 255
  std::vector<float> values;          ///< count x shape.size(), value as it is
  std::vector<std::int32_t> labels;   ///< class of each sample; 0 for all of them where there are targets
  std::vector<std::uint8_t> targets;  ///< multi-label data: count x classes, 1 where the sample has the label
  std::vector<std::int32_t> domains;  ///< natural distribution of each sample, from 0; empty where there is none
  std::vector<std::int32_t> owners;   ///< whose sample it is (a patient, a subject), from 0; empty where unknown
  std::vector<std::string> columns;   ///< of a table: what the values of a sample are called; empty elsewhere

  [[nodiscard]] std::size_t count() const { return labels.size(); }
  [[nodiscard]] bool multi_label() const { return !targets.empty(); }
  /// Bytes that the inputs take.
  [[nodiscard]] std::size_t input_bytes() const { return pixels.size() + values.size() * sizeof(float); }
};

/// A dataset with its split into training and test data.
struct Dataset {
  std::string name;
  int classes = 0;
  Samples train;
  Samples test;
  std::vector<std::string> class_names;      ///< empty, or one per class
  std::vector<std::string> domain_names;     ///< one per natural distribution; empty where there is none
  bool labelled = true;                      ///< whether every sample has a label; where one has none, its label is 0
  std::vector<std::uint32_t> labelled_rows;  ///< a visitor's data: rows of `train` that have a label
  std::vector<std::string> sample_names;     ///< a client's or visitor's pictures: paths below the folder
};

/// What the data behind models call things; all of it may be empty.
struct DataNames {
  std::vector<std::string> columns;  ///< a table's, in the order in which models take them
  std::vector<std::string> classes;  ///< one per class
  friend bool operator==(const DataNames&, const DataNames&) = default;
};

/// Those of a dataset.
[[nodiscard]] DataNames names_in(const Dataset& dataset);

/// Refuses, with invalid_data, a dataset whose lists do not fit together or whose labels are out of range.
void check_dataset(const Dataset& dataset);

}  // namespace feroma
