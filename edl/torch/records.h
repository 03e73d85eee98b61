// Data sets of records in files (edl/data/record_files.h). A record becomes an example by a
// function of the program, when a batch asks for it.
#pragma once

#include <functional>
#include <memory>

#include "edl/data/record_files.h"
#include "edl/torch/dataset.h"

namespace edl::torch {

// One example: x and y without the dimension of the batch; y may be left out. The bytes are gone
// after the call. An error, or what it throws, ends the step with a sentence that also names the
// record's file and offset.
using ParseRecord = std::function<Result<Batch>(ConstBytes record)>;

// Sample i is record i; all examples have the same shape.
//
//   records(data::record_files("logs", "*.tfrecord", data::tfrecords()), parse)
Result<std::shared_ptr<const Dataset>> records(const Result<data::RecordFiles>& files,
                                               ParseRecord parse);

// Examples of one shape as a batch.
Result<Batch> stacked(const std::vector<Batch>& examples);
Result<Batch> parsed(const ParseRecord& parse, const data::Record& record);

}  // namespace edl::torch
