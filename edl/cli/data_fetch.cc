// `edl data fetch`: brings files to this machine; and `edl data cache`: what it keeps of them.
#include "edl/base/text.h"
#include "edl/cli/commands.h"
#include "edl/data/cache.h"
#include "edl/os/posix/system.h"

namespace edl::cli {
namespace {

std::string size_problem(const std::string& word) {
  const auto size = data::parse_size(word);
  return size.ok() ? "" : size.error().message;
}

// What both have in common.
class CacheCommand : public Command {
 public:
  CacheCommand(CLI::App& app, Console& console) : console_(console) {
    add_cache_options(app, words_);
    app.add_flag("--json", json_, "answer with JSON, one object a line");
  }

 protected:
  Result<data::CacheOptions> options() const {
    data::CacheEnvironment said = console_.cache;
    if (!words_.folder.empty()) said.cache = words_.folder;
    if (!words_.bytes_max.empty()) said.cache_max = words_.bytes_max;
    if (!words_.s3_access.empty()) said.s3_access = words_.s3_access;
    return data::cache_options(said);
  }
  bool json() const { return json_; }

 private:
  Console& console_;
  CacheWords words_;
  bool json_ = false;
};

class DataFetch final : public CacheCommand {
 public:
  DataFetch(CLI::App& app, Console& console) : CacheCommand(app, console) {
    app.add_option("--sha256", sha256_, "what the file must have")->type_name("SUM");
    app.add_option("FILES", what_, "a list of files that ends with .json, or one address or path")
        ->required()
        ->type_name("");
  }

  Result<void> run(Output& out) override {
    EDL_TRY(const data::CacheOptions cache, options());
    const auto sink = stderr_log_sink(json() ? Level::kWarn : Level::kInfo);
    EDL_TRY(const data::Fetched fetched,
            data::Cache({.cache = cache}, [&] {
              return os::posix_system({.log_sink = sink.get(), .name = "data"});
            }).fetch(what_, sha256_));
    for (const data::FetchedFile& file : fetched.files) {
      out.add(json() ? json_line({{"name", file.name},
                                  {"path", file.path},
                                  {"bytes", file.bytes},
                                  {"sha256", file.sha256},
                                  {"fetched", !file.was_here}}) +
                           "\n"
                     : file.path + "\n");
    }
    return {};
  }

 private:
  std::string what_;
  std::string sha256_;
};

class DataCache final : public CacheCommand {
 public:
  DataCache(CLI::App& app, Console& console) : CacheCommand(app, console) {
    app.add_flag("--clear", clear_, "remove all that no process uses");
  }

  Result<void> run(Output& out) override {
    EDL_TRY(const data::CacheOptions cache, options());
    const auto sink = stderr_log_sink(Level::kWarn);
    const auto system = os::posix_system({.log_sink = sink.get()});
    data::CacheFolder folder(*system, cache);
    if (clear_) {
      EDL_TRY(const std::uint64_t bytes, folder.clear());
      out.add(json() ? json_line({{"cache", cache.folder}, {"removed_bytes", bytes}}) + "\n"
                     : text(bytes, " bytes removed from ", cache.folder, "\n"));
      return {};
    }
    EDL_TRY(const auto files, folder.list());
    for (const data::CachedFile& file : files) tell(file, out);
    return {};
  }

 private:
  void tell(const data::CachedFile& file, Output& out) const {
    out.add(json() ? json_line({{"sha256", file.sha256},
                                {"bytes", file.bytes},
                                {"used", seconds(file.used.time_since_epoch())},
                                {"in_use", file.in_use}}) +
                         "\n"
                   : text(file.sha256, " ", file.bytes, file.in_use ? " in use" : "", "\n"));
  }

  bool clear_ = false;
};

}  // namespace

void add_cache_options(CLI::App& app, CacheWords& words) {
  app.add_option("--cache", words.folder,
                 "where fetched files are kept; $XDG_CACHE_HOME/edl or ~/.cache/edl when not given")
      ->type_name("DIR");
  app.add_option("--cache-max", words.bytes_max, "how much is kept there; 20GiB when not given")
      ->type_name("SIZE")
      ->check(CLI::Validator(size_problem, ""));
  app.add_option("--s3-access", words.s3_access, "server and keys for s3:// addresses")
      ->type_name("FILE");
}

void add_data_fetch(CommandLine& line, CLI::App& data, Console& console) {
  line.add<DataFetch>(data,
                      {"fetch", "Bring files to this machine, and print where they are.",
                       "edl data fetch digits.json\n"
                       "  edl data fetch http://10.0.0.1:8000/digits.npy --sha256=9f86d0..."},
                      console);
  line.add<DataCache>(
      data,
      {"cache", "List what was fetched, least recently used first.", "edl data cache --clear"},
      console);
}

}  // namespace edl::cli
