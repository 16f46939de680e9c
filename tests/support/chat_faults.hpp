// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>

namespace superstep::test {

/// What the chat server does to a request instead of answering it.
enum class fault : std::uint8_t { none, too_many_requests, server_error, dropped, half_sent };

/// Chances of each fault, in percent of the requests.
struct fault_rates {
  double too_many_requests = 0;
  double server_error = 0;
  double dropped = 0;
  double half_sent = 0;
  std::uint64_t seed = 1;
  std::uint32_t in_a_row_max = 3;
};

/// Draws the faults: the same for the same seed, request text and number of its repetition.
class fault_source {
public:
  explicit fault_source(fault_rates rates) : rates_{rates} {}

  /// The request with this text has come again, or for the first time.
  [[nodiscard]] fault draw(const std::string& request) {
    auto& seen = seen_[hash(request)];
    last_ = unit(hash(request) ^ rates_.seed ^ (++seen.times * 0x9e3779b97f4a7c15));
    auto chosen = pick(last_ * 100);
    if (chosen == fault::none || seen.in_a_row >= rates_.in_a_row_max) {
      seen.in_a_row = 0;
      return fault::none;
    }
    ++seen.in_a_row;
    return chosen;
  }
  /// A second number in [0, 1) for the same draw: how a fault looks.
  [[nodiscard]] double detail() const noexcept {
    return unit(static_cast<std::uint64_t>(last_ * 1e15));
  }

private:
  struct history {
    std::uint64_t times = 0;
    std::uint32_t in_a_row = 0;
  };

  [[nodiscard]] fault pick(double percent) const noexcept {
    if (percent < rates_.too_many_requests)
      return fault::too_many_requests;
    percent -= rates_.too_many_requests;
    if (percent < rates_.server_error)
      return fault::server_error;
    percent -= rates_.server_error;
    if (percent < rates_.dropped)
      return fault::dropped;
    percent -= rates_.dropped;
    return percent < rates_.half_sent ? fault::half_sent : fault::none;
  }
  static std::uint64_t hash(std::string_view text) noexcept {
    auto out = std::uint64_t{0xcbf29ce484222325};
    for (const auto c : text)
      out = (out ^ static_cast<unsigned char>(c)) * 0x100000001b3;
    return out;
  }
  static double unit(std::uint64_t x) noexcept {
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
    x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
    return static_cast<double>((x ^ (x >> 31)) >> 11) * 0x1p-53;
  }

  fault_rates rates_;
  std::unordered_map<std::uint64_t, history> seen_; // bounded by the test's distinct requests
  double last_ = 0;
};

} // namespace superstep::test
