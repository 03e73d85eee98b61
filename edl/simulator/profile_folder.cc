#include "edl/simulator/profile_folder.h"

#include "edl/base/text.h"
#include "edl/simulator/text_file.h"

namespace edl::simulator {

Result<Application> read_profile(os::Disk& disk, const std::string& folder,
                                 const std::string& name) {
  if (folder.empty()) {
    return Error{Code::kInvalid, text("job of application ", name,
                                      " needs what was measured of it: give --profiles=DIR")};
  }
  const std::string path = text(folder, "/", name, ".txt");
  if (!has_text_file(disk, path)) {
    return Error{Code::kNotFound, text("there is no profile of application ", name, " in ", folder,
                                       ": neither ", name, ".txt nor ", name, ".txt.gz")};
  }
  EDL_TRY(const std::string words, read_plain_or_packed(disk, path));
  auto application = parse_application(words);
  if (!application.ok()) {
    return Error{application.error().code, text("file ", path, " ", application.error().message)};
  }
  return application;
}

}  // namespace edl::simulator
