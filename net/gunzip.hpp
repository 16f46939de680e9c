// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/error.hpp>

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

namespace superstep {

/// Unpacks a gzip stream piece by piece, in memory that does not depend on its size: whoever reads
/// decides how much comes out.
class gunzip {
public:
  gunzip();
  gunzip(gunzip&&) noexcept = default;
  ~gunzip();

  /// The next packed bytes. What follows the end of the stream is passed over.
  /// @pre read() has returned 0
  void feed(std::string_view packed);
  /// Unpacks up to `size` bytes; 0: it needs more, or is done. An error when it is no gzip stream.
  [[nodiscard]] result<std::size_t> read(char* into, std::size_t size);
  /// Whether it has begun and not come to its end.
  [[nodiscard]] bool is_cut() const noexcept { return has_begun_ && !is_done_; }

private:
  struct state;
  std::unique_ptr<state> state_;
  bool has_begun_ = false;
  bool is_done_ = false;
};

} // namespace superstep
