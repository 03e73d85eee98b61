// What every engine of this benchmark understands, on standard input, one command a line:
//   ALGORITHM BYTES ROUNDS    all-reduce that many bytes of float32 that often, after one for
//   warmth digest LOGICAL            only EDL: the digest of one step with so many logical workers
// The first rank answers each with a line: milliseconds a round, the digest, or "no REASON".
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <iostream>
#include <sstream>
#include <string>

namespace edl::bench {

struct Command {
  std::string algorithm;
  std::uint64_t number = 0;  // bytes, or logical workers
  int rounds = 0;
};

inline bool parse_command(const std::string& line, Command& command) {
  std::istringstream words(line);
  command = {};
  words >> command.algorithm >> command.number >> command.rounds;
  return !command.algorithm.empty();
}

// False at the end of the input.
inline bool read_command(Command& command) {
  std::string line;
  return std::getline(std::cin, line) && parse_command(line, command);
}

// Milliseconds a round. The first call is not counted: it also makes the ranks begin together.
inline double measure(int rounds, const std::function<void()>& once) {
  once();
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < rounds; ++i) once();
  const auto took = std::chrono::steady_clock::now() - begin;
  return std::chrono::duration<double, std::milli>(took).count() / rounds;
}

}  // namespace edl::bench
