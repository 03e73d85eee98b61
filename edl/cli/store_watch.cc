// `edl store watch`.
#include "edl/cli/store_answers.h"
#include "edl/cli/store_client.h"
#include "edl/cli/store_commands.h"
#include "edl/cli/store_keys.h"
#include "edl/store/watch_client.h"

namespace edl::cli {
namespace {

std::string event_text(const store::Event& event) {
  std::string out = event.type == store::EventType::kDelete ? text("DELETE\n", event.kv.key, "\n")
                                                            : text("PUT\n", kv_text(event.kv));
  if (event.prev_kv) out += text("WAS\n", event.prev_kv->value, "\n");
  return out;
}

Object event_object(const store::Event& event) {
  const bool is_delete = event.type == store::EventType::kDelete;
  Object object{{"type", is_delete ? "delete" : "put"}};
  if (is_delete) {
    add_bytes(object, "key", event.kv.key);
    object["mod_revision"] = event.kv.mod_revision;
  } else {
    object.update(kv_object(event.kv));
  }
  if (event.prev_kv) object["prev"] = kv_object(*event.prev_kv);
  return object;
}

class StoreWatch final : public StoreCommand {
 public:
  StoreWatch(CLI::App& app, Console& console)
      : StoreCommand(app), console_(console), keys_(app, /*ranges=*/true) {
    add_store_number(app, "--revision", request_.start_revision,
                     "begin with the changes of this revision; 0 for those from now on");
    app.add_flag("--prev", request_.prev_kv, "tell also what was there before");
    add_number(app, "--count", count_, "end after so many changes; 0 for never");
  }

 private:
  Result<void> answer(StoreConnection& store, Output& out) override {
    EDL_TRY(const KeySelection keys, keys_.read());
    keys.apply_to(request_);
    store.end_on_signals();
    store::WatchClient watches(
        store.client(), {.on_state = [&](const Result<void>& state) { tell(store, state); }});
    os::Pending watching;
    // A read comes first: it tells where now is, and at once what is wrong.
    const os::Pending reading = store.client().range(
        {.key = request_.key, .count_only = true}, [&](const Result<store::RangeResponse>& now) {
          if (!now.ok()) return store.end(now.error());
          if (request_.start_revision == 0) request_.start_revision = now->header->revision + 1;
          watching = watches.watch(request_, [&](const Result<store::WatchBatch>& batch) {
            on_batch(store, batch, out);
          });
        });
    return store.run();
  }

  void on_batch(StoreConnection& store, const Result<store::WatchBatch>& batch, Output& out) {
    if (!batch.ok()) return store.end(reason(batch.error()));
    for (const store::Event& event : batch->events) {
      if (count_ > 0 && told_ == count_) break;
      out.add(json() ? object_line(event_object(event)) : event_text(event));
      ++told_;
    }
    out.flush();
    if ((count_ > 0 && told_ == count_) || !out.open()) store.end({});
  }

  Error reason(const Error& error) const {
    if (error.code != Code::kNotFound) return error;
    return {error.code, text("the watch is over: ", error.message,
                             ". Read the keys with edl store get, and watch from a later "
                             "revision.")};
  }

  void tell(const StoreConnection& store, const Result<void>& state) {
    console_.talk.add(state.ok() ? "edl: the store is back.\n"
                                 : text("edl: the store is away, waiting for it: ",
                                        store.explain(state.error()).message, "\n"));
    console_.talk.flush();
  }

  Console& console_;
  KeyOptions keys_;
  store::WatchCreateRequest request_;
  std::uint64_t count_ = 0;
  std::uint64_t told_ = 0;
};

}  // namespace

void add_store_watch(CommandLine& line, CLI::App& store, Console& console) {
  line.add<StoreWatch>(store,
                       {"watch", "Tell the changes of a key or a range of keys, until Ctrl-C.",
                        "edl store watch /jobs/ --prefix\n"
                        "  edl store watch /color --revision=12 --count=1 --prev --json"},
                       console);
}

}  // namespace edl::cli
