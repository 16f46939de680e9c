// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/messages/message_chunk.hpp>

#include <cstddef>
#include <string>
#include <vector>

namespace superstep {

/// Hears the pieces of an answer and tells of each call as soon as its arguments are complete:
/// where the object of its arguments closes, nothing can be added to it any more.
///
/// What it tells may still not be what the whole answer says, when a model breaks off or writes
/// something behind the object. Whoever acts on it compares.
class call_listener {
public:
  struct bounds {
    std::size_t calls_max = 128;        ///< of one answer; later ones are not told of
    std::size_t bytes_max = 256 * 1024; ///< of the arguments of one call; nor longer ones
  };
  call_listener() = default;
  explicit call_listener(bounds limits) noexcept : limits_{limits} {}

  /// The calls that this piece has completed, in order.
  [[nodiscard]] std::vector<tool_call> hear(const message_chunk& piece);

private:
  struct heard_call {
    json::value index; // null: of a call that came in one piece
    std::string id;
    std::string name;
    std::string args;
    std::size_t depth = 0; // of open brackets outside strings
    bool is_in_string = false;
    bool is_escaped = false;
    bool is_over = false; // told, or given up
  };
  [[nodiscard]] heard_call* call_of(const tool_call_chunk& piece);
  /// True where the arguments close.
  [[nodiscard]] static bool read(heard_call& call, std::string_view more);

  bounds limits_{};
  std::vector<heard_call> calls_;
};

} // namespace superstep
