// `edl store`: the key-value store that all durable state of EDL lives in.
#include "edl/cli/commands.h"
#include "edl/cli/store_commands.h"

namespace edl::cli {

void add_store(CommandLine& line) {
  CLI::App& store =
      line.add_group(line.root(), {"store", "Serve, read and change the store that jobs live in.",
                                   "edl store serve --listen=127.0.0.1:2379 --data=/var/lib/edl"});
  add_store_serve(line, store);
}

}  // namespace edl::cli
