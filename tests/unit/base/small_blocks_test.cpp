// SPDX-License-Identifier: Apache-2.0
// Allocation of small blocks, within one thread and across threads.
#include <superstep/base/detail/small_blocks.hpp>

#include <boost/test/unit_test.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

using namespace superstep::detail;

namespace {

constexpr auto bytes_max = std::size_t{1200}; // more than the longest block that is kept

/// Whether the bytes of a block still have the value that fill() gave them.
bool has_kept(const void* block, std::size_t bytes) {
  const auto* at = static_cast<const unsigned char*>(block);
  for (auto i = std::size_t{0}; i < bytes; ++i)
    if (at[i] != static_cast<unsigned char>(bytes))
      return false;
  return true;
}

void fill(void* block, std::size_t bytes) {
  std::memset(block, static_cast<unsigned char>(bytes), bytes);
}

} // namespace

BOOST_AUTO_TEST_CASE(blocks_of_all_sizes_are_aligned_and_separate) {
  for (auto round = 0; round < 2; ++round) { // the second round reuses the blocks of the first
    auto blocks = std::vector<void*>{};
    for (auto bytes = std::size_t{1}; bytes <= bytes_max; ++bytes) {
      blocks.push_back(take_block(bytes));
      BOOST_TEST(reinterpret_cast<std::uintptr_t>(blocks.back()) % 16 == 0U);
      fill(blocks.back(), bytes);
    }
    for (auto bytes = std::size_t{1}; bytes <= bytes_max; ++bytes) {
      BOOST_TEST(has_kept(blocks[bytes - 1], bytes));
      free_block(blocks[bytes - 1], bytes);
    }
  }
}

BOOST_AUTO_TEST_CASE(thread_frees_and_reuses_blocks_of_another_thread) {
  constexpr auto rounds = std::size_t{200}; // more blocks than one thread keeps
  auto blocks = std::vector<void*>(rounds);
  std::thread{[&] {
    for (auto& block : blocks)
      block = take_block(300);
  }}.join();
  std::thread{[&] {
    for (auto* const block : blocks)
      free_block(block, 300);
    for (auto& block : blocks) {
      block = take_block(300);
      fill(block, 300);
    }
  }}.join();
  for (auto* const block : blocks) {
    BOOST_TEST(has_kept(block, 300));
    free_block(block, 300);
  }
}

BOOST_AUTO_TEST_CASE(block_ptr_destroys_its_object_once) {
  const auto counted = std::make_shared<int>(0); // each living copy adds one to its use count
  using pointer = block_ptr<std::shared_ptr<int>>;
  auto first = make_in_block<std::shared_ptr<int>>(counted);
  BOOST_TEST(counted.use_count() == 2);
  auto second = std::move(first);
  BOOST_TEST(!first);
  BOOST_TEST(second->get() == counted.get());
  BOOST_TEST(counted.use_count() == 2);
  first = make_in_block<std::shared_ptr<int>>(counted);
  second = std::move(first); // destroys the earlier object of `second`
  BOOST_TEST(counted.use_count() == 2);
  auto& same = second;
  second = std::move(same);
  BOOST_TEST(second.get() != nullptr);
  BOOST_TEST(counted.use_count() == 2);
  second.reset();
  BOOST_TEST(counted.use_count() == 1);
  {
    const auto last = pointer{make_in_block<std::shared_ptr<int>>(counted)};
    BOOST_TEST(counted.use_count() == 2);
  }
  BOOST_TEST(counted.use_count() == 1);
}

namespace {

struct alignas(64) wide {
  explicit wide(int n) : number{n} {}
  int number;
};

} // namespace

BOOST_AUTO_TEST_CASE(block_ptr_keeps_large_alignment) {
  const auto made = make_in_block<wide>(7);
  BOOST_TEST(made->number == 7);
  BOOST_TEST(reinterpret_cast<std::uintptr_t>(made.get()) % 64 == 0U);
}
