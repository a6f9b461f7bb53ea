#pragma once

#include <string>

#include "feroma/core/clock.h"
#include "feroma/core/options.h"

namespace feroma {

/// The `[server]` table: when rounds begin and end, and how long anybody is waited for.
struct ServerOptions {
  std::string input;
  int classes = 0;
  bool multi_label = false;
  std::string columns;
  int min_clients = 2;
  int min_answers = 2;
  double quorum = 0.8;
  double grace_seconds = 5;
  double round_seconds = 600;
  double rejoin_seconds = 60;
  double linger_seconds = 30;
  double heartbeat_seconds = 10;
  double dead_seconds = 60;
  double transfer_seconds = 10;
  double bytes_per_second = 65536;
  double update_limit = 10;
  int candidates = 3;
  int strangers_per_address = 2;
  int strangers = 64;
  double stranger_seconds = 10;
  int connections = 0;
  const Clock* clock = &Clock::machine();  ///< every time above is by it; no key of a config, but tests have others

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("input", self.input, anything(),
          "clients' samples, channels x height x width; empty: as the scenario's dataset");
    visit("classes", self.classes, at_least(0), "labels that samples may have; 0: as the scenario's dataset");
    visit("multi_label", self.multi_label, anything(),
          "samples may have several labels, or none, as those of some datasets do anyway");
    visit("columns", self.columns, anything(),
          "names of a table's columns, with commas, in the order in which models take them; clients and visitors bring "
          "theirs into it; empty: each as it has them");
    visit("min_clients", self.min_clients, at_least(1), "clients that must be there before a round begins");
    visit("min_answers", self.min_answers, at_least(1),
          "with fewer answers, or those of all who were asked, the round begins again");
    visit("quorum", self.quorum, between(0.01, 1), "share of a round's clients whose answers are enough");
    visit("grace_seconds", self.grace_seconds, at_least(0), "how long the others are waited for once there are enough");
    visit("round_seconds", self.round_seconds, above(0), "the longest that an exchange takes");
    visit("rejoin_seconds", self.rejoin_seconds, at_least(0),
          "after a restart, or when a round begins again: how long those who were asked in it are waited for");
    visit("linger_seconds", self.linger_seconds, at_least(0),
          "after the last round: how long clients that are away are waited for, to tell them");
    visit("heartbeat_seconds", self.heartbeat_seconds, above(0), "how often a client must be heard");
    visit("dead_seconds", self.dead_seconds, above(0), "silence after which a client is given up");
    visit("transfer_seconds", self.transfer_seconds, above(0), "for any transfer, besides its size");
    visit("bytes_per_second", self.bytes_per_second, above(0), "the slowest transfer that is waited for");
    visit("update_limit", self.update_limit, at_least(0),
          "an update so many times as long as the round's median, and longer than the model sent, is refused; 0: none");
    visit("candidates", self.candidates, between(0, 64),
          "models that a client which takes no part in training may choose among; 0: none but its mixture leave");
    visit("strangers_per_address", self.strangers_per_address, at_least(1),
          "connections from one address that have not shown yet who they are");
    visit("strangers", self.strangers, at_least(1), "connections from everywhere that have not shown yet who they are");
    visit("stranger_seconds", self.stranger_seconds, above(0), "how long a connection may be one");
    visit("connections", self.connections, at_least(0), "connections of all kinds; 0: twice the clients and 100");
  }
};

}  // namespace feroma
