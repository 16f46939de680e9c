// SPDX-License-Identifier: Apache-2.0
// Allocation of cache lines, within one thread and across threads.
#include <superstep/base/detail/cache_lines.hpp>

#include <boost/test/unit_test.hpp>

#include <cstdint>
#include <cstring>
#include <set>
#include <thread>
#include <vector>

using namespace superstep;

BOOST_AUTO_TEST_SUITE(cache_lines)

namespace {

bool is_aligned(const void* p) {
  return reinterpret_cast<std::uintptr_t>(p) % 64 == 0;
}

struct counted : on_cache_lines {
  long n = 0;
};

} // namespace

BOOST_AUTO_TEST_CASE(blocks_do_not_share_a_cache_line) {
  auto lines = std::set<std::uintptr_t>{};
  auto blocks = std::vector<void*>{};
  for (const auto bytes : {1U, 56U, 57U, 64U, 65U, 200U, 512U, 513U, 100'000U}) {
    blocks.push_back(take_cache_lines(bytes));
    BOOST_TEST(is_aligned(blocks.back()));
    std::memset(blocks.back(), 1, bytes);
    const auto first = reinterpret_cast<std::uintptr_t>(blocks.back()) / 64;
    // the last 8 bytes of the lines belong to malloc
    for (auto i = std::uintptr_t{0}; i < (bytes + 8 + 63) / 64; ++i)
      BOOST_TEST(lines.insert(first + i).second);
  }
  auto i = std::size_t{0};
  for (const auto bytes : {1U, 56U, 57U, 64U, 65U, 200U, 512U, 513U, 100'000U})
    free_cache_lines(blocks[i++], bytes);
}

BOOST_AUTO_TEST_CASE(thread_frees_and_reuses_blocks_of_another_thread) {
  constexpr auto rounds = 200; // more blocks than one thread keeps for reuse
  auto taken = std::vector<void*>{};
  std::thread{[&] {
    for (auto i = 0; i < rounds; ++i)
      taken.push_back(take_cache_lines(100));
  }}.join();
  std::thread{[&] {
    for (auto* const b : taken)
      free_cache_lines(b, 100);
    for (auto& b : taken)
      b = take_cache_lines(100);
  }}.join();
  for (auto* const b : taken)
    free_cache_lines(b, 100);
  free_cache_lines(nullptr, 100);
}

BOOST_AUTO_TEST_CASE(objects_and_vectors_are_aligned_to_cache_lines) {
  const auto one = std::make_unique<counted>();
  BOOST_TEST(is_aligned(one.get()));
  auto numbers = std::vector<int, cache_line_allocator<int>>{};
  for (auto i = 0; i < 1'000; ++i)
    numbers.push_back(i);
  BOOST_TEST(numbers.back() == 999);
  BOOST_TEST(is_aligned(numbers.data()));
}

BOOST_AUTO_TEST_SUITE_END()
