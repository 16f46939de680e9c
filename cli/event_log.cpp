// SPDX-License-Identifier: Apache-2.0
#include "cli/event_log.hpp"

#include <superstep/base/json.hpp>

#include <chrono>
#include <cstdint>

namespace superstep::cli {

result<void> event_log::open(const std::string& path) {
  path_ = path;
  file_.open(path, std::ios::trunc);
  if (!file_)
    return error{errc::io_failed,
                 "--events: '" + path + "' cannot be written; name a file in a folder that exists"};
  return {};
}

void event_log::add(std::string_view row, std::string_view event, std::string_view call_id) {
  constexpr auto flush_every = std::int64_t{500'000'000};
  const auto now = std::chrono::steady_clock::now().time_since_epoch().count();
  auto line = std::string{"{\"row\":"};
  append_quoted(line, row);
  line += ",\"event\":";
  append_quoted(line, event);
  line += ",\"call_id\":";
  append_quoted(line, call_id);
  line += ",\"t_ns\":" + std::to_string(now) + "}\n";
  const auto lock = std::scoped_lock{mutex_};
  file_ << line;
  if (now - flushed_ >= flush_every) { // whoever watches the file sees it grow
    file_.flush();
    flushed_ = now;
  }
}

result<void> event_log::close() {
  const auto lock = std::scoped_lock{mutex_};
  file_.close();
  if (!file_)
    return error{errc::io_failed, "--events: '" + path_ + "' is not complete: writing it failed"};
  return {};
}

} // namespace superstep::cli
