// Lists of files to fetch and the addresses in them, from anyone; where servers send us, too.
#include "edl/base/check.h"
#include "edl/data/cache_folder.h"
#include "edl/data/file_list.h"
#include "edl/data/source.h"
#include "tests/fuzz/input.h"

using namespace edl;

namespace {

void check(const Result<data::Source>& source) {
  if (!source.ok()) {
    EDL_CHECK(!source.error().message.empty());
    return;
  }
  if (source->kind != data::Source::Kind::kHttp) return;
  EDL_CHECK(source->target.starts_with('/'));
  for (const char letter : source->target) EDL_CHECK(letter > ' ' && letter < '\x7F');
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  tests::FuzzInput input(data, size);
  const std::string words(text_of(input.rest()));
  if (const auto files = data::parse_file_list(words, "folder"); files.ok()) {
    EDL_CHECK(!files->empty());
    for (const data::WantedFile& file : *files) {
      EDL_CHECK(!file.name.starts_with('/') && file.name.find("/../") == std::string::npos);
      EDL_CHECK(file.sha256.empty() || data::sha256_problem(file.sha256).empty());
      EDL_CHECK(data::parse_source(file.url).ok());
    }
  }
  check(data::parse_source(words));
  check(data::redirected(data::parse_source("https://host/a").value(), words));
  check(data::redirected(data::parse_source("http://host:81/a").value(), words));
  (void)data::parse_size(words);
  return 0;
}
