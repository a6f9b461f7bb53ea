#include "feroma/data/dataset.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "feroma/core/error.h"

namespace feroma {
namespace {

/// Two samples of two values in both splits.
Dataset small_dataset() {
  Dataset dataset;
  dataset.name = "small";
  dataset.classes = 2;
  for (Samples* samples : {&dataset.train, &dataset.test}) {
    samples->shape = {1, 1, 2};
    samples->pixels = {1, 2, 3, 4};
    samples->labels = {0, 1};
  }
  return dataset;
}

/// What is said about a dataset after `damage`; empty where nothing is.
std::string complaint(const std::function<void(Dataset&)>& damage) {
  Dataset dataset = small_dataset();
  damage(dataset);
  try {
    check_dataset(dataset);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::invalid_data);
    return error.what();
  }
  return "";
}

void make_numbers(Dataset& dataset) {
  for (Samples* samples : {&dataset.train, &dataset.test}) {
    samples->values = {1, 2, 3, 4};
    samples->pixels.clear();
  }
}

TEST(CheckDataset, AcceptsBytesNumbersTargetsAndDomains) {
  EXPECT_EQ(complaint([](Dataset&) {}), "");
  EXPECT_EQ(complaint(make_numbers), "");
  EXPECT_EQ(complaint([](Dataset& d) {
              d.train.targets = {0, 1, 1, 1};
              d.test.targets = {0, 0, 0, 1};
            }),
            "");
  EXPECT_EQ(complaint([](Dataset& d) {
              d.domain_names = {"a", "b"};
              d.train.domains = d.test.domains = {1, 0};
            }),
            "");
}

TEST(CheckDataset, NamesWhatDoesNotFit) {
  const auto says = [](const std::string& part, const std::function<void(Dataset&)>& damage) {
    const std::string text = complaint(damage);
    EXPECT_NE(text.find(part), std::string::npos) << "\"" << text << "\" should say \"" << part << "\"";
  };
  says("at least one class, got 0", [](Dataset& d) { d.classes = 0; });
  says("labels of the test split must be in 0..1, got 2 in sample 1", [](Dataset& d) { d.test.labels[1] = 2; });
  says("labels of the train split must be in 0..1, got -1 in sample 0", [](Dataset& d) { d.train.labels[0] = -1; });
  says("2 values per sample, got 3 for 2 samples", [](Dataset& d) { d.train.pixels.pop_back(); });
  says("either bytes or numbers", [](Dataset& d) { d.train.values = {1, 2, 3, 4}; });
  says("must have samples, got none", [](Dataset& d) { d.test = Samples{}; });
  says("same shape", [](Dataset& d) { d.test.shape = {1, 2, 1}; });
  says("finite, got nan in sample 1", [](Dataset& d) {
    make_numbers(d);
    d.train.values[2] = NAN;
  });
  says("of one kind", [](Dataset& d) { d.train.targets = {0, 1, 1, 1}; });
  says("2 targets per sample, got 3", [](Dataset& d) { d.train.targets = {0, 1, 1}; });
  says("must be 0 or 1, got 2", [](Dataset& d) { d.train.targets = {0, 1, 2, 1}; });
  says("2 domains, got 0", [](Dataset& d) { d.domain_names = {"a"}; });
  says("domains of the train split must be in 0..0, got 1", [](Dataset& d) {
    d.domain_names = {"a"};
    d.train.domains = {0, 1};
  });
  says("owners", [](Dataset& d) { d.train.owners = {0}; });
  says("name all of its 2 classes", [](Dataset& d) { d.class_names = {"one"}; });
}

}  // namespace
}  // namespace feroma
