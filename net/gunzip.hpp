// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/error.hpp>

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

namespace superstep {

/// Decompresses a gzip stream (RFC 1952) piece by piece. The reader chooses the size of each piece,
/// so that the memory does not depend on the size of the stream.
class gunzip {
public:
  gunzip();
  gunzip(gunzip&&) noexcept = default;
  ~gunzip();

  /// Adds compressed bytes. Bytes after the end of the stream are ignored.
  /// @pre read() has returned 0
  void feed(std::string_view packed);
  /// Decompresses up to `size` bytes and returns their number; 0 if more input is needed or the
  /// stream has ended. Returns an error if the input is not a valid gzip stream.
  [[nodiscard]] result<std::size_t> read(char* into, std::size_t size);
  /// Whether the stream has started and not ended. If there is no more input, it is truncated.
  [[nodiscard]] bool is_cut() const noexcept { return has_begun_ && !is_done_; }

private:
  struct state;
  std::unique_ptr<state> state_;
  bool has_begun_ = false;
  bool is_done_ = false;
};

} // namespace superstep
