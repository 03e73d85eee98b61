#include "bench/store/growth.h"

#include <cmath>
#include <cstdio>

#include "edl/base/text.h"

namespace edl::bench {
namespace {

constexpr std::size_t kPutsTogether = 128;
constexpr std::size_t kNameBytes = 32;
constexpr std::size_t kValueBytes = 64;
constexpr std::size_t kTargetKeys = 1'000'000;
constexpr double kTargetSeconds = 5;
constexpr std::int64_t kTargetBytes = 350;  // for each key, above its name and value

// Names in no order: a store does not get them sorted.
std::string name_of(std::size_t number) {
  constexpr std::uint64_t kScatter = 0x9E3779B97F4A7C15;
  char name[kNameBytes + 1];
  std::snprintf(name, sizeof name, "/bench/key/%021llu",
                static_cast<unsigned long long>(number * kScatter));
  return name;
}

store::TxnRequest puts(std::size_t from, std::size_t to) {
  store::TxnRequest request;
  for (std::size_t number = from; number < to; ++number) {
    request.success.push_back({store::PutRequest{
        .key = name_of(number),
        .value = std::string(kValueBytes, static_cast<char>('a' + number % 26))}});
  }
  return request;
}

Result<Samples> fill(os::PosixSystem& system, Target& target, std::size_t from, std::size_t to) {
  std::size_t next = from;
  const Load load{.clients = kClientsMax, .count = (to - from + kPutsTogether - 1) / kPutsTogether};
  return run_load(system, load, [&](std::size_t client, Finished finished) {
    const std::size_t begin = std::exchange(next, std::min(next + kPutsTogether, to));
    return target.clients[client]->txn(
        puts(begin, next), [&system, finished = std::move(finished)](auto response) {
          finished(response.ok() ? Result<Time>(system.now()) : Result<Time>(response.error()));
        });
  });
}

Json fill_row(const Samples& samples, std::size_t keys, std::size_t added) {
  return {{"what", "fill"},
          {"clients", kClientsMax},
          {"n", keys},
          {"p50_us", std::round(percentile(samples.micros, 0.5))},
          {"p90_us", std::round(percentile(samples.micros, 0.9))},
          {"p99_us", std::round(percentile(samples.micros, 0.99))},
          {"per_second", std::round(static_cast<double>(added) / samples.seconds)},
          {"seconds", std::round(samples.seconds * 1000) / 1000},
          {"note", "transactions of 128 puts; per second: keys"}};
}

Json memory_row(std::string_view what, std::int64_t bytes, std::size_t keys) {
  const std::int64_t each = bytes / static_cast<std::int64_t>(keys);
  const std::int64_t above = each - static_cast<std::int64_t>(kNameBytes + kValueBytes);
  return {{"what", what},
          {"n", keys},
          {"bytes", each},
          {"note", text("resident, for each key; ", above, " above its name and value",
                        keys < kTargetKeys      ? ""
                        : above <= kTargetBytes ? "; target met"
                                                : "; TARGET MISSED: 350")}};
}

Json restart_row(double took, std::size_t keys) {
  return {{"what", "restart"},
          {"n", keys},
          {"seconds", std::round(took * 1000) / 1000},
          {"note", text("from kill -9 to the first answer", keys < kTargetKeys ? ""
                                                            : took <= kTargetSeconds
                                                                ? "; target met"
                                                                : "; TARGET MISSED: 5 s")}};
}

}  // namespace

Result<void> measure_growth(os::PosixSystem& system, std::unique_ptr<Server> server,
                            const std::vector<std::size_t>& sizes, Table& table) {
  EDL_TRY(server->start());
  Target target(std::move(server));
  const auto tell = [&](Json row) {
    row["server"] = target.server->name();
    table.row(row);
  };
  const std::int64_t empty = target.server->resident_bytes();
  std::size_t keys = 0;
  for (const std::size_t size : sizes) {
    EDL_TRY(const Samples samples, fill(system, target, keys, size));
    tell(fill_row(samples, size, size - keys));
    keys = size;
    tell(memory_row("memory, filled", target.server->resident_bytes() - empty, keys));
    target.server->kill();
    const Time begin = system.now();
    EDL_TRY(target.server->start());
    tell(restart_row(seconds(system.now() - begin), keys));
    tell(memory_row("memory, started", target.server->resident_bytes() - empty, keys));
  }
  return {};
}

}  // namespace edl::bench
