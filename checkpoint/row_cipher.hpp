// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/error.hpp>

#include <memory>
#include <string>
#include <string_view>

// Encryption of rows with AES-256-GCM and a random nonce per row. The place of a row in the
// database is part of the authenticated data. So an attacker who copies a row to another place,
// such as another thread, makes it unreadable there.
namespace superstep::detail {

/// The place of a row in the database: the kind of row and the columns that identify it. It refers
/// to strings of the caller.
struct row_place {
  std::string_view kind;
  std::string_view first;
  std::string_view second{};
  std::string_view third{};
  bool legacy_first_only = false; ///< whether format versions 1 and 2 used only `kind` and `first`

  /// Returns the authenticated data. It contains the length of each part before the part, so that
  /// two places never have the same text.
  [[nodiscard]] std::string text() const;
  /// Returns the authenticated data of format versions 1 and 2.
  [[nodiscard]] std::string legacy_text() const;
};

/// Encrypts and decrypts rows with one key. Without a key, rows are not changed.
class row_cipher {
public:
  /// @param key 32 bytes, or empty for no encryption
  /// @throws checkpoint_error{wrong_key} for any other length
  explicit row_cipher(std::string_view key = {});

  [[nodiscard]] bool is_on() const noexcept { return !key_.empty(); }
  /// Encrypts a row. Returns the letter `f`, 12 bytes of nonce, the encrypted text and 16 bytes of
  /// tag.
  [[nodiscard]] std::string seal(std::string text, const row_place& place) const;
  /// Decrypts a row. Also reads rows of format versions 1 and 2, which start with `e`.
  [[nodiscard]] result<std::string> open(std::string_view bytes, const row_place& place) const;

private:
  std::string key_;
};

} // namespace superstep::detail
