#include "tests/dashboard/sample_folder.h"

#include <chrono>
#include <fstream>
#include <thread>

#include "feroma/core/files.h"
#include "feroma/report/run_writer.h"

namespace feroma::test {
namespace {

RoundRecord sample_round(int round, int clients) {
  RoundRecord record;
  record.algorithm = "feroma-auto";
  record.round = round;
  record.loss = 2.0 / round;
  record.accuracy_before = 10.0 * round;
  record.accuracy_after = 10.0 * round + 5;
  record.validation_accuracy = record.accuracy_after - 1;
  record.seconds = 0.5;
  record.bytes_up = 100 * clients;
  record.bytes_down = 200 * clients;
  record.epsilon = 0.5 * round;
  for (int c = 0; c < clients; ++c) {
    ClientRecord client{static_cast<std::uint32_t>(c), c % 3, 100 + c, 0.5, 40, 50.0 + c, "clustered"};
    client.bytes_up = 100;
    client.bytes_down = 200;
    client.moved = c == 1 && round == 3 ? 4.5 : 0.0;
    client.epsilon = 0.1 * round + 0.01 * c;
    record.clients.push_back(client);
  }
  if (round == 2) {
    record.dropped.push_back({1, "a loss that is not finite"});
  }
  return record;
}

}  // namespace

void write_sample(const std::filesystem::path& folder, int rounds, int clients, const std::string& privacy) {
  RunWriter writer(folder, RunWriter::Mode::create);
  write_file_atomically(folder / "manifest.json", std::string_view("{}"));
  writer.run_started({{"scenario.rounds", {std::int64_t{10}, ""}},
                      {"scenario.clients", {std::int64_t{clients}, ""}},
                      {"algorithm.0.name", {std::string("feroma"), ""}},
                      {"privacy.mode", {privacy, ""}},
                      {"privacy.epsilon_total", {2.0, ""}}});
  for (int round = 1; round <= rounds; ++round) {
    writer.round_finished(sample_round(round, clients));
    if (round < 2) {
      continue;
    }
    MixingRecord mixing{"feroma-auto", round, {}, {}, {}};
    ProfileRecord profiles{"feroma-auto", round, static_cast<std::size_t>(clients), {}, {}};
    for (int c = 0; c < clients; ++c) {
      mixing.receivers.push_back(static_cast<std::uint32_t>(c));
      mixing.sources.push_back(static_cast<std::uint32_t>(c));
      profiles.receivers.push_back(static_cast<std::uint32_t>(c));
      for (int s = 0; s < clients; ++s) {
        mixing.weights.push_back(c == s ? 0.75 : 0.25 / (clients - 1));
      }
      profiles.values.insert(profiles.values.end(), {3.0 * (c % 3), 1.0 * round, 0.5});
    }
    writer.mixing(mixing);
    writer.profiles(profiles);
  }
  static_cast<void>(writer.flush_and_sizes());
}

bool wait_until(const dashboard::RunWatch& watch, const std::function<bool(const dashboard::Sight&)>& there) {
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (!watch.see(there)) {
    if (std::chrono::steady_clock::now() > until) {
      return false;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return true;
}

void append(const std::filesystem::path& file, const std::string& text) {
  std::ofstream(file, std::ios::app | std::ios::binary) << text;
}

}  // namespace feroma::test
