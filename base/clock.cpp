// SPDX-License-Identifier: Apache-2.0
// The default implementation of clock, which reads the system's time, and the texts of ids. Tests
// pass their own clock.
#include <superstep/base/clock.hpp>

#include <array>
#include <charconv>

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

// Written without temporary texts, because every message gets an id.
std::string id_source::next() {
  auto numbers = std::array<char, 40>{}; // two dashes and two numbers of at most 20 digits
  auto* const begin = numbers.data();
  auto* const end = begin + numbers.size();
  auto* at = begin;
  *at++ = '-';
  at = std::to_chars(at, end, step_).ptr;
  *at++ = '-';
  at = std::to_chars(at, end, count_++).ptr;
  auto id = std::string{};
  id.reserve(run_.size() + 1 + ns_.size() + static_cast<std::size_t>(at - begin));
  id.append(run_);
  if (!ns_.empty())
    id.append(1, '/').append(ns_);
  return id.append(begin, at);
}

} // namespace superstep
