// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <fstream>
#include <string>
#include <thread>

namespace superstep::test {

/// Whether a process runs; a zombie does not.
inline bool is_running(int pid) {
  auto file = std::ifstream{"/proc/" + std::to_string(pid) + "/stat"};
  auto line = std::string{};
  std::getline(file, line);
  const auto name_end = line.rfind(") ");
  return name_end != std::string::npos && line.compare(name_end + 2, 1, "Z") != 0 &&
         line.compare(name_end + 2, 1, "X") != 0;
}

/// Waits up to ten seconds for a process to end.
inline bool is_gone(int pid) {
  for (auto i = 0; i < 10'000 && is_running(pid); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds{1});
  return !is_running(pid);
}

} // namespace superstep::test
