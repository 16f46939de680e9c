// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>

namespace superstep::test {

/// Faults of the chat server in the answer to one request.
enum class fault : std::uint8_t {
  none,
  too_many_requests,
  server_error,
  dropped,
  half_sent,
  second_answer,  ///< the answer, followed by another one that was not requested
  large,          ///< the answer, with 15 MB in a member that clients ignore
  many_calls,     ///< 100,000 tool calls
  not_a_number,   ///< NaN and infinities, which are not valid JSON
  lone_surrogate, ///< half of a surrogate pair, escaped or as bytes
  garbage,        ///< not an answer of a model, or not HTTP
  slow,           ///< the answer, in small pieces for a second
  stalled         ///< silence until the client disconnects
};

/// Name of a fault in options ("--fault-NAME") and in statistics.
struct fault_name {
  std::string_view option;
  std::string_view count;
};

inline constexpr auto fault_names = std::array<fault_name, 13>{{{"none", "untouched"},
                                                                {"429", "too_many_requests"},
                                                                {"500", "server_errors"},
                                                                {"drop", "dropped"},
                                                                {"half", "half_sent"},
                                                                {"second", "second_answers"},
                                                                {"large", "large"},
                                                                {"calls", "many_calls"},
                                                                {"nan", "not_a_number"},
                                                                {"surrogate", "lone_surrogates"},
                                                                {"garbage", "garbage"},
                                                                {"slow", "slow"},
                                                                {"stall", "stalled"}}};
inline constexpr auto fault_count = fault_names.size();

/// Probability of each fault, in percent of the requests.
struct fault_rates {
  std::array<double, fault_count> percent{}; ///< by fault; the entry of `none` is unused
  std::uint64_t seed = 1;
  std::uint32_t in_a_row_max = 3;
};

/// Draws faults that depend only on the seed, the request text and how often it was sent.
class fault_source {
public:
  explicit fault_source(fault_rates rates) : rates_{rates} {}

  /// Draws the fault for a received request. A repeated request may get another fault.
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
  /// Returns a second number in [0, 1) for the same draw, which selects the variant of a fault.
  [[nodiscard]] double detail() const noexcept {
    return unit(static_cast<std::uint64_t>(last_ * 1e15));
  }

private:
  struct history {
    std::uint64_t times = 0;
    std::uint32_t in_a_row = 0;
  };

  [[nodiscard]] fault pick(double percent) const noexcept {
    for (auto i = std::size_t{1}; i < fault_count; ++i) {
      if (percent < rates_.percent[i])
        return static_cast<fault>(i);
      percent -= rates_.percent[i];
    }
    return fault::none;
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
