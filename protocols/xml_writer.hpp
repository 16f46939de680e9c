// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace superstep {

/// Text between tags: only what would be read as markup is replaced, `&`, `<` and `]]>`.
[[nodiscard]] std::string escape_text(std::string_view text);
/// Text between double quotes.
[[nodiscard]] std::string escape_attribute(std::string_view text);

} // namespace superstep
