#include "bench/table.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fstream>

namespace edl::bench {
namespace {

constexpr int kColumnWidth = 16;

std::string cell(const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_number_float()) return text(value.get<double>());
  return value.is_null() ? "" : json_line(value);
}

// What --json=FILE names; empty without it.
Result<std::string> json_path(int argc, char** argv) {
  std::string path;
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    if (!word.starts_with("--json=")) {
      return Error{Code::kInvalid, text("unknown argument ", word, "; it takes --json=FILE")};
    }
    path = word.substr(7);
  }
  return path;
}

}  // namespace

Table::Table(std::string path, std::vector<std::string> columns)
    : columns_(std::move(columns)), json_path_(std::move(path)) {
  for (const std::string& column : columns_) std::printf("%-*s", kColumnWidth, column.c_str());
  std::printf("\n");
}

void Table::row(const Json& values) {
  for (const std::string& column : columns_) {
    const auto found = values.find(column);
    const std::string words = found == values.end() ? "" : cell(*found);
    std::printf("%-*s", kColumnWidth, words.c_str());
  }
  std::printf("\n");
  std::fflush(stdout);
  rows_.push_back(values);
}

int Table::finish() const {
  if (json_path_.empty()) return 0;
  std::ofstream out(json_path_);
  out << rows_.dump(2) << "\n";
  if (out.good()) return 0;
  std::fprintf(stderr, "cannot write %s\n", json_path_.c_str());
  return 1;
}

int run(int argc, char** argv, std::vector<std::string> columns,
        const std::function<void(Table&)>& fill) {
  auto path = json_path(argc, argv);
  if (!path.ok()) {
    std::fprintf(stderr, "%s: %s\n", argv[0], path.error().message.c_str());
    return 2;
  }
  Table table(std::move(path).value(), std::move(columns));
  fill(table);
  return table.finish();
}

std::optional<std::string> take_svg(int& argc, char** argv) {
  std::optional<std::string> path;
  const auto rest = std::remove_if(argv + 1, argv + argc, [&](const char* argument) {
    const std::string_view word = argument;
    if (!word.starts_with("--svg=")) return false;
    path = word.substr(6);
    return true;
  });
  argc = static_cast<int>(rest - argv);
  return path;
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

double seconds_of(const std::function<void()>& body) {
  const auto begin = std::chrono::steady_clock::now();
  body();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

}  // namespace edl::bench
