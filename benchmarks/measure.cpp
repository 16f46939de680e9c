// SPDX-License-Identifier: Apache-2.0
// Clocks and memory figures of this process, and the check of results.
#include "measure.hpp"

#include <fstream>
#include <stdexcept>

#include <malloc.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

namespace superstep::bench {

namespace {

double seconds_of(clockid_t clock) noexcept {
  auto time = timespec{};
  clock_gettime(clock, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

} // namespace

double wall_seconds() noexcept {
  return seconds_of(CLOCK_MONOTONIC);
}
double cpu_seconds() noexcept {
  return seconds_of(CLOCK_PROCESS_CPUTIME_ID);
}
double thread_cpu_seconds() noexcept {
  return seconds_of(CLOCK_THREAD_CPUTIME_ID);
}

std::size_t resident_bytes() {
  auto file = std::ifstream{"/proc/self/statm"};
  auto all = std::size_t{0};
  auto resident = std::size_t{0};
  file >> all >> resident;
  return resident * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

std::size_t allocated_bytes() {
  const auto now = mallinfo2();
  return now.uordblks + now.hblkhd;
}

std::size_t peak_resident_bytes() {
  auto usage = rusage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<std::size_t>(usage.ru_maxrss) * 1'024;
}

void expect(bool right, const std::string& what) {
  if (!right)
    throw std::runtime_error{"wrong result: " + what};
}

} // namespace superstep::bench
