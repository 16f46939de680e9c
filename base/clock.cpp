// SPDX-License-Identifier: Apache-2.0
// The default implementation of clock, which reads the system's time, and the texts of ids. Tests
// pass their own clock.
#include <superstep/base/clock.hpp>

#include <array>
#include <atomic>
#include <charconv>
#include <random>

#include <pthread.h>

namespace superstep {

namespace {

class machine_clock final : public clock {
public:
  [[nodiscard]] std::chrono::system_clock::time_point now() const override {
    return std::chrono::system_clock::now();
  }
};

} // namespace

const clock& system_clock() noexcept {
  static const auto machine = machine_clock{};
  return machine;
}

namespace {

std::uint64_t random_number() {
  auto from = std::random_device{};
  return (std::uint64_t{from()} << 32U) | from();
}

/// Returns a number of this process that no other process has.
std::uint64_t process_number() {
  static auto number = random_number();
  // a child process would have the same number
  [[maybe_unused]] static const auto registered =
      ::pthread_atfork(nullptr, nullptr, [] { number = random_number(); });
  return number;
}

/// Returns a number that no other call in this process returns, above 0. Each thread takes many
/// numbers at once, so that threads do not wait for each other.
std::uint64_t next_number() noexcept {
  constexpr auto block = std::uint64_t{1'024};
  static auto blocks = std::atomic<std::uint64_t>{1};
  thread_local auto next = std::uint64_t{0};
  if (next % block == 0)
    next = blocks.fetch_add(1, std::memory_order_relaxed) * block;
  return next++;
}

} // namespace

std::uint64_t id_source::take_number() noexcept {
  size_or_number_ = next_number();
  return size_or_number_;
}

// Written without temporary texts, because every message gets an id.
std::string id_source::next() {
  constexpr auto hexadecimal = 16;
  auto numbers = std::array<char, 80>{}; // four numbers of at most 20 digits, and three dashes
  auto* const begin = numbers.data();
  auto* const end = begin + numbers.size();
  auto* key_end = begin;
  const auto run = run_ != nullptr ? std::string_view{run_, size_or_number_} : std::string_view{};
  if (run.empty()) {
    key_end = std::to_chars(begin, end, process_number(), hexadecimal).ptr;
    *key_end++ = '-';
    key_end = std::to_chars(key_end, end, number(), hexadecimal).ptr;
  }
  auto* at = key_end;
  *at++ = '-';
  at = std::to_chars(at, end, step_).ptr;
  *at++ = '-';
  at = std::to_chars(at, end, count_++).ptr;
  auto id = std::string{};
  id.reserve(run.size() + 1 + ns_.size() + static_cast<std::size_t>(at - begin));
  id.append(run).append(begin, key_end);
  if (!ns_.empty())
    id.append(1, '/').append(ns_);
  return id.append(key_end, at);
}

} // namespace superstep
