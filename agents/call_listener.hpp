// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/messages/messages.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace superstep {

/// Reads the pieces of a streamed answer and returns each tool call as soon as it is complete. A
/// call is complete when the JSON object of its arguments is closed, and the answer has ended or
/// continued with something else. The second condition is necessary, because further text in the
/// arguments makes the call invalid.
class call_listener {
public:
  struct bounds {
    std::size_t calls_max = 128;        ///< further calls in an answer are ignored
    std::size_t bytes_max = 256 * 1024; ///< size of one call's arguments; a larger call is ignored
  };
  call_listener() = default;
  explicit call_listener(bounds limits) noexcept : limits_{limits} {}

  /// Returns the calls that are complete after this piece, in the order of the answer.
  [[nodiscard]] std::vector<tool_call> add(const message_chunk& piece);

private:
  struct partial_call {
    json::value index; // null for a call that arrives in one piece
    std::string id;
    std::string name;
    std::string args;
    std::size_t depth = 0;                                  // open brackets outside strings
    enum class phase : std::uint8_t { open, closed, over }; // over: returned or dropped
    bool is_in_string = false;
    bool is_escaped = false;
    phase is = phase::open;
  };
  [[nodiscard]] partial_call* call_of(const tool_call_chunk& piece);
  static void read(partial_call& call, std::string_view more);
  /// Adds a call with closed arguments to `out` if it is valid, and marks it as over.
  static void finish(partial_call& call, std::vector<tool_call>& out);

  bounds limits_{};
  std::vector<partial_call> calls_;
  std::size_t done_ = 0; // all calls before this index are over, so they need no further check
};

} // namespace superstep
