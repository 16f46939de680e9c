// SPDX-License-Identifier: Apache-2.0
// Reads input lines from a pipe, a file, or a terminal without line editing.
#include "cli/line_reader.hpp"

#include <array>
#include <cerrno>
#include <stdexcept>
#include <system_error>
#include <utility>

#include <poll.h>
#include <unistd.h>

namespace superstep::cli {

namespace {

bool is_readable(int input) {
  auto asked = pollfd{input, POLLIN, 0};
  return ::poll(&asked, 1, 0) > 0;
}

} // namespace

line_reader::read line_reader::next() {
  for (;;) {
    if (bell_.take_interrupt())
      return {end::interrupt};
    if (const auto at = held_.find('\n', searched_); at != std::string::npos) {
      auto line = held_.substr(0, at);
      held_.erase(0, at + 1);
      searched_ = 0;
      return {end::line, std::move(line)};
    }
    searched_ = held_.size();
    if (has_ended_)
      return held_.empty() ? read{end::input} : read{end::line, std::exchange(held_, {})};
    if (held_.size() > line_bytes_max)
      throw std::runtime_error{"a message is longer than " + std::to_string(line_bytes_max) +
                               " bytes; shorten it, or let a tool read the text from a file"};
    bell_.sleep(input_);
    if (!is_readable(input_))
      continue;
    auto bytes = std::array<char, 4096>{};
    const auto count = ::read(input_, bytes.data(), bytes.size());
    if (count > 0)
      held_.append(bytes.data(), static_cast<std::size_t>(count));
    else if (count == 0 || errno == EIO) // EIO means that the terminal was closed
      has_ended_ = true;
    else if (errno != EINTR && errno != EAGAIN)
      throw std::system_error{errno, std::generic_category(), "standard input cannot be read"};
  }
}

} // namespace superstep::cli
