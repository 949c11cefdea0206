// One connection of a reader: one request, one answer.
#pragma once

#include <utility>  // Boost 1.74's Asio needs it first

#include <boost/asio/awaitable.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <chrono>
#include <cstddef>
#include <memory>

#include "monitor/http/pages.h"

namespace starling::monitor {

inline constexpr std::size_t kMostHeader = 8 << 10;  // bytes of a request, its first line included

// Reads a request within `patience`, answers it within another, and hangs up: nobody comes to a second
// request, and who is slower is cut off in the middle of whatever it is.
boost::asio::awaitable<void> Converse(std::shared_ptr<boost::beast::tcp_stream> reader,
                                      Pages& pages, std::chrono::milliseconds patience);

}  // namespace starling::monitor
