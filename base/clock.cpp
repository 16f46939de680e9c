// SPDX-License-Identifier: Apache-2.0
// The default implementation of clock, which reads the system's time, and the texts of ids. Tests
// pass their own clock.
#include <superstep/base/clock.hpp>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstring>
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

/// Writes a number so that its text ends at `end`. Returns the begin of the text.
template <unsigned Base>
char* write_before(char* end, std::uint64_t number) noexcept {
  do {
    *--end = "0123456789abcdefghijklmnopqrstuv"[number % Base];
    number /= Base;
  } while (number != 0);
  return end;
}

} // namespace

std::uint64_t id_source::take_number() noexcept {
  size_or_number_ = next_number();
  return size_or_number_;
}

// Every message gets an id, so the text is written backwards, without a search for its size. A
// unique id is short enough for a std::string without an allocation, unless the run is very long.
std::string id_source::next() {
  const auto is_unique = run_ == nullptr;
  const auto write = [&](char* end, std::uint64_t number) {
    return is_unique ? write_before<32>(end, number) : write_before<10>(end, number);
  };
  auto text = std::array<char, 64>{}; // a name, three numbers of at most 20 digits, two dashes
  auto* const end = text.data() + text.size();
  auto* at = write(end, count_++);
  *--at = '-';
  at = write(at, static_cast<std::uint64_t>(step_ < 0 ? -step_ : step_));
  if (step_ < 0)
    *--at = '-';
  *--at = '-';
  auto* const key_end = at;
  if (is_unique) {
    at = write(at, number()) - name_size;
    std::memcpy(at, name_of_process().data(), name_size);
    if (ns_.empty())
      return {at, end};
  }
  const auto key =
      is_unique ? std::string_view{at, key_end} : std::string_view{run_, size_or_number_};
  auto id = std::string{};
  id.reserve(key.size() + 1 + ns_.size() + static_cast<std::size_t>(end - key_end));
  id.append(key);
  if (!ns_.empty())
    id.append(1, '/').append(ns_);
  return id.append(key_end, end);
}

} // namespace superstep
