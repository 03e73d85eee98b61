// Files of records, from anyone: every framing, whole and while they grow.
#include "edl/base/check.h"
#include "edl/data/record_index.h"
#include "tests/fuzz/input.h"

using namespace edl;

namespace {

constexpr std::uint64_t kRecordBytesMax = 1 << 12;

// Frames follow each other without a gap, lie within the file, and are found again by number.
void walk(ConstBytes file, const data::RecordFormat& format, data::Ending ending) {
  const auto index = data::RecordIndex::scan(file, 0, format, ending);
  if (!index.ok()) {
    EDL_CHECK(!index.error().message.empty());
    return;
  }
  EDL_CHECK(index->to() <= file.size());
  EDL_CHECK(ending == data::Ending::kGrows || index->to() == file.size());
  std::uint64_t at = 0;
  for (std::uint64_t i = 0; i < index->count(); ++i) {
    const auto frame = index->frame(file, i, format);
    EDL_CHECK(frame.ok() && frame->from == at && frame->to > at && frame->to <= file.size());
    EDL_CHECK(frame->record.size() <= kRecordBytesMax);
    (void)data::checked_record(*frame, file, format);
    at = frame->to;
  }
  EDL_CHECK(at == index->to());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  tests::FuzzInput input(data, size);
  data::RecordFormat format;
  format.kind = static_cast<data::RecordKind>(input.number() % 4);
  format.record_bytes = input.number();
  format.record_bytes_max = kRecordBytesMax;
  for (const auto ending : {data::Ending::kWhole, data::Ending::kGrows}) {
    walk(input.rest(), format, ending);
  }
  return 0;
}
