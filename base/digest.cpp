// SPDX-License-Identifier: Apache-2.0
// Computes SHA-256 digests with the low-level functions of OpenSSL. Digests identify batch jobs and
// conversation threads, among others.
//
// The EVP functions would initialise OpenSSL's tables of algorithms and read its configuration,
// which takes 5 million instructions: a quarter of the start-up of `superstep run`. The low-level
// functions are deprecated since OpenSSL 3.0, but part of its API.
#define OPENSSL_SUPPRESS_DEPRECATED
#include "base/digest.hpp"

#include "base/hex.hpp"

#include <openssl/sha.h>

#include <array>
#include <new>

namespace superstep {

namespace {

/// Throws if a call of OpenSSL has failed. Without the check, an incomplete digest would identify
/// the wrong job or thread.
void require(int done) {
  if (done != 1)
    throw std::bad_alloc{};
}

} // namespace

struct digest::impl {
  SHA256_CTX context{};
};

digest::digest() : impl_{std::make_unique<impl>()} {
  require(SHA256_Init(&impl_->context));
}

digest::~digest() = default;

void digest::add(std::string_view bytes) {
  require(SHA256_Update(&impl_->context, bytes.data(), bytes.size()));
}

std::string digest::finish() {
  auto bytes = std::array<unsigned char, SHA256_DIGEST_LENGTH>{};
  require(SHA256_Final(bytes.data(), &impl_->context));
  auto out = std::string{};
  for (const auto b : bytes)
    append_hex(out, b);
  return out;
}

std::string digest_text(std::string_view text) {
  auto sum = digest{};
  sum.add(text);
  return sum.finish();
}

} // namespace superstep
