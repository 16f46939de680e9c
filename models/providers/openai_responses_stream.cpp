// SPDX-License-Identifier: Apache-2.0
// Reads streams of OpenAI's Responses API. Each item, and each part of an item, becomes a block
// with an index.
#include "base/utf8.hpp"
#include "messages/spaced_json.hpp"
#include "models/providers/json_parts.hpp"
#include "models/providers/openai_responses.hpp"
#include "models/providers/responses_items.hpp"

#include <utility>

namespace superstep::openai_responses {

namespace {

using namespace providers;

/// Returns the error in an `error` or `response.failed` event.
error failure_of(const json::object& event) {
  const auto* answer = object_in(event, "response");
  if (auto fault = answer ? error_in(*answer) : error_in(event))
    return *std::move(fault);
  // An `error` event contains code and message directly. A failed response may contain only its id.
  auto text = std::string{text_in(event, "code")};
  for (const auto detail : {text_in(event, "message"), answer ? text_in(*answer, "id") : ""})
    if (!detail.empty())
      (text += text.empty() ? "" : ": ") += utf8_prefix(detail, 500);
  return bad_answer("the provider ended the stream with an error: " +
                    (text.empty() ? std::string{"no details given"} : text));
}

message_chunk empty_piece() {
  auto chunk = chunk_of("openai");
  chunk.part.blocks.emplace();
  return chunk;
}

} // namespace

/// Returns the position of the event's item in the answer. For tools that the provider runs, the
/// last event of an item may have a higher output_index than the first event. The index of the
/// first event is used, because the item would become two blocks otherwise.
std::int64_t event_reader::place_of(const json::object& event) {
  // Limits the memory if a server uses a new id in every event.
  constexpr auto places_max = std::size_t{10'000};
  const auto given = count_in(event, "output_index");
  const auto* item = object_in(event, "item");
  auto id = item ? text_in(*item, "id") : std::string_view{};
  if (id.empty())
    id = text_in(event, "item_id");
  if (id.empty() || !event.contains("output_index"))
    return given;
  if (const auto known = places_.find(id); known != places_.end())
    return known->second;
  if (places_.size() < places_max)
    places_.emplace(id, given);
  return given;
}

event_reader::streamed_block& event_reader::move_to(const json::object& event,
                                                    std::string_view part_key) {
  item_ = place_of(event);
  auto& part = parts_.try_emplace(item_, part_).first->second;
  if (!part_key.empty() && event.contains(part_key))
    part = count_in(event, part_key);
  part_ = part;
  const auto next = static_cast<std::int64_t>(blocks_.size());
  auto& current = blocks_.try_emplace({item_, part_}, streamed_block{next}).first->second;
  index_ = current.index;
  return current;
}

message_chunk event_reader::chunk_of_block(json::object block) const {
  auto chunk = chunk_of("openai");
  block["index"] = index_;
  chunk.part.blocks.emplace().push_back(std::move(block));
  return chunk;
}

std::optional<message_chunk> event_reader::start_item(const json::object& event) {
  const auto* item = object_in(event, "item");
  const auto type = item ? type_of(*item) : std::string_view{};
  if (type == "message")
    return start_message(event, *item);
  if (!is_one_of(type, {"function_call", "custom_tool_call", "reasoning"}))
    return std::nullopt; // texts arrive in deltas, other items are reported when they are complete
  auto& current = move_to(event, "");
  if (type == "reasoning") {
    auto block = without_nulls(*item);
    for (const auto* key : {"encrypted_content", "content"})
      block.erase(key); // the end of the item repeats it, and merging would append it
    const auto* summary = array_in(block, "summary");
    current.has_text = summary && !summary->empty();
    return chunk_of_block(std::move(block));
  }
  if (type != "function_call")
    return std::nullopt;
  auto arguments = arguments_in(*item, "arguments");
  auto block = only(*item, {"type", "id", "call_id", "name", "arguments", "namespace"});
  block["arguments"] = arguments;
  auto chunk = chunk_of_block(std::move(block));
  calls_[item_] = {arguments, true};
  chunk.call_chunks.push_back({std::string{text_in(*item, "name")}, std::move(arguments),
                               std::string{text_in(*item, "call_id")}, index_});
  return chunk;
}

/// Starts a message item. Its parts get the phase with their first pieces. An empty piece reports
/// that the model is working.
message_chunk event_reader::start_message(const json::object& event, const json::object& item) {
  if (const auto* phase = member(item, "phase"))
    phases_.insert_or_assign(place_of(event), *phase);
  return empty_piece();
}

/// Handles the end of a call, which repeats all arguments. Some servers send the arguments only in
/// this event.
std::optional<message_chunk> event_reader::end_call(const json::object& event,
                                                    const json::object& item) {
  auto& known = calls_[place_of(event)];
  auto whole = arguments_in(item, "arguments");
  const auto rest = whole.starts_with(known.arguments) ? whole.substr(known.arguments.size()) : "";
  if (rest.empty() && known.is_announced)
    return std::nullopt; // the deltas contained all arguments
  move_to(event, "");
  auto block = known.is_announced ? json::object{{"type", "function_call"}}
                                  : only(item, {"type", "id", "call_id", "name", "namespace"});
  block["arguments"] = rest;
  auto chunk = chunk_of_block(std::move(block));
  auto& call = chunk.call_chunks.emplace_back();
  call.args = rest;
  call.index = index_;
  if (!known.is_announced) {
    call.name = text_in(item, "name");
    call.id = text_in(item, "call_id");
  }
  known = {std::move(whole), true};
  return chunk;
}

/// Handles the end of a reasoning item: reports encrypted reasoning, the text of open models
/// (`content`), and a summary without deltas.
std::optional<message_chunk> event_reader::end_reasoning(const json::object& event,
                                                         const json::object& item) {
  const auto& current = move_to(event, "");
  auto block = json::object{};
  if (!text_in(item, "encrypted_content").empty())
    put_as(block, "encrypted_content", item, "encrypted_content");
  if (const auto* texts = array_in(item, "content"); texts && !texts->empty())
    block["content"] = *texts;
  const auto* summary = array_in(item, "summary");
  const auto has_more = summary && !summary->empty() && !current.has_text;
  if (block.empty() && !has_more)
    return std::nullopt; // the deltas contained the whole item
  put_all(block, only(item, {"type", "id"}));
  block["summary"] = has_more ? *summary : json::array{};
  return chunk_of_block(std::move(block));
}

/// Handles the end of an item. Reports what the deltas did not contain.
std::optional<message_chunk> event_reader::end_item(const json::object& event) {
  const auto* item = object_in(event, "item");
  const auto type = item ? type_of(*item) : std::string_view{};
  if (type == "custom_tool_call") {
    move_to(event, "");
    auto chunk = chunk_of_block(*item);
    auto args = to_spaced_json(json::object{{"__arg1", text_in(*item, "input")}}, charset::ascii);
    if (text_in(*item, "status") == "incomplete")
      args.pop_back(); // an unclosed object makes the incomplete call invalid
    chunk.call_chunks.push_back({std::string{text_in(*item, "name")}, std::move(args),
                                 std::string{text_in(*item, "call_id")}, index_});
    return chunk;
  }
  if (type == "reasoning")
    return end_reasoning(event, *item);
  if (type == "function_call")
    return end_call(event, *item);
  if (!item || type == "message")
    return std::nullopt; // the deltas contained the whole item
  move_to(event, "");
  return chunk_of_block(*item);
}

/// Handles the events of a text: deltas, annotations, and the end of the text, which has the item's
/// id.
std::optional<message_chunk> event_reader::add_text(const json::object& event) {
  const auto type = type_of(event);
  auto& current = move_to(event, "content_index");
  const auto piece_of = [&](json::object block) {
    const auto phase = phases_.find(item_);
    if (phase != phases_.end() && !std::exchange(current.has_phase, true))
      block["phase"] = phase->second;
    return chunk_of_block(std::move(block));
  };
  if (type == "response.output_text.delta") {
    current.has_text = true;
    return piece_of({{"type", "text"}, {"text", text_in(event, "delta")}});
  }
  if (type == "response.output_text.done") { // some servers send the text only in this event
    const auto text = current.has_text ? std::string_view{} : text_in(event, "text");
    return piece_of({{"type", "text"}, {"text", text}, {"id", text_in(event, "item_id")}});
  }
  if (type == "response.refusal.done")
    return piece_of({{"type", "refusal"}, {"refusal", text_in(event, "refusal")}});
  const auto* annotation = object_in(event, "annotation");
  if (type != "response.output_text.annotation.added" || !annotation)
    return std::nullopt;
  auto block = json::object{{"type", "text"}};
  block["annotations"] = json::array{annotation_of(*annotation)};
  return piece_of(std::move(block));
}

/// Handles the parts of a reasoning summary. summary_index is the number of the part.
std::optional<message_chunk> event_reader::add_reasoning(const json::object& event) {
  const auto is_delta = type_of(event) == "response.reasoning_summary_text.delta";
  auto& current = move_to(event, "");
  current.has_text = current.has_text || is_delta;
  auto part = json::object{{"type", "summary_text"}, {"text", text_in(event, "delta")}};
  part["index"] = count_in(event, "summary_index");
  auto block = json::object{{"type", "reasoning"}};
  block["summary"] = json::array{std::move(part)};
  if (!is_delta)
    put_as(block, "id", event, "item_id");
  return chunk_of_block(std::move(block));
}

/// Reads the last event. It repeats the whole answer, so only usage and metadata are reported.
chunk_result event_reader::end_of(const json::object& event) const {
  const auto* answer = object_in(event, "response");
  if (!answer)
    return bad_answer("the last event of the stream has no member `response`");
  auto whole = read_response(*answer);
  if (!whole)
    return std::move(whole).error();
  const auto has_content = (whole->blocks && !whole->blocks->empty()) || !whole->tool_calls.empty();
  if (blocks_.empty() && has_content)
    return bad_answer("the stream contains none of the items of its last event");
  auto chunk = last_chunk();
  chunk.part.blocks.emplace(); // the content of every chunk must be a list
  chunk.part.usage = std::move(whole->usage);
  chunk.part.response_metadata = std::move(whole->response_metadata);
  chunk.part.response_metadata.erase("id"); // the first event has reported it
  return std::optional{std::move(chunk)};
}

chunk_result event_reader::read(const json::object& event) {
  const auto type = type_of(event);
  // Records the output_index of each event's item, because the first one is used.
  place_of(event);
  if (type == "error" || type == "response.failed")
    return failure_of(event);
  if (type == "response.completed" || type == "response.incomplete")
    return end_of(event);
  if (type == "response.created") {
    auto chunk = empty_piece();
    if (const auto* answer = object_in(event, "response")) {
      chunk.part.id = text_in(*answer, "id");
      put_as(chunk.part.response_metadata, "id", *answer, "id");
    }
    return std::optional{std::move(chunk)};
  }
  if (type == "response.output_item.added")
    return start_item(event);
  if (type == "response.output_item.done")
    return end_item(event);
  if (type.starts_with("response.output_text.") || type == "response.refusal.done")
    return add_text(event);
  if (type == "response.reasoning_summary_part.added" ||
      type == "response.reasoning_summary_text.delta")
    return add_reasoning(event);
  if (type == "response.image_generation_call.partial_image")
    return std::optional{empty_piece()};
  if (type != "response.function_call_arguments.delta")
    return std::optional<message_chunk>{};
  move_to(event, "");
  const auto delta = arguments_in(event, "delta");
  calls_[item_].arguments += delta;
  auto chunk = chunk_of_block({{"type", "function_call"}, {"arguments", delta}});
  chunk.call_chunks.push_back({std::nullopt, delta, std::nullopt, index_});
  return std::optional{std::move(chunk)};
}

} // namespace superstep::openai_responses
