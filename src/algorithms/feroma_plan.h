#pragma once

#include "feroma/algorithms/feroma_options.h"
#include "feroma/client/trainer.h"
#include "feroma/privacy/options.h"

namespace feroma {

/// What server, clients and test clients of Feroma agree on before the first round.
struct FeromaPlan {
  FeromaOptions options;
  ModelSpec model;
  FitOptions fit;
  ProfileShape shape;
  bool multi_label = false;  ///< samples may have several labels
  PrivacyOptions privacy;
};

}  // namespace feroma
