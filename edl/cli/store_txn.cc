// `edl store txn`.
#include "edl/cli/store_answers.h"
#include "edl/cli/store_client.h"
#include "edl/cli/store_commands.h"
#include "edl/cli/txn_form.h"

namespace edl::cli {
namespace {

constexpr std::size_t kFormBytesMax = 8 << 20;

class StoreTxn final : public StoreCommand {
 public:
  StoreTxn(CLI::App& app, Console& console) : StoreCommand(app), console_(console) {
    app.add_option("FILE", file_, "the transaction as JSON; - or nothing: standard input")
        ->type_name("");
  }

 private:
  Result<void> answer(StoreConnection& store, Output& out) override {
    EDL_TRY(const std::string form, read_form(store.system().disk()));
    EDL_TRY(const store::TxnRequest request, parse_txn(form));
    EDL_TRY(const store::TxnResponse done, store.ask(&store::Client::txn, request));
    out.add(json() ? object_line(txn_object(done)) : txn_text(done));
    return {};
  }

  Result<std::string> read_form(os::Disk& disk) const {
    if (file_.empty() || file_ == "-") return console_.read_input(kFormBytesMax);
    EDL_TRY(const Bytes bytes, os::read_file(disk, file_, kFormBytesMax));
    return std::string(text_of(bytes));
  }

  Console& console_;
  std::string file_;
};

constexpr const char* kExample =
    "edl store txn take.json --json, where take.json is\n"
    "  {\"compare\": [{\"key\": \"/lock\", \"target\": \"version\", \"value\": 0}],\n"
    "   \"success\": [{\"put\": {\"key\": \"/lock\", \"value\": \"mine\"}}],\n"
    "   \"failure\": [{\"get\": {\"key\": \"/lock\"}}]}\n"
    "  A compare has key, target (version create mod value lease), result (equal greater less\n"
    "  not_equal; equal when not given) and value. An operation is put, get, delete or txn.";

}  // namespace

void add_store_txn(CommandLine& line, CLI::App& store, Console& console) {
  line.add<StoreTxn>(store, {"txn", "Compare, then do one of two lists, all at once.", kExample},
                     console);
}

}  // namespace edl::cli
