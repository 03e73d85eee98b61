// JSON and bytes into the readers of `model`: refused with a sentence, or a value that holds
// together.
#include "edl/base/check.h"
#include "edl/model/batch.h"
#include "edl/model/job.h"
#include "edl/model/ledger_record.h"
#include "edl/model/node.h"
#include "edl/model/position.h"
#include "edl/model/ramp.h"
#include "edl/model/record.h"
#include "edl/model/view.h"
#include "edl/model/worker.h"
#include "tests/fuzz/input.h"

using namespace edl;
using namespace edl::model;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  tests::FuzzInput input(data, size);
  const int reader = input.number() % 9;
  if (reader == 8) {
    (void)decode_ledger_record(input.rest());
    return 0;
  }
  const auto json = parse_json(text_of(input.rest()));
  if (!json.ok()) return 0;
  switch (reader) {
    case 0:
      (void)batch_from(*json);
      break;
    case 1:
      if (const auto job = job_from(*json); job.ok()) (void)worker_range(*job);
      break;
    case 2:
      (void)ledger_record_from(*json);
      break;
    case 3:
      (void)node_from(*json);
      break;
    case 4:
      (void)position_from(*json);
      break;
    case 5:
      (void)step_record_from(*json);
      break;
    case 6:
      if (const auto view = view_from(*json); view.ok()) EDL_CHECK(validate(*view).ok());
      break;
    default:
      (void)worker_from(*json);
  }
  return 0;
}
