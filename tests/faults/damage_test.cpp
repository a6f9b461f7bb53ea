// Files of a server and its clients that are flipped, cut, filled up, exchanged or taken away: a check changes nothing,
// no finished model is lost, and what is not as it was is named.
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "feroma/net/certificates.h"
#include "feroma/net/server_check.h"
#include "feroma/runtime/store_models.h"
#include "feroma/store/index.h"
#include "tests/faults/release_listener.h"
#include "tests/faults/tiny_federation.h"
#include "tests/net/log_lines.h"

namespace feroma::faults {
namespace {

namespace fs = std::filesystem;

constexpr std::uint32_t kSites = 3;
constexpr int kAllRounds = 3;
constexpr Round kHalfway = 2;
constexpr std::size_t kReleases = 1;  // of each client under a budget

/// Every file below a folder with its content, every folder with none.
std::map<std::string, Bytes> tree_of(const fs::path& folder) {
  std::map<std::string, Bytes> files;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    files[entry.path().lexically_relative(folder).string()] =
        entry.is_regular_file() ? read_file(entry.path()) : Bytes{};
  }
  return files;
}

std::set<std::string> digests_of(const std::map<std::string, Bytes>& files) {
  std::set<std::string> digests;
  for (const auto& [name, bytes] : files) {
    digests.insert(sha256(bytes));
  }
  return digests;
}

/// The models that a finished server's folder has for others, one after the other.
std::vector<Bytes> served_from(const fs::path& state) {
  std::vector<Bytes> models;
  for (const ServedModel& served : open_store(state, "").algorithm->served()) {
    ArchiveWriter values;
    values.put(served.model->values());
    models.push_back(values.take());
  }
  return models;
}

/// A table without one of its columns.
std::string without_column(const std::string& table, const std::string& column) {
  std::istringstream lines(table);
  std::string rest;
  std::ptrdiff_t at = -1;
  for (std::string line; std::getline(lines, line);) {
    std::istringstream fields(line);
    std::vector<std::string> row;
    for (std::string field; std::getline(fields, field, ',');) {
      row.push_back(field);
    }
    if (at < 0) {
      at = std::find(row.begin(), row.end(), column) - row.begin();
    }
    if (at < std::ssize(row)) {
      row.erase(row.begin() + at);
    }
    rest += fmt::format("{}\n", fmt::join(row, ","));
  }
  return rest;
}

/// Events of rounds without their times; how often a server was started is no matter.
std::string events_of_rounds(const std::string& text) {
  std::istringstream lines(text);
  std::string rest;
  for (std::string line; std::getline(lines, line);) {
    nlohmann::ordered_json event = nlohmann::ordered_json::parse(line, nullptr, false);
    if (!event.is_object() || !event.contains("round") || event["event"] == "run_resumed") {
      rest += event.is_discarded() ? line : "";
      continue;
    }
    event.erase("seconds");
    event.erase("time");
    rest += event.dump() + "\n";
  }
  return rest;
}

/// What people read of a finished federation, and what its clients told; the same however often it was stopped.
std::map<std::string, std::string> figures_of(const fs::path& state) {
  std::map<std::string, std::string> figures{
      {"metrics", without_column(read_text(state / "metrics.csv"), "seconds")},
      {"clients", read_text(state / "clients.csv")},
      {"events", events_of_rounds(read_text(state / "events.jsonl"))},
      {"index",
       StoreIndex(state / "results/store.db", StoreIndex::Mode::read_only).digest(open_store(state, "").label)},
  };
  for (const char* arrays : {"mixing", "profiles"}) {
    for (const auto& entry : fs::directory_iterator(state / arrays)) {
      figures[entry.path().lexically_relative(state).string()] = sha256(read_file(entry.path()));
    }
  }
  for (const std::uint32_t client : {0U, 1U, 2U}) {
    const fs::path released = state.string() + fmt::format("-client-{}/ledger/released", client);
    for (const auto& [name, bytes] : fs::exists(released) ? tree_of(released) : std::map<std::string, Bytes>{}) {
      figures[fmt::format("released by {}: {}", client, name)] = sha256(bytes);
    }
  }
  return figures;
}

/// A federation that nothing has happened to, at two moments.
struct Sound {
  std::string algorithm;
  std::map<std::string, Bytes> results;  ///< at its end
  std::vector<Bytes> served;
  std::map<std::string, std::string> figures;
  std::map<std::uint32_t, std::set<std::string>> told;  ///< what each client has released until halfway
};

class Damage : public TinyFederation {
 protected:
  static constexpr const char* kServer = "server";

