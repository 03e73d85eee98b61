// What the clients of a store did and saw, written down by an observer who sees the whole world:
// the only thing that the checker believes.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "edl/base/time.h"
#include "edl/store/core.h"
#include "edl/store/stream_message.h"

namespace edl::tests {

enum class Outcome {
  kUnknown,  // no answer, or one that says so: it may have happened, or may still
  kNever,    // it certainly has not happened
  kDone,     // with this answer
};

struct Operation {
  std::string client{};
  store::UnaryRequest request{};
  Time start{};
  Time end{};  // when the answer came
  Outcome outcome = Outcome::kUnknown;
  store::UnaryResponse response{};  // of kDone
};

// One watch, from its beginning to its end or the death of its client.
struct WatchLog {
  std::string client{};
  std::string prefix{};
  store::Revision start = 0;
  std::vector<store::Event> events{};
  store::Revision told = 0;  // everything up to here
  bool over = false;         // by compaction, or its client is dead
};

struct SeenEvent {
  store::Event event{};
  Time seen{};
};

// Who won which ballot, as the winners saw it.
struct Win {
  std::uint64_t ballot = 0;
  std::string claim{};
};

struct Journal {
  std::vector<Operation> operations{};
  std::vector<WatchLog> watches{};
  std::vector<SeenEvent> history{};  // all that the auditor was told, in order
  store::Revision history_told = 0;  // it is whole up to here
  std::vector<Time> server_starts{};
  std::vector<Win> wins{};
  std::map<std::string, std::map<std::string, std::string>> mirrors{};  // of live followers
};

}  // namespace edl::tests
