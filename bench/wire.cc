// How fast frames go between two endpoints of one process over loopback: round trips and bytes.
#include <memory>

#include "bench/table.h"
#include "edl/os/posix/system.h"
#include "edl/wire/endpoint.h"

namespace edl::wire {
namespace {

EndpointOptions options_of(std::string id) {
  EndpointOptions options{.job = "bench",
                          .id = std::move(id),
                          .secret = Secret::make(bytes_of("sixteen bytes...")).value()};
  options.connection.send_queue_bytes_max = std::uint64_t{1} << 30;
  return options;
}

// Sends a frame to and fro `rounds` times; answers the seconds.
double ping_pong(std::size_t payload_bytes, int rounds) {
  const auto sink = silent_log_sink();
  const auto system = os::posix_system({.log_sink = sink.get()});
  Endpoint server(*system, options_of("server"));
  Endpoint client(*system, options_of("client"));
  std::unique_ptr<Connection> accepted;
  std::unique_ptr<Connection> connected;
  int left = rounds;
  const auto address = server.listen({"127.0.0.1", 0, {}}, [&](auto made) {
    accepted = std::move(made);
    accepted->start(
        [&](Frame frame) { (void)accepted->send({}, nullptr, std::move(frame.payload)); },
        [](const Error&) {});
  });
  Time begin{};
  const os::Pending attempt = client.connect(address.value(), 10s, [&](auto made) {
    connected = std::move(made).value();
    connected->start(
        [&](Frame frame) {
          if (--left == 0) return system->finish(0);
          (void)connected->send({}, nullptr, std::move(frame.payload));
        },
        [](const Error&) {});
    begin = system->now();
    (void)connected->send({}, nullptr, Bytes(payload_bytes));
  });
  system->run();
  return seconds(system->now() - begin);
}

}  // namespace
}  // namespace edl::wire

namespace {

void fill(edl::bench::Table& table) {
  using namespace edl;
  struct Case {
    std::size_t bytes;
    int rounds;
  };
  for (const Case& what : {Case{0, 5000}, Case{1024, 5000}, Case{65536, 2000}, Case{1 << 20, 300},
                           Case{16 << 20, 20}}) {
    std::vector<double> times;
    for (int repeat = 0; repeat < 5; ++repeat)
      times.push_back(wire::ping_pong(what.bytes, what.rounds));
    const double round = bench::median(times) / what.rounds;
    table.row({{"payload_bytes", what.bytes},
               {"round_trip_us", round * 1e6},
               {"mb_per_s", 2.0 * static_cast<double>(what.bytes) / round / 1e6}});
  }
}

}  // namespace

int main(int argc, char** argv) {
  return edl::bench::run(argc, argv, {"payload_bytes", "round_trip_us", "mb_per_s"}, fill);
}