  void SetUp() override {
    make_authority(folder / "certs");
    issue_server(folder / "certs", {"127.0.0.1"});
    for (const char* name : {"a", "b", "c"}) {
      static_cast<void>(issue_client(folder / "certs", name));
    }
    for (std::uint32_t id = 0; id < kSites; ++id) {
      write_rows(id);
    }
    sound_["feroma"].algorithm = "name = 'feroma'\nwarmup_rounds = 1\nprofile.dimensions = 6\n";
    sound_["ditto"].algorithm = "name = 'ditto'\n";
    sound_["private"].algorithm = fmt::format("{}[privacy]\nmode = 'gaussian'\nepsilon_total = 2\nmax_releases = {}\n",
                                              sound_["feroma"].algorithm, kReleases);
    for (auto& [name, sound] : sound_) {
      const FederationPlan todo = damage_plan(name);
      FederationPlan half = todo;
      half.round_finished = [&](const RoundRecord& record, int) {
        if (record.round == kHalfway) {
          stop.request();
        }
      };
      told_.clear();
      EXPECT_THROW(play(half, first(kSites), listening(half)), Error) << "it is told to stop";
      sound.told = told_;
      stop.renew();
      keep(name + "-halfway");
      play(todo, first(kSites));
      keep(name + "-finished");
      sound.figures = figures_of(todo.state);
      sound.results = models_of(todo);
      sound.served = served_from(todo.state);
      fs::remove_all(todo.state.parent_path());
    }
  }

  FederationPlan damage_plan(const std::string& name) {
    FederationPlan todo = plan(kSites, kAllRounds, sound_.at(name).algorithm, "work/" + std::string(kServer));
    fs::create_directories(folder / "work");
    todo.input = folder_client_data(folder / "rows-0", folder / "unused")->shape();
    todo.experiment.scenario.clients = kSites;
    return todo;
  }

  /// Connections on which what is released is written down.
  Connect listening(const FederationPlan& todo) {
    const auto layout = initialise(todo.experiment.model(todo.input, todo.classes), Rng(1)).shared_layout();
    return [this, layout](Hub& hub, std::uint32_t id, int) {
      const std::lock_guard lock(telling_);
      return std::make_unique<Pipe>(hub, net::Peer{"pipe", std::nullopt, ""}, ReleaseListener(layout, told_[id]));
    };
  }

  void write_rows(std::uint32_t id) {
    fs::create_directories(folder / fmt::format("rows-{}", id));
    Rng rng = Rng(77).derive("rows", id);
    std::string table = "a,b,c,d,e,f,g,h,i,kind\n";
    for (int row = 0; row < rows; ++row) {
      for (int i = 0; i < 9; ++i) {
        table += fmt::format("{},", (i % 3 == (row + static_cast<int>(id % 2)) % 3 ? 2.0 : 0.0) + rng.normal());
      }
      table += fmt::format("{}\n", row % 3);
    }
    write_file_atomically(folder / fmt::format("rows-{}/rows.csv", id), table);
    write_file_atomically(folder / fmt::format("rows-{}/dataset.toml", id),
                          std::string_view("[dataset]\nkind = 'csv'\nfile = 'rows.csv'\nclasses = 3\n"
                                           "label_column = 'kind'\n"));
  }

  void keep(const std::string& name) { fs::copy(folder / "work", folder / name, fs::copy_options::recursive); }
  void bring(const std::string& name) {
    fs::remove_all(folder / "work");
    fs::copy(folder / name, folder / "work", fs::copy_options::recursive);
  }

  /// What befell one file, in words.
  std::string damage(Rng& rng, const fs::path& file) {
    Bytes bytes = read_file(file);
    const auto somewhere = [&] { return static_cast<std::size_t>(rng.below(bytes.size())); };
    const auto kind = rng.below(8);
    if (kind < 4 && !bytes.empty()) {
      const std::size_t at = somewhere();
      bytes[at] ^= std::byte{1} << rng.below(8);
      write_file_atomically(file, bytes);
      return fmt::format("a bit of byte {} of {} flipped", at, bytes.size());
    }
    if (kind < 6 && !bytes.empty()) {
      const std::size_t before = bytes.size();
      bytes.resize(somewhere());
      write_file_atomically(file, bytes);
      return fmt::format("cut from {} to {} bytes", before, bytes.size());
    }
    if (kind == 6) {
      for (std::size_t more = 1 + rng.below(60); more > 0; --more) {
        bytes.push_back(static_cast<std::byte>(rng.below(256)));
      }
      write_file_atomically(file, bytes);
      return "filled up";
    }
    fs::remove(file);
    return "taken away";
  }

