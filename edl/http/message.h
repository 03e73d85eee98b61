// What goes over HTTP/1.1: requests and answers as plain values, and the limits on both.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "edl/base/time.h"

namespace edl::http {

struct Header {
  std::string name;
  std::string value;
};
using Headers = std::vector<Header>;

// Names of headers, and some of their values, are the same in any case.
bool same_name(std::string_view a, std::string_view b);

// The value of the first header of this name, in any case; empty when there is none.
std::string_view find_header(const Headers& headers, std::string_view name);

struct Request {
  std::string method = "POST";
  std::string target = "/";
  Headers headers{};
  std::string body{};
};

struct Response {
  int status = 200;
  Headers headers{};
  std::string body{};
};

struct Limits {
  std::size_t header_bytes_max = 16 << 10;
  std::size_t body_bytes_max = 4 << 20;    // of one message; of one piece waiting in a stream
  std::size_t unsent_bytes_max = 8 << 20;  // that one connection may keep waiting
  std::size_t connections_max = 10'000;
  Duration message_time = 30s;  // from the first byte of a message to its last
  Duration idle_time = 300s;    // between two requests
  Duration write_time = 30s;    // without any progress
};

}  // namespace edl::http
