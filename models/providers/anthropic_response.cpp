// SPDX-License-Identifier: Apache-2.0
// Reads answers of Anthropic's Messages API, complete or streamed.
#include "messages/openai_json.hpp"
#include "messages/spaced_json.hpp"
#include "models/providers/answer_end.hpp"
#include "models/providers/anthropic.hpp"
#include "models/providers/json_parts.hpp"

#include <superstep/messages/messages.hpp>

#include <utility>

namespace superstep::anthropic {

namespace {

using namespace providers;

/// Normalises a block. `caller` null means that the model itself made the call.
void complete_block(json::object& block) {
  if (type_of(block) == "tool_use")
    block.emplace("caller", nullptr);
  if (const auto* citations = block.if_contains("citations"); citations && citations->is_null())
    block.erase("citations");
}

/// Whether the content is one text block without citations. It becomes a plain text.
bool is_lone_text(const json::array& blocks) {
  const auto* block = blocks.size() == 1 ? blocks.front().if_object() : nullptr;
  if (!block || type_of(*block) != "text")
    return false;
  const auto* citations = array_in(*block, "citations");
  return !member(*block, "citations") || (citations && citations->empty());
}

/// Adds a tool call. If the answer was cut (`cut` is not empty), the arguments may be incomplete
/// even if they look complete, so the call is invalid.
void add_tool_use(message& m, const json::object& block, std::string_view cut) {
  auto id = std::string{text_in(block, "id")};
  auto name = std::string{text_in(block, "name")};
  const auto* input = member(block, "input");
  const auto* object = input ? input->if_object() : nullptr;
  if (object && cut.empty())
    m.tool_calls.push_back({std::move(id), std::move(name), *object});
  else if (object)
    m.invalid_tool_calls.push_back(
        object_of_cut_answer(std::move(id), std::move(name), to_text(*object), cut));
  else if (input && input->is_string())
    superstep::add_call(
        m, parse_tool_call(std::move(id), std::move(name), text_in(block, "input"), cut));
  else
    superstep::add_call(m, parse_tool_call(std::move(id), std::move(name),
                                           input ? to_text(*input) : std::string{}, cut));
}

} // namespace

token_usage read_usage(const json::object& usage) {
  // Anthropic counts cached tokens separately. Other providers include them in the input tokens, so
  // they are added here.
  auto out = token_usage{};
  put_as(out.input_details, "cache_read", usage, "cache_read_input_tokens");
  put_as(out.input_details, "cache_creation", usage, "cache_creation_input_tokens");
  auto created = count_in(usage, "cache_creation_input_tokens");
  if (const auto* lifetimes = object_in(usage, "cache_creation")) {
    auto counted = std::int64_t{0};
    for (const auto* key : {"ephemeral_5m_input_tokens", "ephemeral_1h_input_tokens"}) {
      put_as(out.input_details, key, *lifetimes, key);
      counted += count_in(*lifetimes, key);
    }
    if (counted > 0) {
      out.input_details["cache_creation"] = 0; // replaced by the counts of the two lifetimes
      created = created == 0 ? counted : created;
    }
  }
  out.input_tokens =
      count_in(usage, "input_tokens") + created + count_in(usage, "cache_read_input_tokens");
  out.output_tokens = count_in(usage, "output_tokens");
  if (const auto* details = object_in(usage, "output_tokens_details"))
    put_as(out.output_details, "reasoning", *details, "thinking_tokens");
  out.total_tokens = out.input_tokens + out.output_tokens;
  return out;
}

result<message> read_response(const json::object& answer) {
  if (auto fault = error_in(answer))
    return *std::move(fault);
  const auto* content = array_in(answer, "content");
  if (!content)
    return bad_answer("Anthropic's answer has no list `content`");
  auto m = message{};
  m.type = message_type::ai;
  auto blocks = *content;
  for (auto& element : blocks) {
    auto* block = element.if_object();
    if (!block)
      return bad_answer("content: a block must be an object, got " + to_text(element));
    complete_block(*block);
    if (type_of(*block) != "tool_use")
      continue;
    add_tool_use(m, *block, &element == &blocks.back() ? why_cut(answer) : std::string{});
  }
  if (is_lone_text(blocks))
    m.content = text_in(blocks.front().get_object(), "text");
  else
    m.blocks = std::move(blocks);
  for (const auto& [key, value] : answer)
    if (key != "content" && key != "role" && key != "type")
      m.response_metadata[key] = value;
  put_as(m.response_metadata, "model_name", answer, "model");
  m.response_metadata["model_provider"] = "anthropic";
  if (const auto* usage = object_in(answer, "usage"))
    m.usage = read_usage(*usage);
  return m;
}

/// Returns a chunk without content. All chunks of a stream need the same form of content for
/// merging.
message_chunk event_reader::empty_chunk() const {
  auto chunk = chunk_of("anthropic");
  if (!text_only_)
    chunk.part.blocks.emplace();
  return chunk;
}

namespace {

message_chunk chunk_of_block(json::object block, const json::object& event) {
  auto chunk = chunk_of("anthropic");
  put_as(block, "index", event, "index");
  chunk.part.blocks.emplace().push_back(std::move(block));
  return chunk;
}

json::value index_of(const json::object& event) {
  const auto* index = event.if_contains("index");
  return index ? *index : json::value{};
}

} // namespace

/// Handles `message_start`, which contains the model's name and the input token counts.
message_chunk event_reader::start(const json::object& event) {
  auto chunk = empty_chunk();
  const auto* m = object_in(event, "message");
  if (!m)
    return chunk;
  put_as(chunk.part.response_metadata, "model_name", *m, "model");
  if (const auto* usage = object_in(*m, "usage"))
    usage_ = *usage;
  return chunk;
}

/// Returns the text at the start of a block; nullopt if it is empty. Text and thinking usually
/// arrive only in deltas.
std::optional<message_chunk> event_reader::start_text(const json::object& block,
                                                      const json::object& event) const {
  const auto text = text_in(block, "text");
  if (block_type_ != "text" || text.empty())
    return std::nullopt;
  if (!text_only_)
    return chunk_of_block(only(block, {"type", "text"}), event);
  auto chunk = chunk_of("anthropic");
  chunk.part.content = text;
  return chunk;
}

/// Handles `content_block_start`. Returns a piece for a call, for a block that is complete at its
/// start, and for a text that is not empty.
std::optional<message_chunk> event_reader::start_block(const json::object& event) {
  const auto* given = object_in(event, "content_block");
  block_type_ = given ? type_of(*given) : "";
  const auto is_whole = block_type_.find("tool_use") != std::string::npos ||
                        block_type_.find("tool_result") != std::string::npos ||
                        is_one_of(block_type_, {"document", "redacted_thinking"}) ||
                        (block_type_ == "compaction" && member(*given, "content"));
  if (!given || !is_whole)
    return given ? start_text(*given, event) : std::nullopt;
  auto block = *given;
  complete_block(block);
  auto chunk = chunk_of_block(block, event);
  if (block_type_ == "tool_use") {
    // If the arguments are already present, no deltas follow.
    const auto* input = object_in(block, "input");
    chunk.call_chunks.push_back(
        {std::string{text_in(block, "name")},
         input && !input->empty() ? to_spaced_json(*input) : arguments_in(block, "input"),
         std::string{text_in(block, "id")}, index_of(event)});
  }
  return chunk;
}

/// Handles `content_block_delta`. Converts the delta to a block with the same index.
std::optional<message_chunk> event_reader::delta(const json::object& event) const {
  const auto* given = object_in(event, "delta");
  if (!given)
    return std::nullopt;
  auto block = *given;
  const auto type = type_of(*given);
  if (type == "text_delta" && text_only_) {
    auto chunk = chunk_of("anthropic");
    chunk.part.content = text_in(*given, "text");
    return chunk;
  }
  if (type == "text_delta" || type == "citations_delta") {
    block["type"] = "text";
    if (const auto* citation = given->if_contains("citation")) {
      block["citations"] = json::array{*citation};
      block.erase("citation");
    }
    return chunk_of_block(std::move(block), event);
  }
  if (type == "thinking_delta" || type == "signature_delta") {
    block["type"] = "thinking";
    block.emplace("thinking", "");
    return chunk_of_block(std::move(block), event);
  }
  if (type == "compaction_delta") {
    block["type"] = "compaction";
    return chunk_of_block(without_nulls(block), event);
  }
  if (type != "input_json_delta")
    return std::nullopt;
  auto chunk = chunk_of_block(std::move(block), event);
  if (block_type_ == "tool_use")
    chunk.call_chunks.push_back({std::nullopt, std::string{text_in(*given, "partial_json")},
                                 std::nullopt, index_of(event)});
  return chunk;
}

/// Handles `message_delta`. Its counts replace those of earlier events, so only the difference to
/// the reported usage is added.
chunk_result event_reader::end(const json::object& event) {
  auto chunk = empty_chunk();
  if (const auto* usage = object_in(event, "usage"))
    put_all(usage_, without_nulls(*usage));
  if (!usage_.empty()) {
    auto added = not_reported(read_usage(usage_), reported_);
    if (!added)
      return std::move(added).error();
    chunk.part.usage = *std::move(added);
  }
  auto& metadata = chunk.part.response_metadata;
  // Merging concatenates texts in metadata, so they must be reported only once.
  if (const auto* given = object_in(event, "delta"); given && !has_ended_)
    for (const auto* key : {"stop_reason", "stop_sequence", "container"})
      put_as(metadata, key, *given, key);
  put_as(metadata, "context_management", event, "context_management");
  chunk.is_last = metadata.contains("stop_reason");
  has_ended_ = has_ended_ || chunk.is_last;
  return std::optional{std::move(chunk)};
}

chunk_result event_reader::read(const json::object& event) {
  const auto type = type_of(event);
  if (type == "error" || event.contains("error"))
    return error_in(event).value_or(bad_answer("the provider ended the stream with an error"));
  if (type == "message_start")
    return std::optional{start(event)};
  if (type == "content_block_start")
    return start_block(event);
  if (type == "content_block_delta")
    return delta(event);
  if (type == "message_delta")
    return end(event);
  return std::optional<message_chunk>{};
}

} // namespace superstep::anthropic
