// What anybody may send to the store: bodies of its calls, and streams cut anywhere.
#include <cstdint>

#include "edl/base/check.h"
#include "edl/store/codec.h"
#include "edl/store/core.h"
#include "edl/store/gateway.h"
#include "edl/store/json_scanner.h"
#include "edl/store/watches.h"

namespace edl::store {
namespace {

constexpr const char* kPaths[] = {"/v3/kv/range",     "/v3/kv/put",           "/v3/kv/deleterange",
                                  "/v3/kv/txn",       "/v3/kv/compaction",    "/v3/lease/grant",
                                  "/v3/lease/revoke", "/v3/lease/timetolive", "/v3/lease/leases"};

// What was read, written and read again is the same.
void check_round_trip(const UnaryRequest& request) {
  std::visit(
      [](const auto& message) {
        using Message = std::decay_t<decltype(message)>;
        const std::string first = message_text(message);
        const auto again = read_message<Message>(RawJson(first));
        EDL_CHECK(again.ok(), first);
        EDL_CHECK(message_text(*again) == first, first);
      },
      request);
}

void call(StoreCore& core, Watches& watches, const char* path, std::string_view body) {
  const auto request = read_unary(path, body);
  if (!request.ok()) return;
  check_round_trip(*request);
  const http::Response answer = response(core.apply(*request, Time{}));
  EDL_CHECK(check_json(answer.body).ok());
  core.take_changes();
  for (const WatchResponse& told : watches.poll(core, 1 << 16)) message_text(told);
}

std::vector<std::string> split(std::string_view bytes, std::size_t piece) {
  JsonSplitter splitter(1 << 16);
  std::vector<std::string> values;
  while (!bytes.empty()) {
    const std::string_view head = bytes.substr(0, piece);
    if (!splitter.feed(head, values).ok()) break;
    bytes.remove_prefix(head.size());
  }
  return values;
}

}  // namespace
}  // namespace edl::store

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace edl::store;
  if (size < 1) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  StoreCore core({}, {}, 1, edl::Time{});
  Watches watches;
  // Lines: the first letter chooses the call, 'w' is a stream of watch requests.
  for (std::string_view rest = bytes; !rest.empty();) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(rest.size(), line.size() + 1));
    if (line.empty()) continue;
    const std::string_view body = line.substr(1);
    if (line.front() != 'w') {
      call(core, watches, kPaths[static_cast<std::uint8_t>(line.front()) % std::size(kPaths)],
           body);
      continue;
    }
    const auto values = split(body, 1);
    EDL_CHECK(values == split(body, 1000));
    for (const std::string& value : values) {
      const auto request = read_message<WatchRequest>(RawJson(value));
      if (request.ok()) watches.on_request(*request, core);
    }
  }
  return 0;
}
