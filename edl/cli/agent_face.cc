#include "edl/cli/agent_face.h"

#include "edl/agent/loose_fields.h"

namespace edl::cli {

ConsoleFace::ConsoleFace(os::System& system, Output& out, Output& talk, FaceOptions options)
    : system_(system),
      out_(out),
      talk_(talk),
      json_(options.json),
      on_started_(std::move(options.on_started)),
      progress_(
          {.columns = options.json ? std::nullopt : options.columns, .steps = options.steps}) {}

void ConsoleFace::event(const agent::OrderedJson& event) {
  if (json_) {
    out_.add(agent::event_line(event));
    out_.flush();
  } else {
    write(progress_.take(event, system_.now()));
  }
  if (agent::word(event, "event") == "started") on_started_();
}

void ConsoleFace::say(const std::string& sentence) { write(progress_.say(sentence)); }

void ConsoleFace::close() {
  if (!json_) write(progress_.close());
}

void ConsoleFace::write(const std::string& words) {
  if (words.empty()) return;
  talk_.add(words);
  talk_.flush();
}

}  // namespace edl::cli
