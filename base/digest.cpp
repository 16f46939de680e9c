// SPDX-License-Identifier: Apache-2.0
// Computes SHA-256 digests with OpenSSL's EVP interface. Digests identify batch jobs and
// conversation threads, among others.
#include "base/digest.hpp"

#include <openssl/evp.h>

#include <array>
#include <new>

namespace superstep {

namespace {

/// Throws if a call of OpenSSL has failed, which happens only for lack of memory. Without the
/// check, an incomplete digest would identify the wrong job or thread.
void require(int done) {
  if (done != 1)
    throw std::bad_alloc{};
}

} // namespace

struct digest::impl {
  EVP_MD_CTX* context = EVP_MD_CTX_new();
  ~impl() { EVP_MD_CTX_free(context); }
};

digest::digest() : impl_{std::make_unique<impl>()} {
  if (impl_->context == nullptr)
    throw std::bad_alloc{};
  require(EVP_DigestInit_ex(impl_->context, EVP_sha256(), nullptr));
}

digest::~digest() = default;

void digest::add(std::string_view bytes) {
  require(EVP_DigestUpdate(impl_->context, bytes.data(), bytes.size()));
}

std::string digest::finish() {
  auto bytes = std::array<unsigned char, EVP_MAX_MD_SIZE>{};
  auto size = 0U;
  require(EVP_DigestFinal_ex(impl_->context, bytes.data(), &size));
  auto out = std::string{};
  for (auto i = 0U; i < size; ++i) {
    out += "0123456789abcdef"[bytes[i] >> 4U];
    out += "0123456789abcdef"[bytes[i] & 15U];
  }
  return out;
}

std::string digest_text(std::string_view text) {
  auto sum = digest{};
  sum.add(text);
  return sum.finish();
}

} // namespace superstep
