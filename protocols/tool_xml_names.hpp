// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "protocols/xml_reader.hpp"

#include <superstep/base/json.hpp>
#include <superstep/base/result.hpp>

#include <string_view>

namespace superstep {

/// What reading needs to know of a schema; made once for all that is read by it.
struct xml_names {
  explicit xml_names(const json::value& schema);
  raw_names raw;  ///< strings anywhere in it: what they hold is never read as markup
  raw_names once; ///< strings at the top: they do not make lists
};

/// Whether the last of repeated texts counts: models repeat them beside a `command` that is a list.
[[nodiscard]] bool keeps_last_text(const json::value& schema);

/// As the public function, for a schema whose names are known.
[[nodiscard]] result<json::value> parse_tool_xml(std::string_view xml, const json::value& schema,
                                                 const xml_names& names, bool repair);

} // namespace superstep
