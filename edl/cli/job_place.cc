#include "edl/cli/job_place.h"

#include "edl/agent/event_file.h"
#include "edl/agent/loose_fields.h"
#include "edl/cli/run_options.h"
#include "edl/cli/status_report.h"
#include "edl/cli/store_commands.h"

namespace edl::cli {
namespace {

constexpr const char* kJobs = "edl-jobs";
constexpr Duration kLookEvery = 250ms;

}  // namespace

void JobOptions::add_to(CLI::App& app, bool required) {
  CLI::Option* name = app.add_option("JOB", job, "the job's name, or its directory");
  name->type_name("")->required(required);
  app.add_option("--store", store, "where its store is, when it is none of the job's own")
      ->type_name("URL[,URL...]");
  app.add_option("--token-file", token_file, "what the store wants to be shown")->type_name("FILE");
  add_duration(app, "--timeout", timeout, "how long to try to reach the store; 5s when not given");
  app.add_flag("--json", json, "answer with one JSON object a line");
}

JobConnection::JobConnection(const JobOptions& options)
    : options_(options),
      machine_(os::this_machine()),
      sink_(silent_log_sink()),
      system_(os::posix_system({.log_sink = sink_.get(), .name = "job"})) {}

Result<JobPlace> JobConnection::find() {
  JobPlace place;
  std::string folder = options_.job;
  while (folder.size() > 1 && folder.ends_with('/')) folder.pop_back();
  const bool is_name = model::validate_name("job", folder).ok();
  const std::vector<std::string> candidates =
      is_name ? std::vector{text(kJobs, "/", folder), folder} : std::vector{folder};
  for (const std::string& dir : candidates) {
    const agent::JobPaths paths{absolute(machine_, dir)};
    if (!disk().exists(paths.job())) continue;
    place.paths = paths;
    EDL_TRY(place.launch, agent::read_job(disk(), paths));
    place.name = place.launch->spec.name;
    break;
  }
  if (place.name.empty() && is_name && !options_.store.empty()) place.name = folder;
  if (place.name.empty()) {
    return Error{Code::kNotFound,
                 text("there is no job \"", options_.job, "\": neither ", candidates.front(),
                      "/job.json exists here, nor is a store ", "given by --store")};
  }
  EDL_TRY(find_addresses(place));
  return place;
}

Result<JobPlace> JobConnection::at_store() {
  JobPlace place{.name = options_.job};
  EDL_TRY(find_addresses(place));
  return place;
}

// A job whose directory nobody holds does not run, unless its store is somebody else's.
Result<void> JobConnection::find_addresses(JobPlace& place) {
  std::string token_file = options_.token_file;
  if (place.has_directory() && disk().exists(place.paths.run())) {
    EDL_TRY(place.run, agent::read_run(disk(), place.paths));
    place.urls = place.run->store;
    if (token_file.empty()) token_file = place.run->token_file;
    const auto is_held = [&] { return !disk().lock(place.paths.lock()).ok(); };
    place.entering = place.run->entering && is_held();
    place.running = !place.entering && (!place.run->embedded || is_held());
  }
  if (!options_.store.empty()) {
    place.urls.clear();
    for (const std::string_view url : split(options_.store, ',')) place.urls.emplace_back(url);
    place.running = true;
  }
  if (!token_file.empty()) {
    EDL_TRY(place.token, read_token(disk(), token_file));
  }
  return {};
}

std::vector<std::string> JobConnection::names() {
  std::vector<std::string> names;
  const auto entries = disk().list(kJobs);
  if (!entries.ok()) return names;
  for (const std::string& name : *entries) {
    if (disk().exists(text(kJobs, "/", name, "/job.json"))) names.push_back(name);
  }
  return names;
}

Error JobConnection::not_running(const JobPlace& place) {
  if (place.entering) {
    return {Code::kUnavailable,
            text("job ", place.name, " is about to begin: ask again in a moment")};
  }
  return ended(place, end_in_directory(place));
}

Error JobConnection::ended(const JobPlace& place, const Json& result) {
  if (agent::word(result, "state") == "finished") {
    return {Code::kUnavailable, text("job ", place.name, " does not run: it has finished")};
  }
  return {Code::kUnavailable,
          text("job ", place.name, " does not run: edl resume ", place.name, " goes on with it")};
}

Result<void> JobConnection::open(const JobPlace& place) {
  if (!place.running) return not_running(place);
  store::ClientOptions client{.token = place.token, .limit = options_.timeout};
  for (const std::string& url : place.urls) {
    EDL_TRY(client.endpoints.emplace_back(), http::parse_url(url));
  }
  store_ = std::make_unique<store::EtcdStore>(*system_, std::move(client));
  return {};
}

Result<agent::JobPicture> JobConnection::look(const JobPlace& place) {
  if (!store_) {
    EDL_TRY(open(place));
  }
  std::optional<Result<std::vector<store::KeyValue>>> answer;
  const os::Pending call = store_->list(agent::job_prefix(place.name), [&](auto listed) {
    answer = std::move(listed);
    system_->finish(0);
  });
  system_->run();
  if (!answer->ok()) {
    return Error{answer->error().code, text("cannot reach the store of job ", place.name, " at ",
                                            list_text(place.urls), ": ", answer->error().message)};
  }
  agent::JobPicture picture{.prefix = agent::job_prefix(place.name)};
  for (const store::KeyValue& kv : **answer) picture.take({store::Fact::Kind::kPut, kv});
  if (!picture.spec.is_object()) {
    return Error{Code::kNotFound,
                 text("the store at ", list_text(place.urls), " has no job \"", place.name, "\"")};
  }
  return picture;
}

Result<bool> JobConnection::change(const store::Change& change) {
  EDL_CHECK(store_ != nullptr);
  std::optional<Result<store::Changed>> answer;
  const os::Pending call = store_->change(change, [&](auto changed) {
    answer = std::move(changed);
    system_->finish(0);
  });
  system_->run();
  if (!answer->ok()) return answer->error();
  return (*answer)->happened;
}

// The result of a job whose store has ended with it, as its events say; null while it runs.
Json JobConnection::end_in_directory(const JobPlace& place) {
  if (!place.run || !place.run->embedded || !disk().lock(place.paths.lock()).ok()) return {};
  JobStory story;
  const auto read = agent::read_events(disk(), place.paths.events(),
                                       [&](const Json& event) { story.take(event); });
  return read.ok() ? story.result() : Json();
}

Result<void> JobConnection::wait_until(const JobPlace& place,
                                       const std::function<bool(const agent::JobPicture&)>& seen,
                                       Duration limit) {
  agent::JobPicture picture{.prefix = agent::job_prefix(place.name)};
  Result<void> result = Error{Code::kTimeout, text("it did not happen within ", limit)};
  bool current = false;
  const os::Pending following = store_->follow(picture.prefix, [&](const auto& fact) {
    if (!fact.ok()) {
      result = fact.error();
      return system_->finish(0);
    }
    picture.take(*fact);
    current = current || fact->kind == store::Fact::Kind::kCurrent;
    if (!current || !seen(picture)) return;
    result = {};
    system_->finish(0);
  });
  // The store of a job may be gone before it could tell us the result.
  os::Pending timer;
  const std::function<void()> look_at_directory = [&] {
    if (const Json end = end_in_directory(place); end.is_object()) {
      picture.result = end;
      if (seen(picture)) result = {};
      return system_->finish(0);
    }
    timer = system_->after(kLookEvery, look_at_directory);
  };
  timer = system_->after(kLookEvery, look_at_directory);
  const os::Pending alarm = system_->after(limit, [&] { system_->finish(0); });
  system_->run();
  return result;
}

}  // namespace edl::cli
