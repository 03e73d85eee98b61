#include "edl/base/log.h"

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include "edl/base/json.h"

namespace edl {
namespace {

class SpdlogSink final : public LogSink {
 public:
  explicit SpdlogSink(Level least)
      : least_(least), logger_("edl", std::make_shared<spdlog::sinks::stderr_sink_mt>()) {
    logger_.set_pattern("%Y-%m-%dT%H:%M:%S.%f %L %v");
    logger_.set_level(spdlog::level::trace);
    logger_.flush_on(spdlog::level::warn);
  }

  bool wants(Level level) const override { return level >= least_; }

  void line(Level level, std::string_view line) override {
    constexpr spdlog::level::level_enum kLevels[] = {spdlog::level::debug, spdlog::level::info,
                                                     spdlog::level::warn, spdlog::level::err};
    logger_.log(kLevels[static_cast<int>(level)], line);
  }

 private:
  const Level least_;
  spdlog::logger logger_;
};

class SilentSink final : public LogSink {
 public:
  bool wants(Level) const override { return false; }
  void line(Level, std::string_view) override {}
};

bool plain(std::string_view value) {
  return !value.empty() && value.find_first_of(" \t\r\n\"=") == std::string_view::npos;
}

}  // namespace

std::unique_ptr<LogSink> stderr_log_sink(Level least) {
  return std::make_unique<SpdlogSink>(least);
}
std::unique_ptr<LogSink> silent_log_sink() { return std::make_unique<SilentSink>(); }

void Log::write(Level level, std::string_view event, const Fields& fields) const {
  if (!sink_->wants(level)) return;
  std::string line = text(room_, ": ", event);
  for (const Field& field : fields) {
    line += text(" ", field.key, "=", plain(field.value) ? field.value : json_line(field.value));
  }
  sink_->line(level, line);
}

}  // namespace edl
