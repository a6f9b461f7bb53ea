// Writes the first inputs of the targets whose formats are binary; found ones are added by hand.
//   fuzz_corpus CORPUS
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "core/sealed_text.h"
#include "feroma/algorithms/registry.h"
#include "feroma/core/files.h"
#include "feroma/evaluation/visit.h"
#include "feroma/net/codec.h"
#include "feroma/store/checkpoint.h"
#include "feroma/store/index.h"
#include "feroma/store/journal.h"
#include "feroma/store/safetensors.h"
#include "feroma/v1/federation.pb.h"
#include "fuzz/played.h"
#include "fuzz/scratch.h"
#include "fuzz/tiny_model.h"
#include "net/client_state.h"
#include "net/flower_tensors.h"
#include "privacy/ledger_text.h"

namespace {

namespace fs = std::filesystem;
namespace v1 = feroma::v1;
namespace flower = feroma::net::flower;
using feroma::fuzz::scratch;
using feroma::fuzz::tiny_model;

fs::path corpus;

void write(const std::string& target, const std::string& name, std::span<const std::byte> bytes) {
  fs::create_directories(corpus / target);
  std::ofstream out(corpus / target / name, std::ios::binary);
  out.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
}
void write(const std::string& target, const std::string& name, std::string_view text) {
  write(target, name, std::as_bytes(std::span(text)));
}

std::string text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::string chunk(int kind, std::string_view bytes) {
  std::string chunk{static_cast<char>(kind), static_cast<char>(bytes.size() & 0xff),
                    static_cast<char>(bytes.size() >> 8)};
  chunk += bytes;
  return chunk;
}
template <class Frame>
std::string chunk(int kind, const Frame& frame) requires std::derived_from<Frame, google::protobuf::Message> {
  return chunk(kind, frame.SerializeAsString());
}

// ---- hellos ----

std::string counted(std::size_t width, std::string_view bytes) {
  std::string result;
  for (std::size_t i = width; i-- > 0;) {
    result.push_back(static_cast<char>(bytes.size() >> (8 * i) & 0xff));
  }
  return result.append(bytes);
}

std::string hello(std::string_view extensions) {
  std::string body = "\x03\x03" + std::string(32, 'r') + counted(1, std::string(32, 's')) +
                     counted(2, std::string_view("\x13\x01\x13\x02", 4)) + counted(1, std::string_view("\0", 1));
  if (!extensions.empty()) {
    body += counted(2, extensions);
  }
  return "\x01" + counted(3, body);
}

std::string records(std::string_view message, std::size_t most) {
  std::string all;
  while (!message.empty()) {
    all += "\x16\x03\x01" + counted(2, message.substr(0, most));
    message.remove_prefix(std::min(most, message.size()));
  }
  return all;
}

void hellos() {
  const std::string groups = std::string("\0\x0a", 2) + counted(2, counted(2, std::string_view("\0\x1d", 2)));
  const std::string versions = std::string("\0\x2b", 2) + counted(2, counted(1, "\x03\x04\x03\x03"));
  const std::string older = std::string("\0\x2b", 2) + counted(2, counted(1, "\x03\x03"));
  write("client_hello", "tls13", records(hello(groups + versions), 1000));
  write("client_hello", "pieces", records(hello(groups + versions), 7));
  write("client_hello", "tls12", records(hello(groups), 1000));
  write("client_hello", "offers_tls12", records(hello(older), 1000));
  write("client_hello", "twice", records(hello(versions + older), 1000));
  write("client_hello", "ssl3", records(hello(""), 1000));
  write("client_hello", "ssl2", std::string_view("\x80\x2e\x01\0\x02\0\x15\0\0\0\x10", 11));
  write("client_hello", "http2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
  write("client_hello", "alert", std::string_view("\x15\x03\x01\0\x02\x02\x46", 7));
}

// ---- messages and frames ----

feroma::Bytes message() {
  return encode_message(
      {{{"floats", feroma::Floats{0, 1.5F, -2}}, {"model", tiny_model()}, {"num_examples", feroma::Ints{7}}}},
      tiny_model()->layout());
}

void messages() {
  write("message", "all", message());
  write("message", "empty", encode_message({}, tiny_model()->layout()));
  write("message", "shared", encode_message({{{"a", tiny_model()}, {"b", tiny_model()}}}, tiny_model()->layout()));
  write("message", "null", encode_message({{{"none", feroma::ParametersPtr()}}}, tiny_model()->layout()));
}

v1::ClientFrame hello_of_client() {
  v1::ClientFrame hello;
  hello.mutable_hello()->set_protocol(1);
  hello.mutable_hello()->set_software("feroma");
  return hello;
}

std::string hello_of_visitor(bool few_labels) {
  v1::ClientFrame hello = hello_of_client();
  hello.mutable_hello()->mutable_visit()->set_candidates(3);
  hello.mutable_hello()->mutable_visit()->set_few_labels(few_labels);
  return chunk(1, hello);
}

void client_frames() {
  const v1::ClientFrame hello = hello_of_client();
  v1::ClientFrame beat;
  beat.mutable_beat()->set_echo(5);
  v1::ClientFrame goodbye;
  goodbye.mutable_goodbye()->set_text("enough");
  v1::ClientFrame failed;
  failed.mutable_answer()->set_round(1);
  failed.mutable_answer()->set_failed("no data");
  v1::ClientFrame large;
  large.mutable_answer()->set_size(std::uint64_t{1} << 62);
  v1::ClientFrame reported;
  reported.mutable_answer()->set_size(3);
  reported.mutable_answer()->mutable_telemetry()->set_num_examples(7);
  reported.mutable_answer()->mutable_telemetry()->mutable_before()->set_accuracy(50);
  v1::ClientFrame piece;
  piece.mutable_piece()->set_data("abc");
  const std::string begin = chunk(1, hello);
  const std::string answer = chunk(
      2,
      text_of(encode_message({{{"model", tiny_model()}, {"num_examples", feroma::Ints{7}}}}, tiny_model()->layout())));
  write("client_frame", "answer", begin + chunk(1, beat) + answer + answer + chunk(1, goodbye));
  write("client_frame", "failed", begin + chunk(1, failed) + chunk(1, beat));
  write("client_frame", "other_message", begin + chunk(2, text_of(message())) + answer);
  write("client_frame", "large", begin + chunk(1, large));
  write("client_frame", "pieces", begin + chunk(1, reported) + chunk(1, piece) + chunk(1, piece));
  write("client_frame", "replayed", begin + chunk(0, beat));
  write("client_frame", "visit", hello_of_visitor(false) + chunk(1, beat));
  write("client_frame", "no_hello", chunk(1, beat));
}

void server_frames() {
  v1::ServerFrame committed;
  committed.mutable_committed()->set_round(1);
  v1::ServerFrame verdict;
  verdict.mutable_verdict()->set_reason(v1::UNBELIEVABLE);
  verdict.mutable_verdict()->set_text("why");
  v1::ServerFrame goodbye;
  goodbye.mutable_goodbye()->set_reason(v1::FINISHED);
  v1::ServerFrame task;
  task.mutable_task()->set_round(2);
  task.mutable_task()->set_size(3);
  v1::ServerFrame piece;
  piece.mutable_piece()->set_data("abc");
  v1::Welcome welcome;
  welcome.set_committed(3);
  welcome.set_id(1);
  const std::string trained = chunk(3, "");
  write("server_frame", "round", trained + chunk(1, verdict) + chunk(1, committed) + chunk(1, goodbye));
  write("server_frame", "again", trained + trained + chunk(3, std::string("\0\0\xc0\x7f", 4)));
  write("server_frame", "no_message", chunk(2, "abc") + chunk(1, committed));
  write("server_frame", "other_digest", chunk(1, task) + chunk(1, piece) + chunk(1, committed));
  write("server_frame", "replayed", chunk(1, committed) + chunk(0, committed));
  write("server_frame", "welcome", chunk(4, welcome) + trained);
}

// ---- visits ----

void visits() {
  const feroma::fuzz::Played played = feroma::fuzz::play("feroma");
  feroma::fuzz::FewSamples samples;
  const feroma::ClientShard shard = samples.shard(1);
  feroma::StageSeconds seconds;
  feroma::TestContext context{feroma::ClientId{0}, shard.train,     &shard.held_out,
                              feroma::Rng(1),      *played.trainer, seconds};
  const auto encoded = [&](const feroma::Message& message) {
    return text_of(encode_message(message, played.initial->layout()));
  };
  const feroma::Message question = played.algorithm->visitor_question();
  const feroma::Message told = played.algorithm->visitor_profile(question, context);
  write("visit", "description", chunk(0, encoded(told)));
  const std::string description = chunk(2, encoded(told));
  write("client_frame", "visit_served", hello_of_visitor(false) + description);
  write("client_frame", "visit_few_labels", hello_of_visitor(true) + description);
  write("client_frame", "visit_twice", hello_of_visitor(false) + description + description);
  write("client_frame", "visit_no_message", hello_of_visitor(false) + chunk(2, "abc"));
  write("visit", "question", chunk(1, encoded(question)));
  for (const bool few_labels : {false, true}) {
    const feroma::Offer offer = offer_to_visitor(*played.algorithm, told, {few_labels, 2});
    write("visit", few_labels ? "offer_few_labels" : "offer", chunk(2, encoded(to_message(offer))));
  }
  feroma::Assigned assigned;
  assigned.algorithm = "feroma";
  assigned.round = 2;
  assigned.model = "mlp";
  assigned.input = feroma::fuzz::kFewShape;
  assigned.classes = feroma::fuzz::kFewClasses;
  assigned.offer.models = {played.initial};
  assigned.offer.weights = {1};
  const fs::path folder = scratch().folder();
  write_assigned(folder, assigned);
  write("assigned", "one", feroma::read_file(folder / "assigned.json"));
}

void method_states() {
  const auto& methods = feroma::known_algorithms();
  for (std::size_t i = 0; i < methods.size(); ++i) {
    const feroma::fuzz::Played played = feroma::fuzz::play(methods[i].name);
    feroma::ArchiveWriter archive;
    feroma::ModelWriter writer(archive);
    played.algorithm->save(writer);
    write("method_state", methods[i].name, std::string(1, static_cast<char>(i)) + text_of(archive.bytes()));
  }
}

// ---- Flower's messages ----

void flower_clients() {
  using feroma::net::put;
  const std::string as_asked = chunk(1, "");
  flower::ClientMessage named;
  put(*named.mutable_get_properties_res()->mutable_properties(), "cid", std::string("2"));
  flower::ClientMessage goodbye;
  goodbye.mutable_disconnect_res()->set_reason(flower::ACK);
  flower::ClientMessage failed;
  failed.mutable_fit_res()->mutable_status()->set_code(flower::FIT_NOT_IMPLEMENTED);
  failed.mutable_fit_res()->mutable_status()->set_message("no data");
  flower::ClientMessage profile;
  auto& metrics = *profile.mutable_fit_res()->mutable_metrics();
  put(metrics, "profile", std::string("[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 0.5, 0.5]"));
  flower::ClientMessage moments;
  auto& measured = *moments.mutable_fit_res()->mutable_metrics();
  for (const char* key : {"latent_space_mean", "latent_space_std", "class_shares"}) {
    put(measured, key, std::string("[0.5, 0.25]"));
  }
  for (const char* key : {"latent_space_mean_by_label", "latent_space_std_by_label"}) {
    put(measured, key, std::string("[[1, 2], [3, 4]]"));
  }
  const std::string tensor = feroma::net::to_flower(*tiny_model()).tensors(0);
  write("flower_client", "round", as_asked + as_asked + as_asked + as_asked + chunk(0, goodbye));
  write("flower_client", "tensor", as_asked + as_asked + chunk(2, tensor) + as_asked);
  write("flower_client", "no_tensor", as_asked + as_asked + chunk(2, "abc") + as_asked);
  write("flower_client", "failed", as_asked + as_asked + chunk(1, failed));
  write("flower_client", "named", chunk(0, named) + chunk(0, named));
  write("flower_client", "profile", chunk(3, profile));
  write("flower_client", "moments", chunk(3, moments));
}

void flower_servers() {
  using feroma::net::put;
  flower::ServerMessage properties;
  properties.mutable_get_properties_ins();
  flower::ServerMessage parameters;
  parameters.mutable_get_parameters_ins();
  flower::ServerMessage reconnect;
  reconnect.mutable_reconnect_ins()->set_seconds(5);
  flower::ServerMessage fit;
  auto& config = *fit.mutable_fit_ins()->mutable_config();
  put(config, "current_round", std::int64_t{2});
  put(config, "local_epochs", std::int64_t{1});
  put(config, "learning_rate", 0.5);
  put(config, "proximal_mu", 0.1);
  flower::ServerMessage profile;
  put(*profile.mutable_fit_ins()->mutable_config(), "extract_descriptors", true);
  write("flower_server", "round",
        chunk(0, properties) + chunk(0, parameters) + chunk(1, fit) + chunk(2, "") + chunk(0, reconnect));
  write("flower_server", "profile", chunk(1, profile));
  write("flower_server", "other_model", chunk(0, fit) + chunk(3, "abc"));
  write("flower_server", "nothing", chunk(0, ""));
}

// ---- files ----

void files() {
  const std::map<std::string, std::string> about{{"algorithm", "fedavg"}};
  write("safetensors", "model", safetensors_bytes(*tiny_model(), about));
  std::string lies = text_of(safetensors_bytes(*tiny_model(), {}));
  lies.replace(0, 8, std::string_view("\xff\xff\xff\xff\xff\xff\xff\x7f", 8));
  write("safetensors", "lying", lies);
  {
    const fs::path path = scratch().folder() / "journal";
    feroma::Journal journal(path);
    journal.append(std::as_bytes(std::span(std::string_view("first"))));
    journal.append({});
    journal.append(std::as_bytes(std::span(std::string_view("third"))));
    const feroma::Bytes whole = feroma::read_file(path);
    write("journal", "three", whole);
    write("journal", "cut", std::span(whole).first(whole.size() - 3));
    write("journal", "empty", std::span(whole).first(8));
  }
  {
    const fs::path path = scratch().folder() / "store.db";
    feroma::StoreIndex index(path, feroma::StoreIndex::Mode::create);
    feroma::StoreEntry entry;
    entry.algorithm = "feroma";
    entry.client = feroma::ClientId{1};
    entry.round = 2;
    entry.model_file = "models/a.safetensors";
    entry.profile = {1, 2, 3};
    index.insert(std::span(&entry, 1));
    write("store_index", "one", feroma::read_file(path));
  }
  write("store_index", "foreign", "SQLite format 2\n");
}

void states() {
  feroma::ArchiveWriter job;
  job.put<std::uint8_t>(1);
  job.put(std::string_view("job"));
  job.put(std::string_view("[scenario]\n"));
  feroma::ArchiveWriter started;
  started.put<std::uint8_t>(2);
  started.put<std::int32_t>(1);
  started.put(std::vector<std::uint32_t>{0, 3});
  feroma::ArchiveWriter state;
  feroma::ModelWriter models(state);
  models.put(feroma::Message{{{"model", tiny_model()}}});
  models.put(tiny_model());
  const std::string begin = chunk(0, text_of(job.bytes())) + chunk(0, text_of(started.bytes()));
  write("round_log", "started", begin);
  write("round_log", "finished", begin + chunk(1, text_of(state.bytes())));
  write("round_log", "later", begin + chunk(1, "") + chunk(3, text_of(state.bytes())));
  write("round_log", "back", begin + chunk(3, "") + chunk(1, ""));

  const fs::path folder = scratch().folder();
  feroma::net::ClientState client(folder, tiny_model()->shared_layout(), "job", feroma::ClientId{0});
  feroma::ClientMemory memory;
  memory.state = {{{"model", tiny_model()}, {"seen", feroma::Ints{3}}}};
  memory.window = 1;
  client.keep({1, 0, "task", message(), "", {}, memory});
  client.keep({1, 1, "other", {}, "failed", {}, memory});
  write("client_state", "steps", "\x01" + text_of(feroma::read_checkpoint(folder / "client.state")));
  write("client_state", "file", std::string(1, '\0') + text_of(feroma::read_file(folder / "client.state")));
  client.commit(1, {1, 2});
  write("client_state", "finished", "\x01" + text_of(feroma::read_checkpoint(folder / "client.state")));
}

void texts() {
  std::string check;
  const std::string digest(64, 'a');
  std::string ledger = feroma::write_line({1, {"profile", "job", 1, 2}, {0.5, std::nullopt}, digest, 0.5}, "", check);
  ledger += feroma::write_line({2, {"bounds", "job", 2, 2}, {0.25, 0.75}, digest, 0.75}, std::string(check), check);
  write("ledger", "two", ledger);
  write("ledger", "cut", std::string_view(ledger).substr(0, ledger.size() - 5));
  // The checksums of these are put right by the target.
  write("ledger", "line", "1 profile job 1 2 0.5 - " + digest + " 0.5");
  write("ledger", "lines",
        "1 profile job 1 2 0.5 0.1 " + digest + " 0.5\n2 profile job 1 3 1e-3 - " + digest + " 0.501\n");
  write("ledger", "not_a_number", "1 profile job 1 2 nan - " + digest + " nan");
  const std::string list =
      "# clients\n0 hospital-a " + digest + "\n7 hospital.b " + std::string(64, 'b') + " revoked # left\n";
  write("client_list", "two", list);
  write("client_list", "sealed", feroma::detail::sealed("# feroma-clients 2: ", 2, list));
  write("client_list", "twice", "0 a " + digest + "\n1 a " + std::string(64, '0') + "\n");
  write("client_list", "short", "0 a abc\n");
  write("client_list", "large_id", "4294967296 a " + digest + "\n");
  write("client_list", "no_end",
        std::string_view("0 a\0b "
                         "\r\n\t 1",
                         10));
  write("data_versions", "two", digest + "\n" + std::string(64, 'b') + "\n");
  write("data_versions", "sealed", feroma::detail::sealed("# feroma-data-versions 2: ", 1, digest + "\n"));
  write("data_versions", "last", digest + "\n" + std::string(64, 'f') + "\n");
  write("data_versions", "no_end", digest);
  write("data_versions", "short", digest + "\nabc\n");
  write("data_versions", "empty_line", digest + "\n\n" + digest + "\n");
  write("data_versions", "other_ends", digest + "\r\n");
}

void welcomes() {
  const std::string begin =
      "[scenario]\nseed = 1\nrounds = 3\nclients = 2\n[training]\nmodel = \"mlp\"\nlocal_epochs = 1\n";
  const std::string fedavg = "[[algorithm]]\nname = \"fedavg\"\n";
  const std::string profiled = "[[algorithm]]\nname = \"feroma\"\npreset = \"auto\"\nwarmup_rounds = 1\n";
  write("welcome", "fedavg", begin + fedavg);
  write("welcome", "feroma", begin + profiled + "profile.dimensions = 2\nprofile.encoder = \"encoder.safetensors\"\n");
  write("welcome", "private", begin + profiled + "[privacy]\nmode = \"gaussian\"\nepsilon_total = 2\n");
  write("welcome", "pure", begin + profiled + "[privacy]\nmode = \"pure\"\nbounds = \"histogram\"\n");
  write("welcome", "components", begin + "[[algorithm]]\nname = \"fedem\"\n");
  write("welcome", "large", begin + fedavg + "[privacy]\nmode = \"gaussian\"\nmax_records = 1000000000\n");
  write("welcome", "two_algorithms", begin + fedavg + profiled);
  write("welcome", "no_algorithm", begin);
  write("welcome", "file_model", "[training]\nmodel = \"/etc/model.pt\"\n" + fedavg);
  write("welcome", "not_for_clients", begin + fedavg + "[membership]\nmode = \"none\"\n[attack]\nkind = \"none\"\n");
  write("welcome", "unknown_key", begin + fedavg + "[training.more]\nx = 1\n");
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: fuzz_corpus CORPUS\n");
    return 2;
  }
  corpus = argv[1];
  hellos();
  messages();
  client_frames();
  server_frames();
  visits();
  method_states();
  flower_clients();
  flower_servers();
  files();
  states();
  texts();
  welcomes();
  return 0;
}
