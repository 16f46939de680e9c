// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/messages/messages.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace superstep {

/// Reads the pieces of an answer and reports each call as soon as it is complete: the object of its
/// arguments has closed, nothing but white space follows, and the model has started something
/// else. A call whose object merely closed may be followed by another object, which makes it
/// invalid.
class call_listener {
public:
  struct bounds {
    std::size_t calls_max = 128;        ///< of one answer; later ones are not told of
    std::size_t bytes_max = 256 * 1024; ///< of the arguments of one call; nor longer ones
  };
  call_listener() = default;
  explicit call_listener(bounds limits) noexcept : limits_{limits} {}

  /// The calls that are complete with this piece, in order.
  [[nodiscard]] std::vector<tool_call> hear(const message_chunk& piece);

private:
  struct heard_call {
    json::value index; // null: of a call that came in one piece
    std::string id;
    std::string name;
    std::string args;
    std::size_t depth = 0; // of open brackets outside strings
    enum class phase : std::uint8_t { open, closed, over }; // over: reported or dropped
    bool is_in_string = false;
    bool is_escaped = false;
    phase is = phase::open;
  };
  [[nodiscard]] heard_call* call_of(const tool_call_chunk& piece);
  static void read(heard_call& call, std::string_view more);
  /// Ends a call whose arguments have closed.
  static void tell(heard_call& call, std::vector<tool_call>& out);

  bounds limits_{};
  std::vector<heard_call> calls_;
  std::size_t told_ = 0; // calls before this one are over
};

} // namespace superstep