  /// Goes on with what is there until its end, and returns all that anybody said.
  std::string go_on(const FederationPlan& todo) {
    std::string said;
    std::mutex mutex;
    const auto say = [&](const std::string& text) {
      const std::lock_guard lock(mutex);
      said += text + "\n";
    };
    net::test::Lines lines;
    try {
      Coordinator coordinator(todo, stop);
      std::vector<std::jthread> clients;
      for (const std::uint32_t id : first(kSites)) {
        clients.emplace_back([&, id] {
          try {
            live(coordinator.hub(), id, todo.state, listening(todo));
          } catch (const Error& error) {
            say(error.what());
            stop.request();  // the others would wait for it
          }
        });
      }
      try {
        coordinator.run();
      } catch (const Error&) {
        stop.request();  // whatever it is, nobody need wait
        throw;
      }
    } catch (const Error& error) {
      say(error.what());
    }
    stop.renew();
    for (const std::string& line : lines.with("")) {
      say(line);
    }
    return said;
  }

  [[nodiscard]] std::unique_ptr<ClientData> data_of(std::uint32_t client) override {
    return folder_client_data(folder / fmt::format("rows-{}", client),
                              folder / fmt::format("work/{}-client-{}", kServer, client));
  }
  [[nodiscard]] fs::path witness_of(std::uint32_t client) override {
    return folder / fmt::format("work/rows-{}-releases", client);
  }

  /// Whether a federation is finished with the models of one that nothing happened to.
  [[nodiscard]] static bool has_models_of(const Sound& sound, const FederationPlan& todo) {
    return fs::exists(todo.state / "results") && models_of(todo) == sound.results &&
           served_from(todo.state) == sound.served;
  }
  /// Whether all rounds were finished, which takes the models of those before from it.
  [[nodiscard]] static bool is_at_its_end(const fs::path& state) {
    try {
      return RoundLog(state).committed() == kAllRounds;
    } catch (const Error&) {
      return false;  // it is refused
    }
  }
  [[nodiscard]] static bool has_figures_of(const Sound& sound, const FederationPlan& todo) {
    try {
      return figures_of(todo.state) == sound.figures;
    } catch (const Error&) {
      return false;  // a file is not there
    }
  }

  /// Damages one file of a federation, drawn with everything else from this number.
  void damage_a_federation(std::uint64_t number) {
    Rng rng = Rng(35).derive("damage", number);
    auto sound = sound_.begin();
    std::advance(sound, static_cast<std::ptrdiff_t>(rng.below(sound_.size())));
    const bool is_finished = rng.below(4) == 0;
    bring(sound->first + (is_finished ? "-finished" : "-halfway"));
    const FederationPlan todo = damage_plan(sound->first);
    std::map<std::string, Bytes> before = tree_of(folder / "work");
    std::erase_if(before, [&](const auto& entry) { return fs::is_directory(folder / "work" / entry.first); });
    auto victim = before.begin();
    std::advance(victim, static_cast<std::ptrdiff_t>(rng.below(before.size())));
    const fs::path file = folder / "work" / victim->first;
    const std::string what = damage(rng, file);
    SCOPED_TRACE(fmt::format("{}: {}, {}: {}", number, sound->first, victim->first, what));
    const std::map<std::string, Bytes> damaged = tree_of(folder / "work");

    const std::string checked = check_table(check_server(todo, {"127.0.0.1:0", {}}));
    EXPECT_TRUE(tree_of(folder / "work") == damaged) << "a check writes nothing";
    if (is_finished) {
      try {
        EXPECT_TRUE(served_from(todo.state) == sound->second.served) << "a damaged model is refused";
      } catch (const Error& error) {
        const std::string wanted = file.extension() == ".state" ? ".state" : file.filename().string();
        EXPECT_NE(std::string(error.what()).find(wanted), std::string::npos) << error.what();
      }
    }
    told_ = sound->second.told;
    const std::string said = go_on(todo);

    const bool has_models = has_models_of(sound->second, todo);
    const bool is_same = has_models && has_figures_of(sound->second, todo);
    EXPECT_TRUE(is_same || said.find(file.string()) != std::string::npos) << said;
    const bool is_the_servers = victim->first.starts_with(std::string(kServer) + "/");
    EXPECT_TRUE(is_same || !is_the_servers || checked.find(file.string()) != std::string::npos) << checked;
    for (const auto& [client, told] : told_) {
      EXPECT_LE(told.size(), kReleases) << "client " << client << " told more than its budget\n" << said;
    }
    refused_ += is_same ? 0 : 1;
    if (!has_models && (is_finished || !is_at_its_end(todo.state))) {
      const std::set<std::string> kept = digests_of(tree_of(folder / "work"));
      for (const auto& [name, bytes] : damaged) {
        const bool is_model = name.starts_with(std::string(kServer) + "/models/");
        EXPECT_TRUE(!is_model || kept.contains(sha256(bytes))) << name << " was lost\n" << said;
      }
    }
  }

