// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "graphs.hpp"

#include <chrono>
#include <thread>
#include <utility>
#include <vector>

// The graph of both storm tests and the bodies that it runs.
namespace testing {

inline constexpr auto sends_of_a_run = 6;

/// Returns the duration of a storm's body: 0 to 2 ms.
inline std::chrono::microseconds length_of_body(int kind) {
  return std::chrono::microseconds{(kind * 37) % 2'000};
}

inline void spin_for(std::chrono::microseconds length) {
  const auto until = std::chrono::steady_clock::now() + length;
  while (std::chrono::steady_clock::now() < until) {
  }
}

inline ss::task<int> fork_body(int which, std::chrono::microseconds length) {
  if (which == 0)
    std::this_thread::sleep_for(length);
  auto nap = ss::sleep_for{length / 4};
  co_await nap;
  if (which == 1) { // nested forks
    auto inner = std::vector<ss::task<int>>{};
    for (auto i = 2; i < 4; ++i)
      inner.push_back(fork_body(i, length / 2));
    const auto ended = co_await ss::when_all(std::move(inner));
    static_cast<void>(ended);
  }
  co_return 1;
}

/// Number of ways that pass_time() supports.
inline constexpr auto ways_to_pass_time = 5;

/// Passes the time by blocking, spinning, suspending, alternating, or forking. @pre way <
/// ways_to_pass_time
inline ss::task<int> pass_time(int way, std::chrono::microseconds length) {
  switch (way) {
  case 0:
    std::this_thread::sleep_for(length);
    break;
  case 1:
    spin_for(length);
    break;
  case 2: {
    auto nap = ss::sleep_for{length};
    co_await nap;
    break;
  }
  case 3: {
    auto nap = ss::sleep_for{std::chrono::microseconds{300}};
    co_await nap;
    std::this_thread::sleep_for(length);
    auto again = ss::sleep_for{std::chrono::microseconds{100}};
    co_await again;
    break;
  }
  default: {
    auto forks = std::vector<ss::task<int>>{};
    for (auto i = 0; i < 3; ++i)
      forks.push_back(fork_body(i, length));
    const auto ended = co_await ss::when_all(std::move(forks));
    static_cast<void>(ended);
    break;
  }
  }
  co_return way;
}

/// A graph of Sends to `worker`, each with its own number, followed by `a`.
template <class Body>
ss::compiled_graph<numbers> make_fan(Body body, ss::node_options how = {}) {
  auto g = ss::graph<numbers>{};
  g.add(worker, std::move(body), std::move(how));
  g.add(a, [](const numbers& x) { return ss::update{ss::set<&numbers::n>(x.n)}; });
  g.branch(ss::start, [](const numbers& x) {
    auto all = ss::destinations{};
    for (auto i = 0; i < sends_of_a_run; ++i)
      all.emplace_back(worker, x.n * sends_of_a_run + i);
    return all;
  });
  g.edge(worker, a);
  return g.compile();
}

} // namespace testing
