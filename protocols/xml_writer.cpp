// SPDX-License-Identifier: Apache-2.0
#include "protocols/xml_writer.hpp"

namespace superstep {

std::string escape_text(std::string_view text) {
  auto out = std::string{};
  out.reserve(text.size());
  for (auto i = std::size_t{0}; i < text.size(); ++i) {
    const auto c = text[i];
    if (c == '&')
      out += "&amp;";
    else if (c == '<')
      out += "&lt;";
    else if (c == '>' && i >= 2 && text.substr(i - 2, 2) == "]]")
      out += "&gt;";
    else
      out += c;
  }
  return out;
}

std::string escape_attribute(std::string_view text) {
  auto out = std::string{};
  for (const auto c : escape_text(text))
    if (c == '"')
      out += "&quot;";
    else
      out += c;
  return out;
}

} // namespace superstep
