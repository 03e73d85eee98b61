// `edl store`: the key-value store that all durable state of EDL lives in.
#include "edl/cli/commands.h"
#include "edl/cli/store_commands.h"

namespace edl::cli {

void add_store(CommandLine& line, Console& console) {
  CLI::App& store =
      line.add_group(line.root(), {"store", "Serve, read and change the store that jobs live in.",
                                   "edl store serve --listen=127.0.0.1:2379 --data=/var/lib/edl\n"
                                   "  edl store get /edl/v1/jobs/ --prefix"});
  add_store_serve(line, store, console);
  add_store_changes(line, store, console);
  add_store_get(line, store);
  add_store_watch(line, store, console);
  add_store_lease(line, store, console);
  add_store_txn(line, store, console);
  add_store_status(line, store);
}

}  // namespace edl::cli
