// SPDX-License-Identifier: Apache-2.0
// Appends pieces of a streamed answer, and builds the message when the stream ends. The JSON form
// of chunks is in chunk_json.cpp, the merging of metadata and blocks in merge.cpp.
#include "argument_json.hpp"
#include "messages/append_chunk.hpp"
#include "messages/merge.hpp"
#include "messages/openai_json.hpp"
#include "messages/partial_json.hpp"

#include <superstep/base/detail/assert.hpp>
#include <superstep/messages/message_json.hpp>
#include <superstep/messages/messages.hpp>

#include <algorithm>
#include <iterator>
#include <utility>

namespace superstep {

namespace {

error unlike(std::string text) {
  return {errc::invalid_argument, "cannot merge stream chunks: " + std::move(text)};
}

/// Rejects chunks of different messages.
result<> check_addable(const message& a, const message& b) {
  if (a.type != b.type)
    return unlike("their message types differ: " + std::string{to_string(a.type)} + " and " +
                  std::string{to_string(b.type)});
  if (a.type == message_type::chat && a.role != b.role)
    return unlike("their roles differ: \"" + a.role.value_or({}) + "\" and \"" +
                  b.role.value_or({}) + '"');
  if (a.type == message_type::function && a.name != b.name)
    return unlike("they are results of different functions: \"" + a.name + "\" and \"" + b.name +
                  '"');
  if (a.type == message_type::tool && a.tool_call_id != b.tool_call_id)
    return unlike("they are results of different calls: \"" + a.tool_call_id + "\" and \"" +
                  b.tool_call_id + '"');
  return {};
}

/// Appends content. As soon as one side is a list, the sum is a list.
result<> append_content(message& into, message&& more) {
  if (!into.blocks && !more.blocks) {
    into.content += more.content;
    return {};
  }
  if (!more.blocks && more.content.empty())
    return {};
  if (!into.blocks) {
    auto& list = into.blocks.emplace();
    list.emplace_back(std::exchange(into.content, {}));
  }
  auto& list = *into.blocks;
  if (more.blocks)
    return merge_lists(list, *more.blocks);
  if (!list.empty() && list.back().is_string())
    list.back().get_string().append(more.content.begin(), more.content.end());
  else
    list.emplace_back(more.content);
  return {};
}

/// Returns the rank of an id; the lower rank takes precedence. 0: assigned by the provider, 1:
/// generated for a run, 2: generated for a block, 3: no id.
int rank_of(std::string_view id) {
  if (id.empty())
    return 3;
  if (id.starts_with("lc_run-"))
    return 1;
  return id.starts_with("lc_") ? 2 : 0;
}

/// Appends a text. A text that has never arrived stays unset and does not become empty.
void add_piece(std::optional<std::string>& into, std::optional<std::string>&& more) {
  if (!into)
    into = std::move(more);
  else if (more)
    *into += *more;
}

/// Whether pieces can be joined by this index: an integer, or a text that begins with `lc_`. Other
/// texts are not unique per call.
bool has_index(const tool_call_chunk& c) {
  const auto* text = c.index.if_string();
  return c.index.is_int64() || c.index.is_uint64() || (text && text->starts_with("lc_"));
}

bool has_text(const std::optional<std::string>& id) {
  return id && !id->empty();
}

/// Finds the call that a piece belongs to. A new call with a different id may reuse an index. A
/// piece without an id then belongs to the latest of these calls.
std::vector<tool_call_chunk>::iterator find_call(std::vector<tool_call_chunk>& in,
                                                 const tool_call_chunk& piece, bool is_sorted) {
  const auto belongs = [&](const tool_call_chunk& c) {
    return c.index == piece.index && (!has_text(c.id) || !has_text(piece.id) || c.id == piece.id);
  };
  if (!has_index(piece))
    return in.end();
  if (!is_sorted || !piece.index.is_int64()) {
    const auto found = std::find_if(in.rbegin(), in.rend(), belongs);
    return found == in.rend() ? in.end() : std::prev(found.base());
  }
  const auto at = std::ranges::lower_bound(in, piece.index.get_int64(), {},
                                           [](const auto& c) { return c.index.get_int64(); });
  return at != in.end() && belongs(*at) ? at : in.end();
}

/// Appends a piece of a tool call: to the call with its index, or as a new call.
void append_call(std::vector<tool_call_chunk>& into, tool_call_chunk&& more, bool& is_sorted) {
  const auto found = find_call(into, more, is_sorted);
  if (found == into.end()) {
    is_sorted = is_sorted && more.index.is_int64() &&
                (into.empty() || into.back().index.get_int64() < more.index.get_int64());
    into.push_back(std::move(more));
    return;
  }
  add_piece(found->name, std::move(more.name));
  add_piece(found->args, std::move(more.args));
  if (!has_text(found->id))
    found->id = std::move(more.id);
}

/// Adds usage; most chunks of a stream have none.
result<> append_usage(optional_box<token_usage>& into, optional_box<token_usage>&& more) {
  if (!more)
    return {};
  if (!into) {
    into = std::move(more);
    return {};
  }
  auto sum = add_usage(*into, *more);
  if (!sum)
    return std::move(sum).error();
  into = *std::move(sum);
  return {};
}

/// Merges the metadata of a piece into that of the sum.
result<> append_members(object_box& into, const object_box& more) {
  return more.empty() ? result<>{} : merge_members(into.edit(), more);
}

/// Merges two artifacts by the rules of merge_members(), which apply to members of any type.
result<> append_artifact(json::value& into, const json::value& more) {
  auto whole = json::object{{"artifact", std::move(into)}};
  if (auto merged = merge_members(whole, {{"artifact", more}}); !merged)
    return merged;
  into = std::move(whole["artifact"]);
  return {};
}

} // namespace

result<> append(message_chunk& into, message_chunk more) {
  auto is_sorted = false;
  return append_chunk(into, std::move(more), is_sorted);
}

bool has_sorted_calls(const message_chunk& chunk) noexcept {
  const auto& calls = chunk.call_chunks;
  const auto is_integer = [](const tool_call_chunk& c) { return c.index.is_int64(); };
  const auto is_not_less = [](const tool_call_chunk& a, const tool_call_chunk& b) {
    return a.index.get_int64() >= b.index.get_int64();
  };
  return std::ranges::all_of(calls, is_integer) &&
         std::ranges::adjacent_find(calls, is_not_less) == calls.end();
}

result<> append_chunk(message_chunk& into, message_chunk more, bool& is_sorted) {
  auto& sum = into.part;
  if (auto addable = check_addable(sum, more.part); !addable)
    return addable;
  if (rank_of(more.part.id) < rank_of(sum.id) && sum.type == message_type::ai)
    sum.id = std::move(more.part.id);
  if (sum.type != message_type::function)
    sum.name.clear();
  if (auto appended = append_content(sum, std::move(more.part)); !appended)
    return appended;
  if (auto merged = append_members(sum.additional_kwargs, more.part.additional_kwargs); !merged)
    return merged;
  if (auto merged = append_members(sum.response_metadata, more.part.response_metadata); !merged)
    return merged;
  if (auto added = append_usage(sum.usage, std::move(more.part.usage)); !added)
    return added;
  if (sum.type == message_type::tool) {
    sum.is_error = sum.is_error || more.part.is_error;
    if (auto merged = append_artifact(sum.artifact, more.part.artifact); !merged)
      return merged;
  }
  for (auto& call : more.call_chunks)
    append_call(into.call_chunks, std::move(call), is_sorted);
  into.is_last = into.is_last || more.is_last;
  return {};
}

namespace {

/// Replaces a tool_call_chunk block by a tool_call block, if the call with its id has been parsed.
void complete_call(json::object& block, const std::vector<tool_call>& calls) {
  const auto* id = block.if_contains("id");
  const auto call = std::find_if(calls.begin(), calls.end(), [&](const tool_call& c) {
    return id && *id == json::value(c.id);
  });
  if (call == calls.end())
    return;
  auto whole = json::object{
      {"type", "tool_call"}, {"name", call->name}, {"args", call->args}, {"id", call->id}};
  if (const auto* extras = block.if_contains("extras"))
    whole["extras"] = *extras;
  block = std::move(whole);
}

/// Parses the arguments of a call of a provider-run tool. They exist only in the block, because
/// such calls are not in `tool_calls`.
void complete_server_call(json::object& block) {
  auto& text = block["args"];
  if (!text.is_string() && !text.is_null())
    return;
  auto args = text.is_null() || text == "" ? result<json::value>{json::object{}}
                                           : parse_argument_json(text.get_string());
  if (!args || !args->is_object())
    return;
  text = *std::move(args);
  block["type"] = "server_tool_call";
}

/// Replaces the blocks of call pieces in a finished answer by blocks of complete calls. Only for
/// answers in standard form, whose content contains such blocks.
void complete_blocks(message& m) {
  const auto* version = m.response_metadata.if_contains("output_version");
  if (!version || *version != "v1" || !m.blocks)
    return;
  for (auto& element : *m.blocks) {
    auto* block = element.if_object();
    const auto* type = block ? block->if_contains("type") : nullptr;
    if (type && *type == "tool_call_chunk")
      complete_call(*block, m.tool_calls);
    else if (type && (*type == "server_tool_call_chunk" || *type == "server_tool_call"))
      complete_server_call(*block);
  }
}

/// Parses the pieces of calls received so far; incomplete arguments are completed.
void read_pieces(message& m, const std::vector<tool_call_chunk>& pieces) {
  m.tool_calls.clear();
  m.invalid_tool_calls.clear();
  for (const auto& call : pieces) {
    const auto text = call.args.value_or("");
    auto args = text.empty() ? result<json::value>{json::object{}} : parse_partial_json(text);
    if (args && args->is_object())
      m.tool_calls.push_back(
          {call.id.value_or(""), call.name.value_or(""), std::move(args->get_object())});
    else
      m.invalid_tool_calls.push_back({call.id.value_or(""), call.name.value_or(""), text, {}});
  }
}

} // namespace

void read_calls(message_chunk& chunk) {
  if (!chunk.call_chunks.empty())
    read_pieces(chunk.part, chunk.call_chunks);
  if (chunk.is_last)
    complete_blocks(chunk.part);
}

message to_message(message_chunk chunk) {
  read_calls(chunk);
  return std::move(chunk.part);
}

message to_answer(message_chunk chunk, std::string_view cut) {
  // The calls that read_calls() may have parsed from incomplete pieces are replaced.
  auto& m = chunk.part;
  if (!chunk.call_chunks.empty()) {
    m.tool_calls.clear();
    m.invalid_tool_calls.clear();
  }
  for (auto& call : chunk.call_chunks)
    add_call(m, parse_tool_call(std::move(call.id).value_or(""), std::move(call.name).value_or(""),
                                call.args.value_or(""), cut));
  if (chunk.is_last)
    complete_blocks(m);
  return std::move(m);
}

} // namespace superstep
