#include "edl/model/worker.h"

#include <array>

#include "edl/model/fields.h"
#include "edl/model/words.h"

namespace edl::model {
namespace {

constexpr std::array<std::string_view, 7> kStates{"starting", "joining", "member", "leaving",
                                                  "spare",    "exited",  "lost"};
constexpr std::array<std::string_view, 5> kExitClasses{"left", "crashed", "killed", "preempted",
                                                       "oom"};

Json exit_json(const Exit& exit) {
  return {{"code", exit.code}, {"signal", exit.signal}, {"class", name(exit.exit_class)}};
}

Result<Exit> exit_from(const Json& json) {
  JsonReader in(json, "exit");
  Exit exit;
  in.read("code", exit.code);
  in.read("signal", exit.signal);
  read_word(in, "class", exit.exit_class, parse_exit_class);
  EDL_TRY(in.finish());
  return exit;
}

}  // namespace

std::string_view name(WorkerState state) { return word_of(state, kStates); }

Result<WorkerState> parse_worker_state(std::string_view word) {
  return parse_word<WorkerState>("worker state", word, kStates);
}

std::string_view name(ExitClass exit_class) { return word_of(exit_class, kExitClasses); }

Result<ExitClass> parse_exit_class(std::string_view word) {
  return parse_word<ExitClass>("exit class", word, kExitClasses);
}

void to_json(Json& json, const Worker& worker) {
  json = Json{{"id", worker.id},
              {"pid", worker.pid},
              {"host", worker.host},
              {"state", name(worker.state)},
              {"reason", worker.reason}};
  if (worker.rank) json["rank"] = *worker.rank;
  if (worker.exit) json["exit"] = exit_json(*worker.exit);
}

Result<Worker> worker_from(const Json& json) {
  JsonReader in(json, "worker");
  Worker worker;
  read_text(in, "id", worker.id);
  in.read("pid", worker.pid);
  read_text(in, "host", worker.host);
  in.read_optional("rank", worker.rank);
  read_word(in, "state", worker.state, parse_worker_state);
  read_text_optional(in, "reason", worker.reason);
  if (in.has("exit")) in.read_with("exit", worker.exit.emplace(), exit_from);
  EDL_TRY(in.finish());
  EDL_TRY(validate_name("worker", worker.id));
  return worker;
}

}  // namespace edl::model
