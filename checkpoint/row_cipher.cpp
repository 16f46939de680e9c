// SPDX-License-Identifier: Apache-2.0
// Encrypts rows with OpenSSL, and reads the key from the environment. The cipher is AES-256-GCM as
// in NIST SP 800-38D, with a random nonce of 96 bits and a tag of 128 bits. The place of the row in
// the database is authenticated together with the row.
#include "row_cipher.hpp"

#include <superstep/checkpoint/checkpointer.hpp>
#include <superstep/checkpoint/sqlite.hpp>

#include <openssl/evp.h>
#include <openssl/rand.h>

#include <algorithm>
#include <cstdlib>
#include <utility>

namespace superstep {

namespace {

checkpoint_error bad_key(const std::string& text) {
  return {make_error_code(checkpoint_errc::wrong_key), text};
}

int digit_of(char c) noexcept {
  if (c >= '0' && c <= '9')
    return c - '0';
  const auto lower = static_cast<char>(c | 0x20);
  return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

} // namespace

std::string encryption_key_from_environment(const char* name) {
  const auto* set = std::getenv(name);
  if (set == nullptr || *set == '\0')
    return {};
  const auto text = std::string_view{set};
  if (text.size() != 2 * encryption_key_bytes ||
      !std::ranges::all_of(text, [](char c) { return digit_of(c) >= 0; }))
    throw bad_key("environment variable " + std::string{name} +
                  " is not a valid key: it must be 64 hexadecimal digits, as printed by `openssl "
                  "rand -hex 32`");
  auto key = std::string{};
  for (auto i = std::size_t{0}; i < text.size(); i += 2)
    key += static_cast<char>(digit_of(text[i]) * 16 + digit_of(text[i + 1]));
  return key;
}

namespace detail {

namespace {

constexpr auto nonce_size = std::size_t{12};
constexpr auto tag_size = std::size_t{16};
constexpr auto seal_marker = 'f';
constexpr auto legacy_seal_marker = 'e'; // the marker in format versions 1 and 2
constexpr auto sealed_header_size = 1 + nonce_size;

using context_ptr = std::unique_ptr<EVP_CIPHER_CTX, decltype(&EVP_CIPHER_CTX_free)>;

const unsigned char* bytes_of(std::string_view text) noexcept {
  return reinterpret_cast<const unsigned char*>(text.data());
}

[[noreturn]] void throw_failed() {
  throw checkpoint_error{make_error_code(checkpoint_errc::failed),
                         "OpenSSL failed to encrypt a row; the row was not saved"};
}

} // namespace

row_cipher::row_cipher(std::string_view key) : key_{key} {
  if (!key.empty() && key.size() != encryption_key_bytes)
    throw bad_key("an encryption key must have " + std::to_string(encryption_key_bytes) +
                  " bytes, but this one has " + std::to_string(key.size()));
}

std::string row_place::text() const {
  auto out = std::string{};
  for (const auto part : {kind, first, second, third}) {
    out += std::to_string(part.size());
    out += ':';
    out += part;
  }
  return out;
}

std::string row_place::legacy_text() const {
  auto out = std::string{kind} + '/' + std::string{first};
  if (!legacy_first_only)
    out += '/' + std::string{second};
  return out;
}

std::string row_cipher::seal(std::string text, const row_place& at_place) const {
  if (!is_on())
    return text;
  const auto place = at_place.text();
  auto out = std::string(sealed_header_size + text.size() + tag_size, '\0');
  auto* const to = reinterpret_cast<unsigned char*>(out.data());
  out[0] = seal_marker;
  auto length = 0;
  const auto at = context_ptr{EVP_CIPHER_CTX_new(), &EVP_CIPHER_CTX_free};
  // EVP_EncryptUpdate() without an output buffer adds authenticated data, here the place. GCM has
  // no padding, so the encrypted text is as long as the plain text.
  if (!at || RAND_bytes(to + 1, static_cast<int>(nonce_size)) != 1 ||
      EVP_EncryptInit_ex(at.get(), EVP_aes_256_gcm(), nullptr, bytes_of(key_), to + 1) != 1 ||
      EVP_EncryptUpdate(at.get(), nullptr, &length, bytes_of(place),
                        static_cast<int>(place.size())) != 1 ||
      EVP_EncryptUpdate(at.get(), to + sealed_header_size, &length, bytes_of(text),
                        static_cast<int>(text.size())) != 1 ||
      EVP_EncryptFinal_ex(at.get(), to + sealed_header_size + text.size(), &length) != 1 ||
      EVP_CIPHER_CTX_ctrl(at.get(), EVP_CTRL_GCM_GET_TAG, static_cast<int>(tag_size),
                          to + sealed_header_size + text.size()) != 1)
    throw_failed();
  return out;
}

result<std::string> row_cipher::open(std::string_view bytes, const row_place& at_place) const {
  if (!is_on())
    return std::string{bytes};
  const auto is_legacy = bytes.starts_with(legacy_seal_marker);
  if ((!is_legacy && !bytes.starts_with(seal_marker)) ||
      bytes.size() < sealed_header_size + tag_size)
    return error{errc::parse_failed, "a row is not encrypted, or is damaged"};
  const auto place = is_legacy ? at_place.legacy_text() : at_place.text();
  const auto size = bytes.size() - sealed_header_size - tag_size;
  auto out = std::string(size, '\0');
  auto tag = std::string{bytes.substr(bytes.size() - tag_size)};
  auto* const to = reinterpret_cast<unsigned char*>(out.data());
  auto length = 0;
  const auto at = context_ptr{EVP_CIPHER_CTX_new(), &EVP_CIPHER_CTX_free};
  if (!at ||
      EVP_DecryptInit_ex(at.get(), EVP_aes_256_gcm(), nullptr, bytes_of(key_),
                         bytes_of(bytes.substr(1))) != 1 ||
      EVP_DecryptUpdate(at.get(), nullptr, &length, bytes_of(place),
                        static_cast<int>(place.size())) != 1 ||
      EVP_DecryptUpdate(at.get(), to, &length, bytes_of(bytes.substr(sealed_header_size)),
                        static_cast<int>(size)) != 1 ||
      EVP_CIPHER_CTX_ctrl(at.get(), EVP_CTRL_GCM_SET_TAG, static_cast<int>(tag_size), tag.data()) !=
          1 ||
      EVP_DecryptFinal_ex(at.get(), to + size, &length) != 1)
    return error{
        errc::parse_failed,
        "an encrypted row is damaged, was copied from another place of the database, or was "
        "encrypted with another key"};
  return out;
}

} // namespace detail

} // namespace superstep
