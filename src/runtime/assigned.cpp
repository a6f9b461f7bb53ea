#include "feroma/runtime/assigned.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "feroma/core/error.h"
#include "feroma/core/files.h"
#include "feroma/core/log.h"
#include "feroma/runtime/store_models.h"
#include "feroma/store/safetensors.h"

namespace feroma {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr int kVersion = 2;
/// The first one that says whether inputs are scaled.
constexpr int kScaledVersion = 2;
constexpr const char* kSeal = "seal";
constexpr std::string_view kFile = "assigned.json";
constexpr const char* kColumns = "input_columns";
constexpr const char* kClasses = "class_names";
constexpr std::array<std::string_view, 3> kChoiceNames{"profile", "labels", "confidence"};

std::string model_file(std::size_t i) { return fmt::format("model-{}.safetensors", i); }

Json sources_of(const Offer& offer) {
  Json sources = Json::array();
  for (std::size_t i = 0; i < offer.sources.size(); ++i) {
    for (const auto& [source, share] : offer.sources[i]) {
      sources.push_back(
          {{"client", to_index(source.client)}, {"round", source.round}, {"share", offer.weights[i] * share}});
    }
  }
  return sources;
}

Choice choice_of(const std::string& name) {
  const auto found = std::find(kChoiceNames.begin(), kChoiceNames.end(), name);
  require(found != kChoiceNames.end(), ErrorCode::invalid_data,
          "chosen_by must be profile, labels or confidence, got \"{}\"", name);
  return static_cast<Choice>(found - kChoiceNames.begin());
}

Json json_of(const EntropyAdaptation& adaptation) {
  return {{"mode", name_of(adaptation.mode)}, {"batch_size", adaptation.batch_size}, {"rates", adaptation.rates}};
}

EntropyAdaptation adaptation_of(const Json& json) {
  const auto mode = json.at("mode").get<std::string>();
  EntropyAdaptation adaptation{json.at("rates").get<Floats>(), AdaptMode::batch, json.at("batch_size").get<int>()};
  for (const auto& [value, name] : enum_names(AdaptMode{})) {
    adaptation.mode = name == mode ? value : adaptation.mode;
  }
  require(name_of(adaptation.mode) == mode && adaptation.batch_size >= 1, ErrorCode::invalid_data,
          "an adaptation must have a mode (batch or online) and a batch size >= 1, got \"{}\" and {}", mode,
          adaptation.batch_size);
  return adaptation;
}

/// A factor and an offset for each input, or null where they are as they are.
Json scale_of(const Assigned& assigned) {
  return assigned.standardise ? Json(numbers_of(assigned.scales)) : Json(nullptr);
}

/// Files of the first version may be of either kind of model.
void read_scale_(Assigned& assigned, int version, const Json& json, const std::string& file) {
  if (version < kScaledVersion) {
    log::warning(
        "{}: is of an earlier version and does not say whether the model's inputs are scaled; where it was trained "
        "with "
        "training.standardise, train and assign again",
        file);
    return;
  }
  const Json& scale = json.at("input_scale");
  assigned.standardise = !scale.is_null();
  if (assigned.standardise) {
    assigned.scales = scales_from(scale.get<std::vector<float>>(), assigned.input, "input_scale");
  }
}

Json names_or_null(const std::vector<std::string>& names) { return names.empty() ? Json(nullptr) : Json(names); }

/// One for each of `count`, or none: earlier versions wrote none.
std::vector<std::string> names_under(const Json& json, const char* key, std::int64_t count) {
  if (!json.contains(key) || json.at(key).is_null()) {
    return {};
  }
  auto names = json.at(key).get<std::vector<std::string>>();
  require(static_cast<std::int64_t>(names.size()) == count, ErrorCode::invalid_data,
          "{} must have {} names or be null, got {}", key, count, names.size());
  return names;
}

/// SHA-256 of each model's file; empty ones where an earlier version wrote none.
std::vector<std::string> digests_in(const Json& json, std::size_t models) {
  if (!json.contains("sha256")) {
    return std::vector<std::string>(models);
  }
  const auto digests = json.at("sha256").get<std::vector<std::string>>();
  const bool is_whole =
      digests.size() == models && std::none_of(digests.begin(), digests.end(), [](const auto& d) { return d.empty(); });
  require(is_whole, ErrorCode::invalid_data, "sha256 must have one for each of the {} models, got {}", models,
          json.at("sha256").dump());
  return digests;
}

/// SHA-256 of all else, whatever lies between the words.
std::string seal_of(Json json) {
  json.erase(kSeal);
  const std::string text = json.dump();
  return sha256(std::as_bytes(std::span(text)));
}

Assigned parse(const Json& json, const std::string& file) {
  require(!json.contains(kSeal) || json.at(kSeal) == seal_of(json), ErrorCode::invalid_data,
          "is damaged, or was edited: \"{}\" must be the SHA-256 of all else; assign again, or take that field out",
          kSeal);
  const int version = json.at("version").get<int>();
  require(version >= 1 && version <= kVersion, ErrorCode::invalid_data, "version must be in 1..{}, got {}", kVersion,
          version);
  Assigned assigned;
  assigned.algorithm = json.at("algorithm").get<std::string>();
  assigned.round = json.at("round").get<Round>();
  assigned.model = json.at("model").get<std::string>();
  const auto input = json.at("input").get<std::array<int, 3>>();
  assigned.input = {input[0], input[1], input[2]};
  assigned.classes = json.at("classes").get<int>();
  assigned.multi_label = json.at("multi_label").get<bool>();
  read_scale_(assigned, version, json, file);
  assigned.names.columns = names_under(json, kColumns, assigned.input.size());
  assigned.names.classes = names_under(json, kClasses, assigned.classes);
  assigned.choice = choice_of(json.at("chosen_by").get<std::string>());
  assigned.candidates = json.at("candidates").get<int>();
  assigned.bytes_down = json.at("bytes_down").get<std::int64_t>();
  assigned.bytes_up = json.at("bytes_up").get<std::int64_t>();
  assigned.offer.weights = json.at("weights").get<std::vector<double>>();
  const std::vector<double>& weights = assigned.offer.weights;
  require(!weights.empty() && std::all_of(weights.begin(), weights.end(), [](double w) { return w >= 0 && w <= 1; }),
          ErrorCode::invalid_data, "weights must be numbers in 0..1, got {}", json.at("weights").dump());
  if (json.contains("adaptation")) {
    assigned.offer.adaptation = adaptation_of(json.at("adaptation"));
  }
  return assigned;
}

}  // namespace

