// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/error.hpp>
#include <superstep/base/json.hpp>
#include <superstep/models/chat_model.hpp>

#include <optional>

namespace superstep {

/// Converts a schema to the subset of JSON Schema that OpenAI's strict mode accepts. The conversion
/// is lossless: remove_absent() converts each answer that matches the result to an answer that
/// matches the original, and no answer of the declared members is excluded. These are the changes:
///
/// - An object without `additionalProperties` gets `additionalProperties: false`.
/// - All members of an object are required. A member that was optional, and not null, may be null.
/// - A reference with a description, and `allOf` with one element, are replaced by their target.
/// - A missing `type` is added if the other keywords determine it.
/// - Keywords that do not constrain values are removed: $schema, $id, $comment, default, examples.
///
/// @param schema must have the type object
/// @return the schema, or the reason why it cannot be converted, with the path in the schema
///
/// Source: https://platform.openai.com/docs/guides/structured-outputs#supported-schemas
[[nodiscard]] result<json::object> to_strict_schema(const json::object& schema);

/// Returns the converted schema if the answer must be strict and the schema can be converted.
[[nodiscard]] std::optional<json::object> strict_form(const answer_schema& of);

/// Removes the members of an answer that are null in place of being absent: those that the schema
/// neither requires nor allows to be null.
/// @param schema the original schema, before to_strict_schema()
void remove_absent(json::value& answer, const json::object& schema);

/// Adds the members of an answer that a strict schema requires but whose absence it writes as null.
/// A server without a strict mode may omit them.
/// @param schema the schema that to_strict_schema() has returned
void add_absent(json::value& answer, const json::object& schema);

} // namespace superstep
