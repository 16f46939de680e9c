// SPDX-License-Identifier: Apache-2.0
#include "base/thread_clock.hpp"

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <latch>
#include <thread>

using superstep::thread_clock;
using namespace std::chrono_literals;

BOOST_AUTO_TEST_SUITE(thread_clocks)

BOOST_AUTO_TEST_CASE(clock_shows_cpu_time_and_state_of_other_thread) {
  auto clock = thread_clock{};
  auto is_known = std::latch{1};
  auto is_over = std::latch{1};
  auto other = std::thread{[&] {
    clock = thread_clock::of_this_thread();
    is_known.count_down();
    while (*clock.used() < 5ms) {
    }
    is_over.wait();
  }};
  is_known.wait();
  while (*clock.used() < 5ms)
    std::this_thread::yield();
  while (clock.is_runnable())
    std::this_thread::sleep_for(1ms);
  const auto used = clock.used();
  std::this_thread::sleep_for(10ms);
  BOOST_TEST((clock.used() == used));
  is_over.count_down();
  other.join();
}

BOOST_AUTO_TEST_CASE(nothing_is_known_of_ended_thread) {
  auto clock = thread_clock{};
  BOOST_TEST(!clock.used());
  BOOST_TEST(clock.is_runnable());
  std::thread{[&] { clock = thread_clock::of_this_thread(); }}.join();
  BOOST_TEST(!clock.used());
  BOOST_TEST(clock.is_runnable());
}

BOOST_AUTO_TEST_SUITE_END()
