// A file of an HTTP server, into a part: goes on where a connection broke, follows servers that
// send it elsewhere, and gives up at a limit. Blocks: runs the system's loop meanwhile.
#pragma once

#include <optional>
#include <string>

#include "edl/data/part_file.h"
#include "edl/data/s3.h"
#include "edl/data/source.h"
#include "edl/os/loop.h"

namespace edl::data {

struct DownloadLimits {
  Time deadline{};                             // of everything
  Duration silence = 30s;                      // without a byte
  Duration pause = 500ms;                      // before the second try; then it doubles
  int tries = 6;                               // in a row that brought no byte
  int redirects = 5;                           // in a row
  std::uint64_t bytes_max = 0;                 // of the file
  std::optional<std::uint64_t> bytes_known{};  // of the file
};

class Download {
 public:
  Download(os::LoopSystem& system, http::Client& client, PartFile& part, DownloadLimits limits);

  // Needed for sources that are signed; outlives the download.
  void sign_with(const S3Access* access) { access_ = access; }
  Result<void> run(const Source& source);

 private:
  // How an attempt ended. With neither: all bytes are there.
  struct Outcome {
    std::optional<Error> refused{};  // trying again is of no use
    std::optional<Error> broken{};
    std::string location{};  // where it is instead
  };

  Outcome attempt(const Source& source);
  void on_head(const http::Response& head);
  void on_whole(const http::Response& head);
  void on_rest(const http::Response& head);
  void on_piece(std::string_view piece);
  void restart();
  void check_length(std::uint64_t bytes);
  void refuse(Code code, const std::string& why);
  void break_off(const Error& error);
  void watch();
  void wait(Duration pause);

  os::LoopSystem& system_;
  http::Client& client_;
  PartFile& part_;
  const DownloadLimits limits_;
  const S3Access* access_ = nullptr;
  Source source_;  // of the attempt
  Outcome outcome_;
  bool takes_pieces_ = false;
  os::Pending alarm_;
};

}  // namespace edl::data
