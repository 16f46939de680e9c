// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/result.hpp>

#include <memory>
#include <string>
#include <string_view>

// Encryption of rows: AES-256-GCM, a random nonce for each. What is sealed for one place of the
// database cannot be read at another.
namespace superstep::detail {

/// Where a row stands. Its parts must stay while it is used.
struct row_place {
  std::string_view kind;
  std::string_view first;
  std::string_view second{};
  std::string_view third{};
  bool had_first_only = false; ///< up to version 2 rows were not bound to the other parts

  /// What rows are bound to: each part with its length, so that no two places are one text.
  [[nodiscard]] std::string text() const;
  /// What those of up to version 2 are.
  [[nodiscard]] std::string text_of_before() const;
};

class row_cipher {
public:
  /// Without a key rows are as they are. Throws saver_error{wrong_key}: it has another length.
  explicit row_cipher(std::string_view key = {});

  [[nodiscard]] bool is_on() const noexcept { return !key_.empty(); }
  /// `f`, 12 bytes of nonce, the text encrypted, 16 bytes of tag; without a key the text.
  [[nodiscard]] std::string seal(std::string text, const row_place& place) const;
  /// Also of rows of up to version 2, which begin with `e`.
  [[nodiscard]] result<std::string> open(std::string_view bytes, const row_place& place) const;

private:
  std::string key_;
};

} // namespace superstep::detail
