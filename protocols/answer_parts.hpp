// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/protocols/tool_protocol.hpp>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

namespace superstep {

/// Maximum number of calls parsed from one answer. Later calls remain text. The limit bounds the
/// memory, because a parsed call needs far more memory than its text. Users can set a limit of
/// their own, protocol_options::calls_max, which is lower by default.
inline constexpr auto answer_calls_max = std::size_t{10'000};

/// Returns the tool with this name, or null.
[[nodiscard]] inline const protocol_tool* find_tool(const std::vector<protocol_tool>& tools,
                                                    std::string_view name) noexcept {
  const auto found = std::ranges::find(tools, name, &protocol_tool::name);
  return found == tools.end() ? nullptr : &*found;
}

/// The parts of an answer while it is parsed. Adjacent texts are joined.
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

/// Finds the first call that the model wrote as JSON instead of in the format of the protocol. The
/// JSON may be in `<tool_call>` tags, in a code fence or bare.
/// @return the call and the texts before and after it; nullopt if there is no such call
[[nodiscard]] std::optional<std::vector<parsed_part>>
recover_json_call(std::string_view text, const std::vector<protocol_tool>& tools);

} // namespace superstep
