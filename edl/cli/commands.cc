#include "edl/cli/commands.h"

namespace edl::cli {

void add_commands(CommandLine& line, Console& console) {
  add_run(line, console);
  add_status(line);
  add_scale(line);
  add_resume(line, console);
  add_checkpoint(line);
  add_chaos(line);
  add_explain(line);
  add_replay(line, console);
  add_advise(line);
  add_verify(line);
  add_ledger(line);
  add_hash(line);
  add_data(line, console);
  add_sim(line, console);
  add_store(line, console);
  add_worker(line, console);
  add_guard(line, console);
  add_completion(line);
}

}  // namespace edl::cli
