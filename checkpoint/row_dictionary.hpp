// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

// The dictionary of compressed rows. It is part of the file format: rows that were written with it
// can be read only with the same bytes. A better dictionary needs a new marker beside this one.
namespace superstep::detail {

/// Texts that are frequent in checkpoints and task records. The most frequent ones come last,
/// because a match costs less the nearer it is.
inline constexpr auto row_dictionary = std::string_view{
    R"({"artifact":null,"additional_kwargs":{},"response_metadata":{"finish_reason":"tool_calls",)"
    R"("model_name":"","model_provider":"openai"},"usage_metadata":{"input_token_details":)"
    R"({"cache_read":0},"output_token_details":{"reasoning":0}},"invalid_tool_calls":[],)"
    R"("status":"error","status":"success","type":"system","type":"text","text":"",)"
    R"("structured_response":[null],"llm_input_messages":[[]],"k":[[0,1,0]],"h":1,"i":[[0,[{)"
    R"("type":"human","content":"","id":""}]]],"t":"__start__","usage":[{"input_tokens":0,)"
    R"("output_tokens":0,"total_tokens":0}]},"model_calls":[1],"tool_calls":[1]},"s":[[1,{)"
    R"("name":"","args":{"query":""},"id":"call_","type":"tool_call"}]}]]},{"type":"tool",)"
    R"("content":"","name":"","id":"-1-0","tool_call_id":"call_"}]],"tool_calls":[1]},)"
    R"("t":[[0,1]],"v":[1,1,1],"b":[[0,1,1]],"r":[{"t":"tools#0","o":{"w":[[0,[{"type":"tool",)"
    R"("content":"","tool_call_id":"call_"}]],[4,1]]}}]}{"c":{"messages":[1,[{"type":"ai",)"
    R"("content":"","id":"-1-0","tool_calls":[{"name":""}]],"model_calls":[1]},"v":[2,1,1],)"
    R"("b":[[0,2,1]],"r":[{"t":"agent","o":{"w":[[0,[{"type":"ai","content":""}]],[3,1],)"
    R"([5,{"input_tokens":0,"output_tokens":0,"total_tokens":0}]]}}]})"};

} // namespace superstep::detail
