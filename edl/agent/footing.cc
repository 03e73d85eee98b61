#include "edl/agent/footing.h"

#include <array>

#include "edl/agent/last_words.h"
#include "edl/agent/loose_fields.h"

namespace edl::agent {
namespace {

constexpr std::size_t kLogLines = 10000;  // in which the program's last words are looked for
constexpr Duration kStoreSilent = 3s;     // then it is said that we wait for it ...
constexpr Duration kStoreAway = 20s;      // ... and then we give up

std::string new_claim(os::System& system) {
  std::array<std::byte, 8> chance{};
  system.fill_random(chance);
  return hex(chance);
}

}  // namespace

Footing::Footing(os::System& system, const AgentOptions& options, AgentFace& face,
                 Callbacks callbacks)
    : system_(system),
      options_(options),
      face_(face),
      callbacks_(std::move(callbacks)),
      claim_(new_claim(system)),
      log_({.all_steps = options.all_events,
            .samples = options.launch.samples,
            .steps = options.launch.steps.value_or(0)}) {}

void Footing::begin() {
  if (!is_guest()) {
    (void)read_events(system_.disk(), options_.paths.events(),
                      [this](const Json& event) { log_.remember(event); });
    auto events = EventFile::open(system_.disk(), options_.paths.events());
    if (!events.ok()) return callbacks_.on_failed(events.error());
    events_ = std::move(events).value();
  }
  if (!options_.store.empty()) return open_store(options_.store);
  store_process_ = std::make_unique<StoreProcess>(
      system_, StoreProcessOptions{options_.edl, options_.paths},
      StoreProcess::Callbacks{[this](const std::string& url) { open_store({url}); },
                              [this](const Error& error) { callbacks_.on_failed(error); },
                              [this](const std::string& sentence) { face_.say(sentence); }});
}

void Footing::open_store(const std::vector<std::string>& urls) {
  urls_ = urls;
  store::ClientOptions client;
  client.token = token();
  for (const std::string& url : urls) {
    auto parsed = http::parse_url(url);
    if (!parsed.ok()) return callbacks_.on_failed(parsed.error());
    client.endpoints.push_back(std::move(parsed).value());
  }
  const auto written = write_run_file(/*entering=*/true);
  if (!written.ok()) return callbacks_.on_failed(written.error());
  store_ = std::make_unique<store::EtcdStore>(system_, std::move(client));
  job_store_ =
      std::make_unique<JobStore>(*store_, options_.launch.spec.name,
                                 [this](const Error& error) { callbacks_.on_failed(error); });
  wait_for_store();
  job_store_->look([this](const JobPicture& picture) {
    waiting_.cancel();
    enter(picture);
  });
}

Result<void> Footing::write_run_file(bool entering) const {
  if (is_guest()) return {};
  return write_run(
      system_.disk(), options_.paths,
      {.store = urls_,
       .pid = options_.pid,
       .host = options_.host,
       .embedded = store_process_ != nullptr,
       .token_file = store_process_ ? store_process_->token_file() : options_.token_file,
       .fingerprint = options_.launch.fingerprint,
       .reproducible = options_.launch.reproducible,
       .entering = entering});
}

// Nothing has begun yet, so nothing is lost when the store is not there.
void Footing::wait_for_store() {
  const std::string where = list_text(urls_);
  waiting_ = system_.after(kStoreSilent, [this, where] {
    face_.say(text("Waiting for the store at ", where, "."));
    waiting_ = system_.after(kStoreAway - kStoreSilent, [this, where] {
      callbacks_.on_failed({Code::kUnavailable, text("the store at ", where, " did not answer for ",
                                                     kStoreAway / 1s, " s: is it running there?")});
    });
  });
}

void Footing::tell(const Json& event) {
  const auto told = log_.take(event, system_.wall_time());
  if (!told) return;
  if (events_) {
    const auto written = events_->add(event_line(*told));
    if (!written.ok()) {
      face_.say(text("Events are not kept any more: ", written.error().message, "."));
      events_.reset();
    }
  }
  face_.event(*told);
  if (event.value("event", "") == "view" && event.contains("pause_ms") && job_store_) {
    job_store_->put("effect", Json::parse(told->dump()));
  }
}

void Footing::tell_started(const Json& more) {
  const Launch& launch = options_.launch;
  Json event{{"event", "started"},        {"job", launch.spec.name},
             {"dir", options_.paths.dir}, {"workers", launch.wanted},
             {"min", launch.range.min},   {"max", launch.range.max},
             {"wanted", launch.wanted},   {"resumed", options_.mode == AgentMode::kResume}};
  event.update(more);
  tell(event);
}

// A traceback as the program alone would have shown it; other words are marked as those of the log.
void Footing::say_last_words(const std::string& log) {
  const LastWords words = last_words(last_lines(system_.disk(), log, kLogLines));
  std::string said;
  for (const std::string& line : words.lines) {
    said += text(said.empty() ? "" : "\n", words.is_traceback ? "" : "  | ", line);
  }
  if (!said.empty()) face_.say(said);
}

Result<void> Footing::tell_end(const Json& result) {
  const std::string state = word(result, "state");
  if (state == "failed") {
    Json event{{"event", "failed"}, {"reason", word(result, "reason")}};
    for (const char* name : {"worker", "log"}) {
      if (result.contains(name)) event[name] = result[name];
    }
    tell(event);
    say_last_words(word(result, "log"));
    return Error{Code::kUnavailable,
                 text("job ", options_.launch.spec.name, " failed: ", word(result, "reason"))};
  }
  Json event{{"event", "finished"}, {"state", state}};
  if (result.contains("step")) event["steps"] = result["step"];
  for (const char* name :
       {"samples", "epochs", "state_hash", "seconds", "metrics", "position", "reason"}) {
    if (result.contains(name)) event[name] = result[name];
  }
  if (!options_.launch.reproducible) event["reproducible"] = false;
  tell(event);
  return {};
}

// A store that workers still need ends by itself when the last of them is gone.
void Footing::finish(int code, bool store_is_needed) {
  if (!store_process_ || store_is_needed) return system_.finish(code);
  store_process_->close([this, code] { system_.finish(code); });
}

}  // namespace edl::agent
