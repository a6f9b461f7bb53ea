#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "feroma/core/ids.h"
#include "feroma/models/message.h"

namespace feroma {

/**
 * How long the numbers of a phase's answers are beside those that were sent: all models, and other numbers of which
 * clients were sent some under the same name. Only lengths are kept: a server has many models.
 */
class AnswerLengths {
 public:
  void add(ClientId client, const Message& sent, const Message& answer);

  /**
   * The clients of whom something is longer than `limit` times the median of all who sent it, and longer than what they
   * were sent, and why they are refused; `method` names the algorithm. What was sent under the same name is taken off
   * first: then it is the update that is long. Honest clients whose data have just changed go far beyond the median
   * late in a run, when the others' updates are short, but no training replaces a model many times over.
   */
  [[nodiscard]] std::map<ClientId, std::string> refusals(std::string_view method, double limit) const;

 private:
  struct Length {
    ClientId client;
    double length = 0;
    double sent = 0;  ///< the length of what it is measured against
  };
  using Lengths = std::map<std::string, std::vector<Length>>;  ///< by name

  static void refuse_absurd(std::string_view method, double limit, std::string_view what, const Lengths& all,
                            std::map<ClientId, std::string>& refused);

  Lengths changes_;  ///< of what was sent under the same name with the same size
  Lengths wholes_;   ///< of everything, as it is
};

}  // namespace feroma
