// SPDX-License-Identifier: Apache-2.0
#include "protocols/qwen3_coder_opening.hpp"

#include "protocols/coerce_text.hpp"

namespace superstep::qwen3_coder {

reading opening_at(std::string_view all, std::size_t at, bool complete, tag& found) {
  auto what = read_tag(all, at, found);
  if (what == reading::more)
    return found.closing || complete ? reading::none : what;
  if (what == reading::none || found.closing)
    return reading::none;
  if (found.kind == tag_kind::block || names_call(found))
    return what;
  if (found.kind != tag_kind::call || found.self_closing)
    return reading::none;
  // Words like <tool> stand in prose, too; with a name right behind it one begins a call.
  const auto rest = all.substr(found.to);
  const auto name = all.size() - text::trim_start(rest).size();
  if (name == all.size())
    return complete || rest.size() > stray_space_max ? reading::none : reading::more;
  auto child = tag{};
  const auto next = all[name] == '<' ? read_tag(all, name, child) : reading::none;
  if (next == reading::more && !complete)
    return next;
  const auto is_name = next == reading::tag && child.kind == tag_kind::name && !child.closing;
  return is_name ? reading::tag : reading::none;
}

bool is_plain(std::string_view piece) {
  auto found = tag{};
  for (auto at = piece.find('<'); at != piece.npos; at = piece.find('<', at + 1))
    if (opening_at(piece, at, false, found) != reading::none)
      return false;
  return true;
}

} // namespace superstep::qwen3_coder