void write_assigned(const fs::path& folder, const Assigned& assigned) {
  make_writable_folder(folder);
  // Whoever finds the description finds what it describes.
  fs::remove(folder / kFile);
  Json digests = Json::array();
  for (std::size_t i = 0; i < assigned.offer.models.size(); ++i) {
    digests.push_back(write_safetensors(folder / model_file(i), *assigned.offer.models[i],
                                        about_model(assigned.model, assigned.algorithm, assigned.scales)));
  }
  const auto& adaptation = assigned.offer.adaptation;
  Json json = {{"version", kVersion},
               {"algorithm", assigned.algorithm},
               {"round", assigned.round},
               {"model", assigned.model},
               {"input", {assigned.input.channels, assigned.input.height, assigned.input.width}},
               {"classes", assigned.classes},
               {"multi_label", assigned.multi_label},
               {"input_scale", scale_of(assigned)},
               {kColumns, names_or_null(assigned.names.columns)},
               {kClasses, names_or_null(assigned.names.classes)},
               {"chosen_by", kChoiceNames[static_cast<std::size_t>(assigned.choice)]},
               {"candidates", assigned.candidates},
               {"bytes_down", assigned.bytes_down},
               {"bytes_up", assigned.bytes_up},
               {"weights", assigned.offer.weights},
               {"sha256", digests},
               {"sources", sources_of(assigned.offer)}};
  if (adaptation) {
    json["adaptation"] = json_of(*adaptation);
  }
  json[kSeal] = seal_of(json);
  write_file_atomically(folder / kFile, json.dump(2) + "\n");
}

Assigned read_assigned(const fs::path& folder) {
  const fs::path file = folder / kFile;
  require(fs::is_regular_file(file), ErrorCode::invalid_config, "{}: has no {}; feroma assign writes one",
          folder.string(), kFile);
  Assigned assigned;
  std::vector<std::string> digests;
  try {
    const Json json = Json::parse(read_text(file));
    assigned = parse(json, file.string());
    digests = digests_in(json, assigned.offer.weights.size());
  } catch (const Error& error) {
    fail(ErrorCode::invalid_data, "{}: {}", file.string(), error.what());
  } catch (const Json::exception& error) {
    fail(ErrorCode::invalid_data, "{}: {}", file.string(), error.what());
  }
  Experiment experiment;
  experiment.training.model = assigned.model;
  const ModelSpec model = experiment.model(assigned.input, assigned.classes);
  const std::shared_ptr<const ParamLayout> layout = make_layout(model);
  for (std::size_t i = 0; i < assigned.offer.weights.size(); ++i) {
    ModelFile stored = read_safetensors(folder / model_file(i), layout, digests[i]);
    require(assigned.standardise || !is_scaled(stored), ErrorCode::invalid_data,
            "{}: is of a model with scaled inputs, and {} has no input_scale for it: assign again",
            (folder / model_file(i)).string(), file.string());
    assigned.offer.models.push_back(share(std::move(stored.params)));
  }
  if (assigned.offer.adaptation) {
    check_rates(assigned.offer.adaptation->rates, *layout);
  }
  return assigned;
}

}  // namespace feroma
