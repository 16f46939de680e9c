// SPDX-License-Identifier: Apache-2.0
// A library for LD_PRELOAD that kills its process at a record of a batch journal. The environment
// variable SUPERSTEP_KILL_AT names the record: KIND COUNT PLACE, e.g. "ok 3 torn" for the third
// record "ok". PLACE is `before` the write that contains the record, `torn` within the record, or
// `after` the write.
#include <csignal>
#include <cstdlib>
#include <sstream>
#include <string>
#include <string_view>

#include <dlfcn.h>
#include <unistd.h>

namespace {

struct kill_point {
  std::string start; ///< beginning of the record's JSON text
  int count = 0;
  std::string place;
};

const kill_point& point() {
  static const auto chosen = [] {
    auto out = kill_point{};
    const auto* text = std::getenv("SUPERSTEP_KILL_AT");
    auto in = std::istringstream{text != nullptr ? text : ""};
    auto kind = std::string{};
    in >> kind >> out.count >> out.place;
    out.start = " [\"" + kind + "\"";
    return out;
  }();
  return chosen;
}

[[noreturn]] void die() {
  ::kill(::getpid(), SIGKILL);
  ::pause();
  std::abort();
}

/// Returns the middle of the record at which the process is killed; npos if the bytes do not
/// contain it.
std::size_t find_point(std::string_view bytes) {
  static auto seen = 0;
  constexpr auto digits = std::size_t{8};
  for (auto at = std::size_t{0}; at < bytes.size();) {
    const auto end = std::min(bytes.find('\n', at), bytes.size());
    const auto line = bytes.substr(at, end - at);
    if (line.size() > digits && line.substr(digits).starts_with(point().start) &&
        ++seen == point().count)
      return at + line.size() / 2;
    at = end + 1;
  }
  return std::string_view::npos;
}

} // namespace

extern "C" ssize_t write(int fd, const void* data, std::size_t size) {
  using function = ssize_t (*)(int, const void*, std::size_t);
  static const auto real = reinterpret_cast<function>(::dlsym(RTLD_NEXT, "write"));
  if (point().count == 0)
    return real(fd, data, size);
  const auto middle = find_point({static_cast<const char*>(data), size});
  if (middle == std::string_view::npos)
    return real(fd, data, size);
  if (point().place == "torn")
    static_cast<void>(real(fd, data, middle));
  else if (point().place == "after")
    static_cast<void>(real(fd, data, size));
  die();
}
