// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <string_view>

namespace superstep {

/// Computes SHA-256 over data that is added in pieces.
class digest {
public:
  digest();
  ~digest();
  digest(const digest&) = delete;
  digest& operator=(const digest&) = delete;

  /// Adds the next bytes.
  void add(std::string_view bytes);
  /// Returns the digest as 64 hexadecimal digits. No other member may be called afterwards.
  [[nodiscard]] std::string finish();

private:
  struct impl;
  std::unique_ptr<impl> impl_;
};

/// Returns the SHA-256 of a text as 64 hexadecimal digits.
[[nodiscard]] std::string digest_text(std::string_view text);

} // namespace superstep
