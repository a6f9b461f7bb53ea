#include <fmt/format.h>

#include <array>
#include <atomic>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "checks.h"
#include "commands.h"
#include "config.h"
#include "feroma/core/error.h"
#include "feroma/core/files.h"
#include "feroma/data/own_folder.h"
#include "feroma/runtime/assigned.h"
#include "feroma/runtime/predictions.h"
#include "feroma/runtime/visitor_ledger.h"
#include "interrupt.h"
#include "owner_only.h"
#ifdef FEROMA_NET
#include "feroma/net/visit.h"
#endif

namespace feroma::cli {
namespace {

constexpr std::array<std::string_view, 3> kChosenBy{"its profile", "its labels", "the models' confidence"};

struct AssignArguments {
  std::string store;
  std::string data;
  std::string algorithm;
  std::string out = "assigned";
  std::string state;
  std::string witness;
  int few_labels = 0;
  int candidates = 3;
  Format format = Format::text;
#ifdef FEROMA_NET
  bool insecure = false;
  double wait_seconds = 60;
  ClientPlan connection;
  ConfigArguments config;
#endif
};

bool asks_a_server([[maybe_unused]] const AssignArguments& arguments) {
#ifdef FEROMA_NET
  return !arguments.connection.server.empty();
#else
  return false;
#endif
}

/// The first `most` samples of every class.
View first_of_each_class(const View& labelled, int classes, int most) {
  View few = labelled;
  few.items.clear();
  std::vector<int> taken(static_cast<std::size_t>(classes));
  for (std::size_t i = 0; i < labelled.size(); ++i) {
    if (taken.at(static_cast<std::size_t>(labelled.label(i)))++ < most) {
      few.items.push_back(labelled.items[i]);
    }
  }
  return few;
}

/// A visitor's folder, read for whoever serves it.
class VisitorFolder {
 public:
  VisitorFolder(std::string folder, int few_labels) : folder_(std::move(folder)), few_labels_(few_labels) {}

  /// Reads it before anybody is asked, so that a mistake costs nothing; what a model's names would answer can wait.
  void look() {
    try {
      read({});
    } catch (const OpenQuestion&) {
      // Asked again where there are no names.
    }
  }

  /// As a model takes it. The samples live until the next call.
  VisitorSamples samples(const DataNames& model) {
    if (data_.dataset == nullptr || model != names_) {
      read(model);
    }
    return {data_.all, few_labels_ > 0 ? &few_ : nullptr, version_};
  }

  [[nodiscard]] const VisitorData& data() const { return data_; }

 private:
  void read(const DataNames& model) {
    // What is no folder is for the reader to refuse.
    version_ = std::filesystem::is_directory(folder_) ? visitor_version(folder_) : 0;
    data_ = {};
    data_ = read_visitor_data(folder_, model);
    names_ = model;
    require(visitor_version(folder_) == version_, ErrorCode::invalid_data, "{}: its files changed while they were read",
            folder_);
    require(few_labels_ == 0 || data_.labelled.size() > 0, ErrorCode::invalid_config,
            "{}: has no labels, so none can be used to choose", folder_);
    few_ = few_labels_ > 0 ? first_of_each_class(data_.labelled, data_.dataset->classes, few_labels_) : View{};
  }

