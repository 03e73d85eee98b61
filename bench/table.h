// Rows of a benchmark: a table on standard output, and with --json=FILE an array of objects.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "edl/base/json.h"

namespace edl::bench {

class Table {
 public:
  // Reads --json=FILE; anything else ends the program with a sentence and exit code 2.
  Table(int argc, char** argv, std::vector<std::string> columns);

  void row(const Json& values);  // an object; columns that it lacks stay empty
  // Writes the JSON file. Answers the exit code.
  int finish() const;

 private:
  std::vector<std::string> columns_;
  std::string json_path_;
  Json rows_ = Json::array();
};

double median(std::vector<double> values);

// Seconds that `body` takes, by the real clock.
double seconds_of(const std::function<void()>& body);

}  // namespace edl::bench
