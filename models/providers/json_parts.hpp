// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/json.hpp>
#include <superstep/messages/message.hpp>
#include <superstep/models/model_error.hpp>
#include <superstep/models/providers/provider_format.hpp>

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

namespace superstep::providers {

/// The member, or nullptr when it is absent or null.
[[nodiscard]] const json::value* member(const json::object& o, std::string_view key);
/// The text of a member; "" when it is absent or no text.
[[nodiscard]] std::string_view text_in(const json::object& o, std::string_view key);
/// The object or list a member holds, or nullptr. @{
[[nodiscard]] const json::object* object_in(const json::object& o, std::string_view key);
[[nodiscard]] const json::array* array_in(const json::object& o, std::string_view key);
/// @}
/// The integer a member holds, or 0.
[[nodiscard]] std::int64_t count_in(const json::object& o, std::string_view key);
[[nodiscard]] std::string_view type_of(const json::object& block);
[[nodiscard]] bool is_one_of(std::string_view text, std::initializer_list<std::string_view> words);

/// The members of `from` with these names, as far as it has them.
[[nodiscard]] json::object only(const json::object& from,
                                std::initializer_list<std::string_view> keys);
/// Its members that are not null.
[[nodiscard]] json::object without_nulls(const json::object& from);
/// Every member of `from`, over what is there.
void put_all(json::object& into, const json::object& from);
/// A parameter that is there and not null, under a name of the provider's.
void put_as(json::object& into, std::string_view name, const json::object& from,
            std::string_view key);

/// Whether the content is in the standard form (response_metadata.output_version "v1").
[[nodiscard]] bool is_standard(const message& m);
[[nodiscard]] std::string_view provider_of(const message& m);

/// What is bound beside the tools: parameters like those of the model.
[[nodiscard]] json::object bound_parameters(const provider_question& q);

/// The name of a tool in whichever form, or "".
[[nodiscard]] std::string_view name_of_tool(const json::value& tool);
[[nodiscard]] bool has_tool(const provider_question& q, std::string_view name);
/// Puts the definitions among the tools, for a form that is made from documents.
void spell_out_tools(provider_question& q);

[[nodiscard]] error bad_request(std::string text);
[[nodiscard]] error bad_answer(std::string text);
/// The error of an answer `{"error": …}`; nothing when it is none.
[[nodiscard]] std::optional<error> error_in(const json::object& answer);

/// The `content` of an answer: text, null, or a list of strings and blocks.
[[nodiscard]] result<> read_content(message& m, const json::object& answer);

/// The last call of an answer that was cut, where the server sends arguments as an object: either
/// the model wrote all of it, or the server closed what was open.
[[nodiscard]] invalid_tool_call object_of_cut_answer(std::string id, std::string name,
                                                     std::string_view args, std::string_view cut);

/// An ai chunk that holds nothing yet but who sent it.
[[nodiscard]] message_chunk chunk_of(std::string_view provider);
/// What ends a stream: says nothing but that it was the last.
[[nodiscard]] message_chunk last_chunk();

} // namespace superstep::providers
