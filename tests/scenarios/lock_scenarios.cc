// Plays transcripts of the lock's cores.
#include <gtest/gtest.h>

#include <memory>

#include "edl/base/text.h"
#include "examples/lock/core.h"
#include "examples/lock/holder.h"
#include "tests/scenarios/transcript.h"

namespace edl::lock {
namespace {

Time time_of(const tests::Command& command) {
  const auto found = command.options.find("at");
  return found == command.options.end() ? Time{} : Time(parse_duration(found->second).value());
}

std::uint64_t number_of(const tests::Command& command, const std::string& name) {
  const auto found = command.options.find(name);
  return found == command.options.end() ? 0 : std::stoull(found->second);
}

Token token_of(const tests::Command& command) {
  const auto found = command.options.find("token");
  if (found == command.options.end()) return {};
  const auto parts = split(found->second, '.');
  return {std::stoull(std::string(parts[0])), std::stoull(std::string(parts[1]))};
}

std::string say(const std::vector<Decision>& decisions, const LockCore& core) {
  std::string out;
  for (const Decision& decision : decisions) {
    out += text(decision.client, ": ", answer_name(decision.answer), " number=", decision.number,
                " token=", token_text(decision.token), ": ", decision.reason, "\n");
  }
  if (const auto wake = core.wake_at()) out += text("wakes at ", wake->time_since_epoch(), "\n");
  return out;
}

tests::Play server_player() {
  const auto core = std::make_shared<std::unique_ptr<LockCore>>();
  return [core](const tests::Command& command) -> std::string {
    const Time now = time_of(command);
    if (command.name == "start") {
      const Duration lease = parse_duration(command.options.at("lease")).value();
      *core = std::make_unique<LockCore>(number_of(command, "epoch"), lease, now);
      return say({}, **core);
    }
    LockCore& lock = **core;
    if (command.name == "time") return say(lock.on_time(now), lock);
    const std::string& client = command.words.at(0);
    if (command.name == "gone") return say(lock.on_gone(client, now), lock);
    const std::map<std::string, Ask> asks{
        {"acquire", Ask::kAcquire}, {"renew", Ask::kRenew}, {"release", Ask::kRelease}};
    const auto ask = asks.find(command.name);
    if (ask == asks.end()) return text("no such command: ", command.name);
    const Request request{ask->second, number_of(command, "number"), token_of(command)};
    return say(lock.on_request(client, request, now), lock);
  };
}

std::string say(const std::optional<Request>& request) {
  if (!request) return "sends nothing\n";
  const char* names[] = {"", "acquire", "renew", "release"};
  return text("sends ", names[static_cast<int>(request->ask)], " number=", request->number,
              " token=", token_text(request->token), "\n");
}

tests::Play holder_player() {
  const auto core = std::make_shared<HolderCore>(2s);
  return [core](const tests::Command& command) -> std::string {
    const Time now = time_of(command);
    std::string out;
    if (command.name == "want") {
      out = say(core->want(now));
    } else if (command.name == "release") {
      out = say(core->release(now));
    } else if (command.name == "disconnected") {
      core->on_disconnected();
    } else {
      const std::map<std::string, Answer> answers{{"granted", Answer::kGranted},
                                                  {"wait", Answer::kWait},
                                                  {"turn", Answer::kTurn},
                                                  {"released", Answer::kReleased}};
      const auto answer = answers.find(command.name);
      if (answer == answers.end()) return text("no such command: ", command.name);
      core->on_answer({"", answer->second, number_of(command, "number"), token_of(command), ""},
                      now);
    }
    out += core->holds(now) ? text("holds ", token_text(core->token()), "\n") : "holds nothing\n";
    return out + text("wakes at ", core->wake_at(now).time_since_epoch(), "\n");
  };
}

TEST(Lock, server_transcripts) { tests::play_transcripts("lock/server", server_player); }
TEST(Lock, holder_transcripts) { tests::play_transcripts("lock/holder", holder_player); }

}  // namespace
}  // namespace edl::lock