  /// The same for a folder of certificates: a server that starts has the same clients and keys as before.
  void damage_certificates(std::uint64_t number) {
    Rng rng = Rng(35).derive("certificates", number);
    fs::remove_all(folder / "work");
    fs::create_directories(folder / "work");
    fs::copy(folder / "certs", folder / "work/certs", fs::copy_options::recursive);
    FederationPlan todo = damage_plan("ditto");
    const fs::path certs = folder / "work/certs";
    const std::vector<fs::path> files{client_list_file(certs), client_list_file(certs), server_files(certs).certificate,
                                      server_files(certs).key, authority_files(certs).certificate};
    const fs::path file = files[rng.below(files.size())];
    const std::string what = damage(rng, file);
    SCOPED_TRACE(fmt::format("{}: {}: {}", number, file.filename().string(), what));
    const std::map<std::string, Bytes> damaged = tree_of(folder / "work");
    const ListenOptions listen{"127.0.0.1:0", certs};
    std::string said = check_table(check_server(todo, listen));
    EXPECT_TRUE(tree_of(folder / "work") == damaged) << "a check writes nothing";
    const bool is_named = said.find(file.filename().string()) != std::string::npos;
    net::test::Lines lines;
    try {
      const FederationServer server(todo, listen, stop);
      if (!is_named) {
        EXPECT_EQ(fingerprints(certs), fingerprints(folder / "certs")) << said;
      }
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find(file.filename().string()), std::string::npos) << error.what();
    }
  }

  static std::vector<std::string> fingerprints(const fs::path& certs) {
    std::vector<std::string> found{describe_certificate(authority_files(certs).certificate).fingerprint,
                                   describe_certificate(server_files(certs).certificate).fingerprint};
    for (const ClientEntry& entry : read_client_list(client_list_file(certs)).entries()) {
      found.push_back(fmt::format("{} {} {} {}", to_index(entry.id), entry.name, entry.fingerprint, entry.revoked));
    }
    return found;
  }

  void damage_files(std::uint64_t from, std::uint64_t to) {
    for (std::uint64_t number = from; number < to && !HasFailure(); ++number) {
      number % 10 == 9 ? damage_certificates(number) : damage_a_federation(number);
    }
    EXPECT_GT(refused_, (to - from) / 10) << "hardly anything was noticed: is everything still read?";
  }

  std::map<std::string, Sound> sound_;
  std::mutex telling_;
  std::map<std::uint32_t, std::set<std::string>> told_;  ///< what each client has released
  std::uint64_t refused_ = 0;
};

TEST_F(Damage, IsNamedAndDestroysNothing) { damage_files(0, 55); }

using DamageSlow = Damage;
TEST_F(DamageSlow, IsNamedAndDestroysNothing) { damage_files(100, 1100); }

/// Files of two federations or clients that changed places.
TEST_F(Damage, ExchangedFilesAreNamed) {
  const auto exchange = [this](const std::string& one, const std::string& other) {
    bring("ditto-halfway");
    const fs::path first_file = folder / "work" / one;
    const fs::path second_file = folder / other;
    const Bytes bytes = read_file(second_file);
    write_file_atomically(first_file, bytes);
    const std::string said = go_on(damage_plan("ditto"));
    EXPECT_NE(said.find(first_file.filename().string()), std::string::npos) << one << ": " << said;
  };
  exchange("server/journal", "feroma-halfway/server/journal");
  exchange("server/finished", "feroma-halfway/server/finished");
  exchange("server-client-0/client.state", "ditto-halfway/server-client-1/client.state");
}

