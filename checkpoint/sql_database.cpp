// SPDX-License-Identifier: Apache-2.0
// Converts texts to rows and back, in the same way for all databases.
#include "sql_database.hpp"

#include "row_bytes.hpp"

#include <utility>

namespace superstep::detail {

/// Compresses the text before encrypting it, because encrypted bytes cannot be compressed.
std::string database::to_row(std::string text, const row_place& place) const {
  return cipher_.seal(pack_row(std::move(text)), place);
}

result<std::string> database::from_row(std::string_view bytes, const row_place& place) const {
  if (!cipher_.is_on())
    return unpack_row(bytes);
  const auto open = cipher_.open(bytes, place);
  return open ? unpack_row(*open) : open;
}

} // namespace superstep::detail
