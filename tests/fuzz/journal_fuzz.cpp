// SPDX-License-Identifier: Apache-2.0
// Fuzz target: a journal, intact or damaged, is read up to its first invalid line. The input is
// also read with recomputed checksums; otherwise most lines would be rejected before they are
// parsed.
#include "batch/journal.hpp"
#include "fuzz_input.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <string>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>
#include <zlib.h>

namespace {

using namespace superstep;

void read(std::string_view text) {
  static const auto descriptor = ::memfd_create("journal", 0);
  const auto path = "/proc/self/fd/" + std::to_string(descriptor);
  fuzz::must(::ftruncate(descriptor, 0) == 0);
  fuzz::must(::pwrite(descriptor, text.data(), text.size(), 0) ==
             static_cast<ssize_t>(text.size()));
  auto opened = detail::file::open_regular(path, O_RDONLY);
  fuzz::must(opened.has_value());
  const auto content = detail::read_journal(*opened);
  fuzz::must(!content || content->valid_bytes <= text.size());
}

/// Returns the text with a valid checksum in each line.
std::string sealed(std::string_view text) {
  constexpr auto digits = std::size_t{8};
  auto out = std::string{text};
  for (auto from = std::size_t{0}; from < out.size();) {
    const auto end = std::min(out.find('\n', from), out.size());
    if (end - from > digits + 1) {
      const auto* begin = reinterpret_cast<const Bytef*>(out.data() + from + digits + 1);
      const auto sum = ::crc32(0, begin, static_cast<uInt>(end - from - digits - 1));
      auto written = std::array<char, digits + 1>{};
      std::snprintf(written.data(), written.size(), "%08x", static_cast<unsigned>(sum));
      out.replace(from, digits, written.data(), digits);
      out[from + digits] = ' ';
    }
    from = end + 1;
  }
  return out;
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto text = fuzz::text_of(data, size);
  read(text);
  read(sealed(text));
  return 0;
}
