#include "edl/data/s3.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <map>

#include "edl/base/json.h"
#include "edl/base/sha256.h"

namespace edl::data {
namespace {

constexpr std::uint64_t kFileBytesMax = 64 << 10;
constexpr std::string_view kAlgorithm = "AWS4-HMAC-SHA256";

std::string sha256(std::string_view words) {
  Sha256 hash;
  hash.add(bytes_of(words));
  return hash.finish();
}

std::string hmac(std::string_view key, std::string_view words) {
  std::string out(EVP_MAX_MD_SIZE, '\0');
  unsigned int length = 0;
  const auto* made = HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()),
                          reinterpret_cast<const unsigned char*>(words.data()), words.size(),
                          reinterpret_cast<unsigned char*>(out.data()), &length);
  EDL_CHECK(made != nullptr, "HMAC-SHA-256 failed");
  out.resize(length);
  return out;
}

struct Stamp {
  std::string day;     // 20130524
  std::string moment;  // 20130524T000000Z
};

Stamp stamp_of(WallTime now) {
  const auto day = std::chrono::floor<std::chrono::days>(now);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss time(std::chrono::floor<std::chrono::seconds>(now - day));
  std::array<char, 32> out{};
  std::snprintf(out.data(), out.size(), "%04d%02u%02uT%02d%02d%02dZ", int{date.year()},
                unsigned{date.month()}, unsigned{date.day()},
                static_cast<int>(time.hours().count()), static_cast<int>(time.minutes().count()),
                static_cast<int>(time.seconds().count()));
  const std::string moment = out.data();
  return {moment.substr(0, 8), moment};
}

bool is_kept(char letter) {
  return (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') ||
         (letter >= '0' && letter <= '9') ||
         std::string_view("-._~/").find(letter) != std::string_view::npos;
}

}  // namespace

Result<S3Access> read_s3_access(os::Disk& disk, const std::string& path) {
  EDL_TRY(const bool is_private, disk.is_private(path));
  if (!is_private) {
    return Error{Code::kInvalid,
                 text("others may read ", path, ", which holds a secret: chmod 600 ", path)};
  }
  EDL_TRY(const Bytes bytes, os::read_file(disk, path, kFileBytesMax));
  EDL_TRY(const Json json, parse_json(text_of(bytes)));
  S3Access out;
  std::string endpoint;
  JsonReader in(json, path);
  in.read("endpoint", endpoint);
  in.read("region", out.region);
  in.read("access_key", out.access_key);
  in.read("secret_key", out.secret_key);
  EDL_TRY(in.finish());
  EDL_TRY(out.endpoint, http::parse_url(endpoint));
  return out;
}

std::string s3_target(std::string_view bucket_and_key) {
  std::string out = "/";
  for (const char letter : bucket_and_key) {
    if (is_kept(letter)) {
      out += letter;
      continue;
    }
    std::array<char, 4> code{};
    std::snprintf(code.data(), code.size(), "%%%02X",
                  static_cast<unsigned>(static_cast<unsigned char>(letter)));
    out += code.data();
  }
  return out;
}

void sign(const S3Access& access, const std::string& host, WallTime now, http::Request& request) {
  const Stamp stamp = stamp_of(now);
  const std::string body = sha256(request.body);
  std::map<std::string, std::string> named{
      {"host", host}, {"x-amz-content-sha256", body}, {"x-amz-date", stamp.moment}};
  if (const auto range = http::find_header(request.headers, "Range"); !range.empty()) {
    named["range"] = range;
  }
  std::string lines;
  std::string names;
  for (const auto& [name, value] : named) {
    lines += text(name, ":", value, "\n");
    names += text(names.empty() ? "" : ";", name);
  }
  const std::string scope = text(stamp.day, "/", access.region, "/s3/aws4_request");
  const std::string whole =
      text(request.method, "\n", request.target, "\n\n", lines, "\n", names, "\n", body);
  const std::string to_sign =
      text(kAlgorithm, "\n", stamp.moment, "\n", scope, "\n", sha256(whole));
  std::string key = hmac("AWS4" + access.secret_key, stamp.day);
  for (const std::string_view word : {std::string_view(access.region), std::string_view("s3"),
                                      std::string_view("aws4_request")}) {
    key = hmac(key, word);
  }
  const std::string signature = hex(bytes_of(hmac(key, to_sign)));
  request.headers.push_back({"x-amz-content-sha256", body});
  request.headers.push_back({"x-amz-date", stamp.moment});
  request.headers.push_back(
      {"Authorization", text(kAlgorithm, " Credential=", access.access_key, "/", scope,
                             ",SignedHeaders=", names, ",Signature=", signature)});
}

}  // namespace edl::data
