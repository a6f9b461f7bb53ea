#include "feroma/runtime/predictions.h"

#include <gtest/gtest.h>

namespace feroma {
namespace {

TEST(Predictions, NamesWithCommasStayOneField) {
  Assigned assigned;
  assigned.classes = 2;
  Dataset dataset;
  dataset.class_names = {"mass, benign", "the \"other\""};
  dataset.sample_names = {"left,1.png"};
  const std::vector<float> probabilities{0.75F, 0.25F, 0.125F, 0.875F};
  EXPECT_EQ(predictions_csv(assigned, dataset, probabilities),
            "sample,class,probability,predicted_name\n"
            "\"left,1.png\",\"mass, benign\",0.750000,\"mass, benign\"\n"
            "1,\"the \"\"other\"\"\",0.875000,\"the \"\"other\"\"\"\n");
  assigned.multi_label = true;
  EXPECT_EQ(predictions_csv(assigned, dataset, probabilities),
            "sample,\"mass, benign\",\"the \"\"other\"\"\"\n"
            "\"left,1.png\",0.750000,0.250000\n"
            "1,0.125000,0.875000\n");
}

TEST(Predictions, NamesAreTheModels) {
  Assigned assigned;
  assigned.classes = 3;
  const std::vector<float> probabilities{0, 0.25F, 0.75F};
  EXPECT_EQ(predictions_csv(assigned, {}, probabilities), "sample,class,probability\n0,2,0.750000\n");
  assigned.names.classes = {"bird", "cat", "dog"};
  EXPECT_EQ(predictions_csv(assigned, {}, probabilities),
            "sample,class,probability,predicted_name\n0,dog,0.750000,dog\n");
  Dataset numbered;
  numbered.labelled_rows = {0};
  EXPECT_EQ(predictions_csv(assigned, numbered, probabilities),
            "sample,class,probability,predicted_name\n0,2,0.750000,dog\n")
      << "labels of an array";
}

}  // namespace
}  // namespace feroma
