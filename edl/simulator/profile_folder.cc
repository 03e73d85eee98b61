#include "edl/simulator/profile_folder.h"

#include "edl/base/text.h"
#include "edl/simulator/profile_tables.h"
#include "edl/simulator/text_file.h"

namespace edl::simulator {

Result<Application> read_profile(os::Disk& disk, const std::string& folder,
                                 const std::string& name) {
  if (folder.empty()) {
    return Error{Code::kInvalid, text("job of application ", name,
                                      " needs what was measured of it: give --profiles=DIR")};
  }
  const std::string path = text(folder, "/", name, ".txt");
  const std::string tables = text(folder, "/", name);
  Result<Application> application = Error{Code::kNotFound, "is not there"};
  if (has_text_file(disk, path)) {
    EDL_TRY(const std::string words, read_plain_or_packed(disk, path));
    application = parse_application(words);
  } else if (disk.exists(tables + "/placements.csv")) {
    application = read_profile_tables(disk, tables, name);
  } else {
    return Error{Code::kNotFound,
                 text("there is no profile of application ", name, " in ", folder, ": neither ",
                      name, ".txt, nor ", name, ".txt.gz, nor a folder ", name)};
  }
  if (!application.ok()) {
    return Error{application.error().code,
                 text("profile of ", name, " in ", folder, ": ", application.error().message)};
  }
  apply_habits(*application);
  return application;
}

}  // namespace edl::simulator
