// Structured log lines: an event in words, then key=value pairs. A Log is handed down from `main`;
// where its lines go is the sink's business (standard error, a file, the virtual world's trace).
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "edl/base/text.h"

namespace edl {

enum class Level { kDebug, kInfo, kWarn, kError };

struct Field {
  template <class T>
  Field(std::string_view name, const T& content) : key(name), value(text(content)) {}
  std::string_view key;
  std::string value;
};
using Fields = std::vector<Field>;

class LogSink {
 public:
  virtual ~LogSink() = default;
  virtual bool wants(Level level) const = 0;
  virtual void line(Level level, std::string_view line) = 0;
};

// Lines with time and level to standard error, through spdlog. Any thread may write.
std::unique_ptr<LogSink> stderr_log_sink(Level least);
// Keeps nothing.
std::unique_ptr<LogSink> silent_log_sink();

class Log {
 public:
  // `room` starts every line; the sink outlives the log.
  Log(LogSink& sink, std::string room) : sink_(&sink), room_(std::move(room)) {}

  Log room(std::string name) const { return Log(*sink_, std::move(name)); }

  void debug(std::string_view event, Fields fields = {}) const {
    write(Level::kDebug, event, fields);
  }
  void info(std::string_view event, Fields fields = {}) const {
    write(Level::kInfo, event, fields);
  }
  void warn(std::string_view event, Fields fields = {}) const {
    write(Level::kWarn, event, fields);
  }
  void error(std::string_view event, Fields fields = {}) const {
    write(Level::kError, event, fields);
  }

 private:
  void write(Level level, std::string_view event, const Fields& fields) const;

  LogSink* sink_;
  std::string room_;
};

}  // namespace edl
