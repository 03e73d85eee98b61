// Rows of a benchmark: a table on standard output, and with --json=FILE an array of objects.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "edl/base/json.h"

namespace edl::bench {

class Table {
 public:
  // `path` of the JSON file may be empty: then there is only the table.
  Table(std::string path, std::vector<std::string> columns);

  void row(const Json& values);  // an object; columns that it lacks stay empty
  // Writes the JSON file. Answers the exit code.
  int finish() const;

 private:
  std::vector<std::string> columns_;
  std::string json_path_;
  Json rows_ = Json::array();
};

// What a benchmark's `main` does: reads --json=FILE, lets `fill` make the rows, writes the file.
// Answers the exit code.
int run(int argc, char** argv, std::vector<std::string> columns,
        const std::function<void(Table&)>& fill);

// What --svg=FILE names, if it is among the arguments; takes it out of them.
std::optional<std::string> take_svg(int& argc, char** argv);

double median(std::vector<double> values);

// Seconds that `body` takes, by the real clock.
double seconds_of(const std::function<void()>& body);

}  // namespace edl::bench
