#include "edl/cli/commands.h"

namespace edl::cli {

void add_commands(CommandLine& line, Console& console) {
  add_data(line);
  add_store(line, console);
  add_completion(line);
}

}  // namespace edl::cli
