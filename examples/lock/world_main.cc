// Shows a virtual cluster at work: a lock, its workers, and what happens to them, as a story.
#include <CLI/CLI.hpp>
#include <cstdio>

#include "examples/lock/world.h"

int main(int argc, char** argv) {
  using namespace edl;
  lock::LockWorldOptions options;
  options.quiet = false;
  int seconds_of_faults = 20;
  CLI::App app(
      "A lock in a virtual cluster with crashes, narrated. Everything happens in one process "
      "and in virtual time; the same seed tells the same story.");
  app.add_option("--seed", options.seed, "which story")->capture_default_str();
  app.add_option("--seconds", seconds_of_faults, "virtual seconds of faults")
      ->check(CLI::Range(1, 3600))
      ->capture_default_str();
  app.add_option("--workers", options.workers)->check(CLI::Range(1, 26))->capture_default_str();
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  options.faults_for = seconds_of_faults * 1s;
  options.faults = seconds_of_faults / 2;

  lock::LockWorld story(options);
  story.world().trace().listen([](Time time, std::string_view who, std::string_view line) {
    std::printf("%8.3f s  %-9.*s %.*s\n", seconds(time.time_since_epoch()),
                static_cast<int>(who.size()), who.data(), static_cast<int>(line.size()),
                line.data());
  });
  std::printf(
      "A lock server and %d workers, each on a node of its own. Lines with * are faults.\n\n",
      options.workers);
  story.run();
  const double lived = seconds(story.world().now().time_since_epoch());
  std::printf(
      "\n%.1f virtual seconds, %llu events, %llu crashes; the resource was used %llu times.\n",
      lived, static_cast<unsigned long long>(story.world().event_count()),
      static_cast<unsigned long long>(story.crashes()),
      static_cast<unsigned long long>(story.uses()));
  std::printf("trace hash %016llx (the same for --seed=%llu on every machine)\n",
              static_cast<unsigned long long>(story.world().trace().hash()),
              static_cast<unsigned long long>(options.seed));
  if (story.violation().empty()) {
    std::printf(
        "Never did two workers hold the lock at once, and all of them had it after the faults.\n");
    return 0;
  }
  std::fprintf(stderr, "VIOLATION: %s\n", story.violation().c_str());
  return 1;
}
