// Where a file comes from: a path, a file:// address that is copied, a place on an HTTP server, or
// an object of a server that speaks S3.
#pragma once

#include <string>
#include <string_view>

#include "edl/http/client.h"

namespace edl::data {

struct Source {
  enum class Kind {
    kPath,  // used where it lies
    kFile,  // file:///PATH: copied into the cache
    kHttp,  // http:// or https://: fetched into the cache
    kS3,    // s3://BUCKET/KEY: the same, once it is known from which server
  };
  Kind kind = Kind::kPath;
  std::string text{};      // as it was written
  std::string path{};      // of kPath and kFile; BUCKET/KEY of kS3
  http::Url server{};      // of kHttp
  std::string target{};    // of kHttp: "/data/images?part=1"
  bool is_signed = false;  // the request proves who asks: s3.h
};

// Refuses other schemes, and addresses with names, passwords, fragments or spaces in them.
Result<Source> parse_source(std::string_view text);

// Where an answer leads whose header `Location` says so: a whole address, or a path of this server.
// From https only to https. Nothing is signed there.
Result<Source> redirected(const Source& from, std::string_view location);

}  // namespace edl::data
