// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/error.hpp>

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

namespace superstep {

/// Decompresses a gzip stream (RFC 1952) piece by piece. The reader chooses the size of each piece,
/// so that the memory does not depend on the size of the stream. The contents of all members of the
/// stream are concatenated.
class gunzip {
public:
  gunzip();
  gunzip(gunzip&&) noexcept = default;
  ~gunzip();

  /// Adds compressed bytes. Bytes after a member that do not start another member are ignored, as
  /// by the program gzip: they are padding.
  /// @pre read() has returned 0
  void feed(std::string_view packed);
  /// Decompresses up to `size` bytes and returns their number; 0 if more input is needed or the
  /// stream has ended. Returns an error if the input is not a valid gzip stream.
  [[nodiscard]] result<std::size_t> read(char* into, std::size_t size);
  /// Whether a member has started and not ended. If there is no more input, it is truncated.
  [[nodiscard]] bool is_cut() const noexcept { return at_ == place::in_member; }

private:
  enum class place { before_first, in_member, between, after_last };

  /// Starts the next member, or ends the stream if padding follows.
  /// @pre a member has ended and there is input
  void start_next_member();

  struct state;
  std::unique_ptr<state> state_;
  place at_ = place::before_first;
};

} // namespace superstep
