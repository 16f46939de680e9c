// SPDX-License-Identifier: Apache-2.0
// Allocation of coroutine frames, within one thread and across threads.
#include <superstep/base/detail/frame_memory.hpp>

#include <boost/test/unit_test.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <thread>
#include <vector>

using namespace superstep::detail;

namespace {

constexpr auto bytes_max = std::size_t{1200}; // more than the longest frame that is kept

/// Whether the bytes of a frame still have the value that fill() gave them.
bool has_kept(const void* frame, std::size_t bytes) {
  const auto* at = static_cast<const unsigned char*>(frame);
  for (auto i = std::size_t{0}; i < bytes; ++i)
    if (at[i] != static_cast<unsigned char>(bytes))
      return false;
  return true;
}

void fill(void* frame, std::size_t bytes) {
  std::memset(frame, static_cast<unsigned char>(bytes), bytes);
}

} // namespace

BOOST_AUTO_TEST_CASE(frames_of_all_sizes_are_aligned_and_separate) {
  for (auto round = 0; round < 2; ++round) { // the second round reuses the frames of the first
    auto frames = std::vector<void*>{};
    for (auto bytes = std::size_t{1}; bytes <= bytes_max; ++bytes) {
      frames.push_back(take_frame(bytes));
      BOOST_TEST(reinterpret_cast<std::uintptr_t>(frames.back()) % 16 == 0U);
      fill(frames.back(), bytes);
    }
    for (auto bytes = std::size_t{1}; bytes <= bytes_max; ++bytes) {
      BOOST_TEST(has_kept(frames[bytes - 1], bytes));
      free_frame(frames[bytes - 1], bytes);
    }
  }
}

BOOST_AUTO_TEST_CASE(thread_frees_and_reuses_frames_of_another_thread) {
  constexpr auto rounds = std::size_t{200}; // more frames than one thread keeps
  auto frames = std::vector<void*>(rounds);
  std::thread{[&] {
    for (auto& frame : frames)
      frame = take_frame(300);
  }}.join();
  std::thread{[&] {
    for (auto* const frame : frames)
      free_frame(frame, 300);
    for (auto& frame : frames) {
      frame = take_frame(300);
      fill(frame, 300);
    }
  }}.join();
  for (auto* const frame : frames) {
    BOOST_TEST(has_kept(frame, 300));
    free_frame(frame, 300);
  }
}
