// Streams of records in a folder (edl/data/stream_folder.h): files come, and grow, while the job
// trains on them.
#pragma once

#include "edl/data/stream_folder.h"
#include "edl/torch/records.h"

namespace edl::torch {

// Records are trained in the order of the names of their files, each once.
//
//   record_stream("incoming", {.pattern = "*.csv", .format = data::text_lines()}, parse)
Result<std::shared_ptr<const Dataset>> record_stream(const std::string& folder,
                                                     const data::StreamOptions& options,
                                                     ParseRecord parse);

}  // namespace edl::torch
