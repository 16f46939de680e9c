// SPDX-License-Identifier: Apache-2.0
// A journal, whole or damaged, is read up to its first bad line.
#include "batch/journal.hpp"
#include "fuzz_input.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace superstep;
  static const auto descriptor = ::memfd_create("journal", 0);
  const auto path = "/proc/self/fd/" + std::to_string(descriptor);
  fuzz::must(::ftruncate(descriptor, 0) == 0);
  fuzz::must(::pwrite(descriptor, data, size, 0) == static_cast<ssize_t>(size));
  auto opened = detail::file::open_regular(path, O_RDONLY);
  fuzz::must(opened.has_value());
  static_cast<void>(detail::read_journal(*opened));
  return 0;
}
