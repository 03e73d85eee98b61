#include "edl/cli/agent_face.h"

namespace edl::cli {

ConsoleFace::ConsoleFace(os::System& system, Output& out, Output& talk, FaceOptions options)
    : system_(system),
      out_(out),
      talk_(talk),
      json_(options.json),
      progress_(
          {.columns = options.json ? std::nullopt : options.columns, .steps = options.steps}) {}

void ConsoleFace::event(const agent::OrderedJson& event) {
  if (!json_) return write(progress_.take(event, system_.now()));
  out_.add(agent::event_line(event));
  out_.flush();
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