TEST_F(Damage, WhereNothingHappenedNothingIsSaidAndAllIsAsItWas) {
  for (const auto& [name, sound] : sound_) {
    bring(name + "-halfway");
    told_ = sound.told;
    const std::string said = go_on(damage_plan(name));
    EXPECT_TRUE(has_models_of(sound, damage_plan(name)) && has_figures_of(sound, damage_plan(name))) << name << said;
    EXPECT_EQ(said.find("damaged"), std::string::npos) << said;
    EXPECT_EQ(told_.begin()->second.size(), name == "private" ? kReleases : 0U);
  }
}

TEST_F(Damage, LeftoversChangeNothing) {
  bring("ditto-halfway");
  const FederationPlan todo = damage_plan("ditto");
  fs::create_directories(todo.state / "results.unfinished" / "models");
  for (const char* name : {"models/.abc.12-0.unfinished", ".finished.12-1.unfinished",
                           "journal.damaged-20260101T000000Z", "results.unfinished/models/x.safetensors"}) {
    write_file_atomically(todo.state / name, std::string_view("left"));
  }
  write_file_atomically(todo.state / "models" / std::string(64, 'e'), std::string_view("of an unfinished round"));
  const std::string said = go_on(todo);
  EXPECT_TRUE(models_of(todo) == sound_.at("ditto").results) << said;
  EXPECT_FALSE(fs::exists(todo.state / "results.unfinished"));
}

/// Figures that an operator gives up begin anew, and the models are the same.
TEST_F(Damage, FiguresThatAreSetAsideBeginAnew) {
  for (const char* name : {"metrics.csv", "clients.csv", "events.jsonl"}) {
    bring("feroma-halfway");
    const FederationPlan todo = damage_plan("feroma");
    Bytes bytes = read_file(todo.state / name);
    bytes[bytes.size() / 2] ^= std::byte{1};
    write_file_atomically(todo.state / name, bytes);
    EXPECT_NE(go_on(todo).find(fmt::format("{}: is not as round {} left it", name, kHalfway)), std::string::npos);
    EXPECT_EQ(RoundLog::set_damage_aside(todo.state).size(), 1U);
    EXPECT_TRUE(digests_of(tree_of(todo.state)).contains(sha256(bytes))) << "it is beside the other";
    const std::string said = go_on(todo);
    EXPECT_TRUE(has_models_of(sound_.at("feroma"), todo)) << said;
    const std::string anew = read_text(todo.state / name);
    const std::string before = read_text(folder / "feroma-halfway/server" / name);
    EXPECT_EQ(anew.substr(0, 20), before.substr(0, 20)) << "it begins as it did";
    EXPECT_EQ(anew.find("feroma-auto,2,"), std::string::npos) << "rounds before are in the other";
    EXPECT_TRUE(anew.find("feroma-auto,3,") != std::string::npos || anew.find("\"round\":3") != std::string::npos);
    EXPECT_EQ(go_on(todo).find("damaged"), std::string::npos);
  }
}

TEST_F(Damage, ResultsAreMovedAsideAndWrittenAnew) {
  bring("feroma-finished");
  const FederationPlan todo = damage_plan("feroma");
  fs::remove_all(todo.state / "results");
  static_cast<void>(go_on(todo));
  EXPECT_TRUE(models_of(todo) == sound_.at("feroma").results) << "results that are gone are made again";
  const fs::path model = todo.state / "results/models/feroma-auto-client-0.safetensors";
  Bytes bytes = read_file(model);
  bytes[bytes.size() - 2] ^= std::byte{1};
  write_file_atomically(model, bytes);
  const std::string said = go_on(todo);
  EXPECT_TRUE(models_of(todo) == sound_.at("feroma").results);
  EXPECT_NE(said.find("feroma-auto-client-0.safetensors: is damaged"), std::string::npos) << said;
  EXPECT_TRUE(digests_of(tree_of(todo.state)).contains(sha256(bytes))) << "it is beside them";
}

}  // namespace
}  // namespace feroma::faults
