// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/protocols/tool_protocol.hpp>

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <vector>

namespace superstep {

/// Most calls that are read from one answer. What follows is text: no model means more, and each
/// costs far more memory than its text.
inline constexpr auto answer_calls_max = std::size_t{10'000};

/// The tool of that name; null: there is none.
[[nodiscard]] inline const protocol_tool* find_tool(const std::vector<protocol_tool>& tools,
                                                    std::string_view name) noexcept {
  const auto found = std::ranges::find(tools, name, &protocol_tool::name);
  return found == tools.end() ? nullptr : &*found;
}

/// Collects parts; text beside text becomes one.
class part_list {
public:
  void add_text(std::string_view text) {
    if (text.empty())
      return;
    if (!parts_.empty())
      if (auto* last = std::get_if<parsed_text>(&parts_.back())) {
        last->text += text;
        return;
      }
    parts_.emplace_back(parsed_text{std::string{text}});
  }
  void add_call(parsed_call call) { parts_.emplace_back(std::move(call)); }
  [[nodiscard]] std::vector<parsed_part> take() && { return std::move(parts_); }

private:
  std::vector<parsed_part> parts_;
};

} // namespace superstep
