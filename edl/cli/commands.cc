#include "edl/cli/commands.h"

namespace edl::cli {

void add_commands(CommandLine& line) {
  add_data(line);
  add_store(line);
  add_completion(line);
}

}  // namespace edl::cli
