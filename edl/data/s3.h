// Requests to a server that speaks S3, signed as such servers want it (AWS Signature version 4).
// Objects are named in the path: http://SERVER/BUCKET/KEY.
#pragma once

#include <string>
#include <string_view>

#include "edl/http/client.h"
#include "edl/os/disk.h"

namespace edl::data {

// From a file that only its owner may read:
//   {"endpoint":"http://HOST:PORT","region":"us-east-1","access_key":"...","secret_key":"..."}
struct S3Access {
  http::Url endpoint{};
  std::string region{};
  std::string access_key{};
  std::string secret_key{};
};
Result<S3Access> read_s3_access(os::Disk& disk, const std::string& path);

// "bucket/a key" -> "/bucket/a%20key".
std::string s3_target(std::string_view bucket_and_key);

// Adds the headers that prove the secret to a GET for this host, as the header Host names it.
void sign(const S3Access& access, const std::string& host, WallTime now, http::Request& request);

}  // namespace edl::data
