// SPDX-License-Identifier: Apache-2.0
// The default implementation of clock, which reads the system's time, and the texts of ids. Tests
// pass their own clock.
#include <superstep/base/clock.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <charconv>
#include <cstddef>
#include <random>
#include <string_view>

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

constexpr auto base = 36; // of the numbers in unique ids
constexpr auto letters =
    std::string_view{"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"};
constexpr auto name_size = std::size_t{6}; // 57 thousand million names

using process_name = std::array<char, name_size>;

process_name random_name() {
  auto out = process_name{};
  auto from = std::random_device{};
  auto each = std::uniform_int_distribution<std::size_t>{0, letters.size() - 1};
  for (auto& c : out)
    c = letters[each(from)];
  return out;
}

/// Returns a name of this process that no other process has.
const process_name& name_of_process() {
  static auto name = random_name();
  // a child process would have the same name
  [[maybe_unused]] static const auto registered =
      ::pthread_atfork(nullptr, nullptr, [] { name = random_name(); });
  return name;
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

// Written without temporary texts, because every message gets an id. A unique id is short enough
// for a std::string without an allocation, unless the run is very long.
std::string id_source::next() {
  auto text = std::array<char, 80>{}; // a name, three numbers of at most 20 digits, two dashes
  auto* const begin = text.data();
  auto* const end = begin + text.size();
  const auto is_unique = run_ == nullptr;
  auto* key_end = begin;
  if (is_unique) {
    key_end = std::ranges::copy(name_of_process(), begin).out;
    key_end = std::to_chars(key_end, end, number(), base).ptr;
  }
  auto* at = key_end;
  for (const auto number : {step_, std::int64_t{count_++}}) {
    *at++ = '-';
    at = std::to_chars(at, end, number, is_unique ? base : 10).ptr;
  }
  const auto run = is_unique ? std::string_view{} : std::string_view{run_, size_or_number_};
  auto id = std::string{};
  id.reserve(run.size() + (ns_.empty() ? 0 : 1 + ns_.size()) +
             static_cast<std::size_t>(at - begin));
  id.append(run).append(begin, key_end);
  if (!ns_.empty())
    id.append(1, '/').append(ns_);
  return id.append(key_end, at);
}

} // namespace superstep
