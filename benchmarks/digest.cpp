// SPDX-License-Identifier: Apache-2.0
// Short digests of texts, by which reports show that the results are right.
#include "digest.hpp"

#include "base/digest.hpp"

namespace superstep::bench {

std::string digest(std::string_view text) {
  constexpr auto digits = std::size_t{16};
  return digest_text(text).substr(0, digits);
}

} // namespace superstep::bench
