// `edl store put` and `edl store delete`.
#include "edl/cli/store_answers.h"
#include "edl/cli/store_client.h"
#include "edl/cli/store_commands.h"
#include "edl/cli/store_keys.h"

namespace edl::cli {
namespace {

constexpr std::size_t kValueBytesMax = 1536 * 1024;  // what a store takes in one request

class StorePut final : public StoreCommand {
 public:
  StorePut(CLI::App& app, Console& console)
      : StoreCommand(app), console_(console), keys_(app, /*ranges=*/false) {
    app.add_option("VALUE", value_, "the value; - or nothing: all of standard input")
        ->type_name("");
    add_store_number(app, "--lease", lease_, "the key goes when this lease does");
    app.add_flag("--prev", prev_, "answer also with what was there before");
  }

 private:
  Result<void> answer(StoreConnection& store, Output& out) override {
    store::PutRequest request{.lease = lease_, .prev_kv = prev_};
    EDL_TRY(const KeySelection keys, keys_.read());
    request.key = keys.key;
    EDL_TRY(request.value, read_value());
    EDL_TRY(const store::PutResponse done, store.ask(&store::Client::put, request));
    if (json()) {
      out.add(object_line(put_object(done, prev_)));
    } else {
      out.add("OK\n");
      if (done.prev_kv) out.add(kv_text(*done.prev_kv));
    }
    return {};
  }

  Result<std::string> read_value() const {
    if (value_ && *value_ != "-") return typed_bytes(*value_, keys_.is_base64());
    return console_.read_input(kValueBytesMax);
  }

  Console& console_;
  KeyOptions keys_;
  std::optional<std::string> value_;
  store::LeaseId lease_ = 0;
  bool prev_ = false;
};

class StoreDelete final : public StoreCommand {
 public:
  explicit StoreDelete(CLI::App& app) : StoreCommand(app), keys_(app, /*ranges=*/true) {
    app.add_flag("--prev", prev_, "answer also with what was deleted");
  }

 private:
  Result<void> answer(StoreConnection& store, Output& out) override {
    store::DeleteRangeRequest request{.prev_kv = prev_};
    EDL_TRY(const KeySelection keys, keys_.read());
    keys.apply_to(request);
    EDL_TRY(const store::DeleteRangeResponse done, store.ask(&store::Client::remove, request));
    if (json()) {
      out.add(object_line(delete_object(done, prev_)));
      return {};
    }
    out.add(text(done.deleted, "\n"));
    for (const store::KeyValue& kv : done.prev_kvs) out.add(kv_text(kv));
    return {};
  }

  KeyOptions keys_;
  bool prev_ = false;
};

}  // namespace

void add_store_changes(CommandLine& line, CLI::App& store, Console& console) {
  line.add<StorePut>(store,
                     {"put", "Write one key.",
                      "edl store put /color blue\n"
                      "  edl store put /model < model.bin\n"
                      "  edl store put /alive yes --lease=7587862094512345 --prev --json\n"
                      "  edl store put /degrees -- -5"},
                     console);
  line.add<StoreDelete>(store, {"delete", "Delete a key, or a range of keys.",
                                "edl store delete /color\n"
                                "  edl store delete /jobs/17/ --prefix --prev"});
}

}  // namespace edl::cli
