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

inline constexpr std::size_t kMaxHeader = 8 << 10;  // bytes of a request with its first line

// Reads one request within `patience`, answers it within another, and hangs up. A slower reader is
// cut off.
boost::asio::awaitable<void> Converse(std::shared_ptr<boost::beast::tcp_stream> reader,
                                      Pages& pages, std::chrono::milliseconds patience);

}  // namespace starling::monitor