  std::string folder_;
  int few_labels_;
  VisitorData data_;
  DataNames names_;
  View few_;
  std::int64_t version_ = 0;
};

Assigned from_store(const AssignArguments& arguments, VisitorFolder& visitor, const VisitorWish& wish) {
  const OpenedStore store = open_store(arguments.store, arguments.algorithm);
  const VisitorSamples samples = visitor.samples(store.names);
  std::optional<Disclosure> disclosure =
      store_disclosure(store, arguments.state, samples.version, witness_file(arguments.data, arguments.witness));
  return assign_from(store, samples, wish, disclosure ? &*disclosure : nullptr);
}

Assigned assigned_by(const AssignArguments& arguments, VisitorFolder& visitor, const VisitorWish& wish) {
  const OwnerOnly made;  // the ledger is this client's own
#ifdef FEROMA_NET
  if (asks_a_server(arguments)) {
    require(arguments.insecure || arguments.connection.has_certificates(), ErrorCode::invalid_config,
            "a visit needs --ca, --cert and --key (feroma cert makes them) or, on loopback, --insecure");
    ClientPlan plan = arguments.connection;
    plan.state = arguments.state;
    plan.privacy = own_privacy(arguments.config);
    plan.witness = witness_file(arguments.data, arguments.witness);
    plan.data_name = data_name(arguments.data);
    visitor.look();
    return visit_server(
        plan, [&](const DataNames& model) { return visitor.samples(model); }, wish, arguments.wait_seconds,
        stop_on_interrupt());
  }
#endif
  return from_store(arguments, visitor, wish);
}

void print_assigned(const AssignArguments& arguments, const Assigned& assigned) {
  if (arguments.format == Format::json) {
    fmt::print("{}", read_text(std::filesystem::path(arguments.out) / "assigned.json"));
    return;
  }
  fmt::print("{} after round {}: {} chosen by {}\n", assigned.algorithm, assigned.round,
             assigned.candidates == 1 ? "one model," : fmt::format("from {} models,", assigned.candidates),
             kChosenBy[static_cast<std::size_t>(assigned.choice)]);
  for (std::size_t i = 0; i < assigned.offer.sources.size(); ++i) {
    for (const auto& [source, share] : assigned.offer.sources[i]) {
      if (assigned.offer.weights[i] * share >= 0.005) {
        fmt::print("  {:5.1f} % from client {}, round {}\n", 100 * assigned.offer.weights[i] * share,
                   to_index(source.client), source.round);
      }
    }
  }
  // Models in a folder are there already.
  if (asks_a_server(arguments)) {
    fmt::print("{} bytes down, {} up; ", assigned.bytes_down, assigned.bytes_up);
  }
  fmt::print("written to {}\n", arguments.out);
}

void warn_of_inputs(const Assigned& assigned, const VisitorData& data, const std::string& folder) {
  if (!assigned.standardise) {
    warn_of_large_inputs(data.dataset->train, folder);
  }
}

void assign(AssignArguments arguments) {
  if (arguments.state.empty()) {
    arguments.state = visitor_state(arguments.data).string();
  }
  VisitorWish wish{arguments.few_labels > 0, arguments.candidates};
  VisitorFolder visitor(arguments.data, arguments.few_labels);
  const Assigned assigned = assigned_by(arguments, visitor, wish);
  warn_of_inputs(assigned, visitor.data(), arguments.data);
  warn_if_open_to_others(arguments.state);
  write_assigned(arguments.out, assigned);
  print_assigned(arguments, assigned);
}

struct PredictArguments {
  std::string assigned;
  std::string data;
  std::string out = "predictions.csv";
  Format format = Format::text;
};

/// What was predicted for the samples that have labels: a model that adapts sees all of them, so it is asked once.
std::vector<float> rows_of(std::span<const float> probabilities, std::span<const std::uint32_t> rows,
                           std::size_t classes) {
  std::vector<float> some;
  some.reserve(rows.size() * classes);
  for (const std::uint32_t row : rows) {
    const auto of_row = probabilities.subspan(row * classes, classes);
    some.insert(some.end(), of_row.begin(), of_row.end());
  }
  return some;
}

void predict(const PredictArguments& arguments) {
  const Assigned assigned = read_assigned(arguments.assigned);
  const VisitorData data = read_visitor_data(arguments.data, assigned.names);
  require(data.all.shape == assigned.input, ErrorCode::invalid_data,
          "samples must be {}x{}x{} as those that the model was trained on, got {}x{}x{}", assigned.input.channels,
          assigned.input.height, assigned.input.width, data.all.shape.channels, data.all.shape.height,
          data.all.shape.width);
  warn_of_inputs(assigned, data, arguments.data);
  Experiment experiment;
  experiment.training.model = assigned.model;
  const std::unique_ptr<Engine> engine = visitor_engine(experiment, experiment.model(assigned.input, assigned.classes));
  Trainer trainer(*engine);
  const std::unique_ptr<Predictor> predictor = make_predictor(assigned.offer);
  const ScaledSamples samples({data.all}, assigned.scales);
  const std::vector<float> probabilities = predictor->predict(trainer, samples.all());
  write_file_atomically(arguments.out, predictions_csv(assigned, *data.dataset, probabilities));
  std::optional<double> accuracy;
  if (data.labelled.size() > 0) {
    require(data.dataset->classes <= assigned.classes, ErrorCode::invalid_data,
            "labels must be of the model's {} classes, got {}", assigned.classes, data.dataset->classes);
    const auto classes = static_cast<std::size_t>(assigned.classes);
    accuracy = score(rows_of(probabilities, data.dataset->labelled_rows, classes), data.labelled).accuracy();
  }
  if (arguments.format == Format::json) {
    const nlohmann::ordered_json json = {{"samples", data.all.size()},
                                         {"labelled", data.labelled.size()},
                                         {"accuracy", accuracy ? nlohmann::ordered_json(*accuracy) : nullptr},
                                         {"predictions", arguments.out}};
    fmt::print("{}\n", json.dump(2));
    return;
  }
  fmt::print("{} samples, predictions in {}\n", data.all.size(), arguments.out);
  if (accuracy) {
    fmt::print("{} {:.2f} on the {} that have labels\n", assigned.multi_label ? "AUROC" : "accuracy", *accuracy,
               data.labelled.size());
  }
}

#ifdef FEROMA_NET
void add_server_options(CLI::App& command, AssignArguments& arguments) {
  arguments.connection.server.clear();
  CLI::Option* server = command.add_option("--server", arguments.connection.server, "Ask this running server");
  CLI::Option* authority =
      command.add_option("--ca", arguments.connection.authority, "The federation's ca.pem")->needs(server);
  command.add_option("--cert", arguments.connection.certificate, "This client's certificate")->needs(authority);
  command.add_option("--key", arguments.connection.key, "The key to it")->needs(authority);
  command.add_flag("--insecure", arguments.insecure, "No certificates and no encryption: loopback only")
      ->needs(server)
      ->excludes(authority);
  command.add_option("--wait", arguments.wait_seconds, "Seconds to wait for a server that has no model yet")
      ->needs(server)
      ->capture_default_str();
  CLI::Option* own = command.add_option("--config", arguments.config.file,
                                        "This client's own [privacy]: a server that asks for less is refused");
  own->needs(server);
  command.add_option("--set", arguments.config.overrides, "Override a key of it (repeatable)")
      ->allow_extra_args(false)
      ->needs(own);
}
#endif

}  // namespace

void add_assign_command(CLI::App& app) {
  CLI::App* command = app.add_subcommand(
      "assign", "Give a client that takes no part in training its model, from its data without labels");
  auto arguments = std::make_shared<AssignArguments>();
  CLI::Option* store =
      command->add_option("STORE", arguments->store, "A finished run's folder or a server's; with --server, the data");
  command->add_option("DATA", arguments->data, "Folder of the client's data, with or without labels (docs/data.md)");
  command->add_option("--algorithm", arguments->algorithm, "Which one, where the run has several");
  command->add_option("--few-labels", arguments->few_labels, "Choose by the labels of so many samples per class")
      ->check(must_be_whole);
  command->add_option("--candidates", arguments->candidates, "Models to choose among, at most")
      ->check(CLI::Range(1, 64))
      ->capture_default_str();
  command->add_option("--out", arguments->out, "Folder for what was assigned")->capture_default_str();
  command->add_option("--state", arguments->state,
                      "Folder of this client's privacy ledger, where there is a budget (default: <DATA>-visitor)");
  command->add_option("--witness", arguments->witness,
                      "Folder of the file that counts what is told of the data (default: the one with DATA)");
  add_format_option(*command, arguments->format);
#ifdef FEROMA_NET
  add_server_options(*command, *arguments);
#endif
  command->footer(
      "Example:\n  feroma assign runs/demo ./visits --algorithm feroma-auto\n"
      "  feroma assign ./visits --server fed.example.org:7443 --ca ca.pem --cert new.pem --key new.key");
  command->callback([arguments, store] {
    AssignArguments given = *arguments;
#ifdef FEROMA_NET
    if (!given.connection.server.empty() && given.data.empty()) {
      std::swap(given.store, given.data);
    }
    require(given.connection.server.empty() || given.store.empty(), ErrorCode::invalid_config,
            "--server takes the place of STORE; got both");
    require(!given.connection.server.empty() || !given.store.empty(), ErrorCode::invalid_config,
            "feroma assign needs STORE and DATA, or DATA and --server");
#endif
    require(!given.data.empty(), ErrorCode::invalid_config, "feroma assign needs STORE and DATA{}",
            store->empty() ? "" : ": DATA is missing");
    assign(std::move(given));
  });
}

void add_predict_command(CLI::App& app) {
  CLI::App* command = app.add_subcommand("predict", "Predict with what `feroma assign` wrote");
  auto arguments = std::make_shared<PredictArguments>();
  command->add_option("ASSIGNED", arguments->assigned, "Folder that feroma assign wrote")->required();
  command->add_option("DATA", arguments->data, "Folder of samples, with or without labels (docs/data.md)")->required();
  command->add_option("--out", arguments->out, "File for the predictions")->capture_default_str();
  add_format_option(*command, arguments->format);
  command->footer("Example:\n  feroma predict assigned ./visits --out predictions.csv");
  command->callback([arguments] { predict(*arguments); });
}

}  // namespace feroma::cli
