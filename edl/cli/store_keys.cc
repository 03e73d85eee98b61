#include "edl/cli/store_keys.h"

#include "edl/base/base64.h"
#include "edl/store/etcd_store.h"

namespace edl::cli {

// The smallest key there is: the store refuses an empty one.
std::string KeySelection::first() const {
  return key.empty() && !is_one() ? std::string(1, '\0') : key;
}

std::string KeySelection::end() const {
  if (prefix) return store::prefix_end(key);
  if (from_key) return std::string(1, '\0');
  return range_end.value_or("");
}

KeyOptions::KeyOptions(CLI::App& app, bool ranges) {
  app.add_option("KEY", given_.key, "the key")->required()->type_name("");
  app.add_flag("--base64", base64_, "what is typed as keys and values is base64");
  if (!ranges) return;
  CLI::Option* prefix = app.add_flag("--prefix", given_.prefix, "all keys that begin with KEY");
  CLI::Option* from_key = app.add_flag("--from-key", given_.from_key, "all keys from KEY on");
  CLI::Option* range_end =
      app.add_option("--range-end", given_.range_end, "all keys from KEY on that are below this")
          ->type_name("KEY");
  from_key->excludes(prefix);
  range_end->excludes(prefix)->excludes(from_key);
}

Result<KeySelection> KeyOptions::read() const {
  KeySelection selection = given_;
  EDL_TRY(selection.key, typed_bytes(given_.key, base64_));
  if (given_.range_end) {
    EDL_TRY(selection.range_end, typed_bytes(*given_.range_end, base64_));
    if (selection.range_end->empty()) {
      return Error{Code::kInvalid,
                   "--range-end is empty: for all keys from KEY on, write "
                   "--from-key."};
    }
  }
  return selection;
}

Result<std::string> typed_bytes(const std::string& word, bool is_base64) {
  if (!is_base64) return word;
  auto bytes = parse_base64(word);
  if (bytes.ok()) return bytes;
  return Error{Code::kInvalid, text("\"", word, "\" is not base64: ", bytes.error().message)};
}

}  // namespace edl::cli
