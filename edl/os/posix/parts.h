// The parts that make up the real System; for the files of this folder only.
#pragma once

#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/io_context.hpp>
#include <memory>

#include "edl/os/posix/descriptor.h"
#include "edl/os/system.h"

namespace edl::os {

using Socket = boost::asio::generic::stream_protocol::socket;

std::unique_ptr<Disk> posix_disk();
std::unique_ptr<Network> posix_network(boost::asio::io_context& loop);
// `parent` may be an invalid descriptor.
std::unique_ptr<Processes> posix_processes(boost::asio::io_context& loop, Descriptor parent);
// A stream on a connected socket that is ours.
std::unique_ptr<Stream> posix_stream(boost::asio::io_context& loop, Descriptor socket,
                                     std::string peer);

}  // namespace edl::os
