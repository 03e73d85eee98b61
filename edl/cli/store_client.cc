#include "edl/cli/store_client.h"

#include <algorithm>
#include <limits>

#include "edl/cli/store_commands.h"

namespace edl::cli {
namespace {

constexpr std::int64_t kNumberMax = std::numeric_limits<std::int64_t>::max();

std::string endpoints_problem(const std::string& urls) {
  const auto parsed = store::parse_endpoints(urls);
  return parsed.ok() ? "" : parsed.error().message;
}

std::string list_of(const std::vector<http::Url>& endpoints) {
  std::vector<std::string> urls;
  for (const http::Url& url : endpoints) urls.push_back(http::url_text(url));
  return list_text(urls);
}

// What a refusal says, and what who typed a command can do then.
struct Hint {
  std::string_view said;
  std::string_view way_out;
};
constexpr std::string_view kGiveToken = ". Give the store's token with --token-file.";
constexpr Hint kHints[] = {
    {"auth token", kGiveToken},
    {"user name is empty", kGiveToken},
    {"HTTP status 401", kGiveToken},
    {"nobody whom we trust", " with --tls-ca."},
    {"is not a store", ". Look at --endpoint."},
    {"lease not found", ": it is over, or there never was one. See edl store lease list."},
    {"has been compacted", ". Ask for a later revision."},
    {"is a future revision", ". Ask for an earlier one."},
    {"key is not provided", ". With --prefix an empty key means all keys."},
};

}  // namespace

Result<std::unique_ptr<StoreConnection>> StoreConnection::make(const StoreSettings& settings) {
  std::unique_ptr<StoreConnection> made(new StoreConnection);
  made->sink_ = silent_log_sink();
  made->system_ = os::posix_system({.log_sink = made->sink_.get(), .name = "store"});
  made->timeout_ = settings.timeout;
  EDL_TRY(made->endpoints_, store::parse_endpoints(settings.endpoints));
  EDL_TRY(made->use_tls(settings.tls));
  store::ClientOptions options{
      .endpoints = made->endpoints_, .tls = made->tls_.get(), .limit = settings.timeout};
  if (!settings.token_file.empty()) {
    EDL_TRY(options.token, read_token(made->system_->disk(), settings.token_file));
  }
  made->client_ = std::make_unique<store::Client>(*made->system_, std::move(options));
  return made;
}

Result<void> StoreConnection::use_tls(const http::TlsFiles& files) {
  const bool needed = std::any_of(endpoints_.begin(), endpoints_.end(),
                                  [](const http::Url& url) { return url.tls; });
  const bool given = !files.authorities.empty() || !files.certificate.empty() || !files.key.empty();
  if (given && !needed) {
    return Error{Code::kInvalid, text("files for TLS are given, but ", list_of(endpoints_),
                                      " would not use them: write https:// in --endpoint.")};
  }
  if (needed) {
    EDL_TRY(tls_, http::TlsContext::for_client(system_->disk(), files));
  }
  return {};
}

Result<void> StoreConnection::run() {
  system_->run();
  if (result_.ok()) return {};
  return explain(result_.error());
}

void StoreConnection::end(Result<void> result) {
  result_ = std::move(result);
  system_->finish(0);
}

void StoreConnection::end_on_signals() {
  for (const os::Signal signal : {os::Signal::kTerminate, os::Signal::kInterrupt}) {
    system_->on_signal(signal, [this] { end({}); });
  }
}

Error StoreConnection::explain(const Error& error) const {
  if (error.code == Code::kUnavailable) {
    return {error.code,
            text("cannot reach the store at ", list_of(endpoints_), " within ", timeout_, ": ",
                 error.message, ". Start it, or name another with --endpoint.")};
  }
  if (error.code == Code::kTimeout) {
    return {error.code, text(error.message,
                             ". If it was asked for a change, that may have happened all the "
                             "same: look before you ask again.")};
  }
  for (const Hint& hint : kHints) {
    if (error.message.find(hint.said) == std::string::npos) continue;
    return {error.code, text(error.message, hint.way_out)};
  }
  return error;
}

StoreCommand::StoreCommand(CLI::App& app) {
  app.add_option("--endpoint", settings_.endpoints,
                 "where the store is, several with commas between; http://127.0.0.1:2379 when "
                 "not given")
      ->type_name("URL")
      ->check(CLI::Validator(endpoints_problem, ""));
  app.add_option("--token-file", settings_.token_file, "what the store wants to be shown")
      ->type_name("FILE");
  app.add_option("--tls-ca", settings_.tls.authorities,
                 "whom to trust, PEM; the system's list when not given")
      ->type_name("FILE");
  app.add_option("--tls-cert", settings_.tls.certificate,
                 "certificate to show to a store that asks for one, PEM")
      ->type_name("FILE");
  app.add_option("--tls-key", settings_.tls.key, "its key, PEM")->type_name("FILE");
  add_duration(app, "--timeout", settings_.timeout, "how long to try; 5s when not given");
  app.add_flag("--json", json_, "answer with one JSON object a line");
}

Result<void> StoreCommand::run(Output& out) {
  EDL_TRY(const auto connection, StoreConnection::make(settings_));
  return answer(*connection, out);
}

CLI::Option* add_store_number(CLI::App& app, const std::string& name, std::int64_t& into,
                              const std::string& about) {
  const auto problem = [](const std::string& digits) -> std::string {
    const auto number = parse_number(digits);
    if (number && *number <= static_cast<std::uint64_t>(kNumberMax)) return "";
    return text("\"", digits, "\" is not a whole number from 0 to ", kNumberMax);
  };
  const auto keep = [&into](const CLI::results_t& values) {
    into = static_cast<std::int64_t>(parse_number(values.at(0)).value_or(0));
    return true;
  };
  return app.add_option(name, keep, about)->type_name("N")->check(CLI::Validator(problem, ""));
}

}  // namespace edl::cli
