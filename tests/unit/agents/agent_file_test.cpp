// SPDX-License-Identifier: Apache-2.0
// Reading of agent files: keys, overrides, faults with their lines, and limits on size and depth.
#include "support/no_descriptors.hpp"

#include <superstep/agents/agent_file.hpp>

#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <ostream>
#include <string>
#include <string_view>
#include <vector>

using namespace superstep;

namespace {

constexpr auto minimal = std::string_view{"model: {provider: recorded, path: turns.jsonl}\n"};

agent_reading read(std::string_view text, const std::vector<std::string>& overrides = {}) {
  return read_agent_text(text, "a.yaml", "/agents", overrides);
}

constexpr auto full = std::string_view{R"(name: math
model: {provider: scripted, path: ../rules.yaml}
prompt: You solve word problems.
version: v1
recursion_limit: 7
tools:
  - calculator
  - current_time: {default_zone: Europe/Berlin}
  - http_get: {allow_hosts: [example.org], max_bytes: 10, timeout_ms: 20}
  - sqlite_query: {path: /data/a.db, max_rows: 3}
  - read_file: {root: notes, max_bytes: 4}
  - command:
      name: word_count
      description: Counts words.
      argv: [wc, -w]
      args_schema: {type: object, properties: {text: {type: string}}}
      timeout_ms: 2000
      max_output_bytes: 100
      effects: journaled
  - simulated: {name: slow, result: {n: 1, s: '1'}, delay_ms: 5, error_rate: 0.5, seed: 9}
limits: {model_calls: 1, tool_calls: 2, rpm: 3, tpm: 4, calls_per_answer: 6, answer_bytes: 7, adaptive: off, row_deadline_ms: 5}
)"};

struct bad_file {
  std::string_view name;
  std::string_view text;
  std::string_view faults;
};
std::ostream& operator<<(std::ostream& out, const bad_file& c) {
  return out << c.name;
}

const auto bad_files = std::vector<bad_file>{
    {"a pattern with a look-ahead",
     "model: {provider: recorded, path: t}\ntools:\n  - command:\n      name: t\n      argv: "
     "[cat]\n"
     "      args_schema:\n        properties:\n          s: {type: string}\n          t:\n"
     "            pattern: '(?=a)b'\n",
     "a.yaml:10: tools.0.command.args_schema.properties.t.pattern: the pattern '(?=a)b' cannot be "
     "compiled (invalid perl operator: (?=); look-around, back references and repetitions of more "
     "than 1,000 are not supported (RE2 syntax)"},
    {"a property-name pattern with a back reference",
     "model: {provider: recorded, path: t}\ntools:\n  - simulated:\n      name: t\n"
     "      args_schema:\n        patternProperties:\n          (a)\\1: {}\n",
     "a.yaml:7: tools.0.simulated.args_schema.patternProperties.(a)\\1: the pattern '(a)\\1' "
     "cannot "
     "be compiled (invalid escape sequence: \\1); look-around, back references and repetitions of "
     "more than 1,000 are not supported (RE2 syntax)"},
    {"an invalid pattern in the response schema",
     "model: {provider: recorded, path: t}\nresponse:\n  type: object\n  properties:\n"
     "    a: {pattern: '('}\n",
     "a.yaml:5: response.properties.a.pattern: the pattern '(' cannot be compiled (missing ): (); "
     "look-around, back references and repetitions of more than 1,000 are not supported (RE2 "
     "syntax)"},
    {"no model", "name: a\n", "a.yaml:1: model: is missing; it is required"},
    {"an empty file", "", "a.yaml: model: is missing; it is required"},
    {"a misspelled required key of the file", "modle: {provider: scripted, path: a}\n",
     "a.yaml:1: modle: is not a known key; did you mean 'model'?"},
    {"a key of the model beside the model",
     "model: {provider: scripted, path: a}\ntemperature: 0\n",
     "a.yaml:2: temperature: is not a known key; did you mean 'model.temperature'?"},
    {"a misspelled provider", "model: {\n  provder: scripted, path: a}\n",
     "a.yaml:2: model.provder: is not a known key; did you mean 'provider'?"},
    {"a key of another provider", "model: {provider: ollama, model: a, api: chat}\n",
     "a.yaml:1: model.api: is a key of the provider 'openai' only; remove it"},
    {"a misspelled required key of a tool",
     "model: {provider: scripted, path: a}\ntools:\n  - simulated: {nmae: t}\n",
     "a.yaml:3: tools.0.simulated.nmae: is not a known key; did you mean 'name'?"},
    {"a tool name that model servers reject",
     "model: {provider: scripted, path: a}\ntools:\n  - simulated: {name: look up}\n",
     "a.yaml:3: tools.0.simulated.name: 'look up' must consist of letters (a to z, A to Z), "
     "digits, '_', '-' and '.', because model servers reject other tool names"},
    {"a tool name that is too long",
     "model: {provider: scripted, path: a}\ntools:\n  - command:\n      argv: [ls]\n      name: "
     "n2345678901234567890123456789012345678901234567890123456789012345\n",
     "a.yaml:5: tools.0.command.name: has 65 characters; model servers accept tool names of at "
     "most 64"},
    {"a model that is text", "model: gpt\n",
     "a.yaml:1: model: must be a mapping, such as {provider: openai, model: gpt-4o} or {provider: "
     "recorded, path: turns.jsonl}"},
    {"a treatment of failures without workers",
     "model: {provider: scripted, path: a}\ntools:\n  - command: {name: a, argv: [ls], on_failure: "
     "fail}\n",
     "a.yaml:3: tools.0.command.on_failure: requires protocol: jsonl"},
    {"an unknown treatment of failures",
     "model: {provider: scripted, path: a}\ntools:\n  - command: {name: a, argv: [ls], protocol: "
     "jsonl, on_failure: stop}\n",
     "a.yaml:3: tools.0.command.on_failure: must be fail or answer"},
    {"an unknown provider", "model: {provider: openia}\n",
     "a.yaml:1: model.provider: 'openia' is not one of: recorded, replayed, scripted, openai, "
     "anthropic, ollama"},
    {"a misspelled key of a provider", "model: {provider: scripted, path: a, recrd: b}\n",
     "a.yaml:1: model.recrd: is not a known key; did you mean 'record'?"},
    {"an unknown key of a provider", "model: {provider: scripted, path: a, color: b}\n",
     "a.yaml:1: model.color: is not a known key; known keys: provider, path, record, protocol, "
     "protocol_retries, protocol_unclosed"},
    {"broken YAML", "model: [\n",
     "a.yaml:1: is not valid YAML: '[' has no closing ']', or a ',' is missing"},
    {"a text without its closing quote", "model: {provider: scripted, path: a}\nprompt: \"x\n \n",
     "a.yaml:2: is not valid YAML: a quoted text has no closing quote"},
    {"wrong indentation", "model: {provider: scripted, path: a}\n name: x\n",
     "a.yaml:2: is not valid YAML: the indentation of this line does not match the lines above"},
    {"a tab before a key", "model:\n\tprovider: scripted\n",
     "a.yaml:2: is not valid YAML: a ':' is not allowed here; check the indentation (spaces, no "
     "tabs), and put texts that contain ': ' in quotes"},
    {"a compressed file", "\x1f\x8b\b",
     "a.yaml:1: is compressed with gzip; decompress it, for example with gunzip"},
    {"an unknown tool", "model: {provider: scripted, path: a}\ntools: [calc]\n",
     "a.yaml:2: tools.0: unknown tool 'calc'; known tools: calculator, current_time, http_get, "
     "sqlite_query, read_file, command, simulated, remember, recall, agent"},
    {"an agent as a tool with a misspelled file key",
     "model: {provider: scripted, path: a}\ntools:\n  - agent: {name: expert, fle: b.yaml}\n",
     "a.yaml:3: tools.0.agent.fle: is not a known key; did you mean 'file'?"},
    {"a misspelled option of the response",
     "model: {provider: scripted, path: a}\n"
     "response:\n  type: object\n  properties: {a: {type: string}}\n  retry: 3\n  required: [a, "
     "b]\n",
     "a.yaml:5: response.retry: is neither an option of response (strict, retries, request) nor a "
     "keyword of JSON Schema\n"
     "a.yaml:6: response.required: contains 'b', which is not in properties"},
    {"misspelled keywords below the response",
     "model: {provider: scripted, path: a}\n"
     "response:\n  type: object\n  properties:\n    a: {type: string, enm: [b], maxLength: 3}\n"
     "    c:\n      type: array\n      items: {type: object, properties: {d: {typ: string}}}\n",
     "a.yaml:5: response.properties.a.enm: is not a keyword of JSON Schema\n"
     "a.yaml:8: response.properties.c.items.properties.d.typ: is not a keyword of JSON Schema"},
    {"a nested object of the response that requires an unknown member",
     "model: {provider: scripted, path: a}\n"
     "response:\n  type: object\n  properties:\n    a:\n      type: object\n"
     "      properties: {b: {type: string}}\n      required: [c]\n",
     "a.yaml:8: response.properties.a.required: contains 'c', which is not in properties"},
    {"a tool without its required keys",
     "model: {provider: scripted, path: a}\ntools:\n  - command:\n      argv: []\n",
     "a.yaml:4: tools.0.command.name: is missing; it is required\n"
     "a.yaml:4: tools.0.command.argv: must be a list of texts with at least one item, such as [a, "
     "b]"},
    {"effects that the tool does not support",
     "model: {provider: scripted, path: a}\ntools:\n"
     "  - http_get: {allow_hosts: [a], effects: once}\n  - read_file: {root: a, effects: "
     "journaled}\n",
     "a.yaml:3: tools.0.http_get.effects: must be idempotent or journaled\n"
     "a.yaml:4: tools.1.read_file.effects: is not a known key; known keys: root, max_bytes"},
    {"a tool without its options", "model: {provider: scripted, path: a}\ntools: [read_file]\n",
     "a.yaml:2: tools.0.read_file.root: is missing; it is required"},
    {"an input template that is not closed",
     "model: {provider: scripted, path: a}\ninput:\n  messages:\n    - role: user\n"
     "      content: 'a {{b'\n",
     "a.yaml:5: input.messages.0.content: {{ has no }}; write {{{{ if the text {{ is meant"},
    {"an input template without quotes",
     "model: {provider: scripted, path: a}\ninput:\n  messages:\n    - {role: user, content: "
     "{{b}}}\n",
     "a.yaml:4: input.messages.0.content: must be in quotes, such as \"{{question}}\", because { "
     "begins a mapping in YAML"},
    {"an input without messages", "model: {provider: scripted, path: a}\ninput: {mesages: []}\n",
     "a.yaml:2: input.mesages: is not a known key; did you mean 'messages'?"},
    {"an input template with an unknown role",
     "model: {provider: scripted, path: a}\ninput:\n  messages:\n    - {role: wizard, content: "
     "x}\n",
     "a.yaml:4: input.messages.0.role: Unexpected message type: 'wizard'. Use one of 'human', "
     "'user', 'ai', 'assistant', 'system', 'developer', 'tool', 'function' or 'remove'."},
    {"a key twice", "model: {provider: scripted, path: a}\nname: a\nname: b\n",
     "a.yaml:3: name: is a duplicate key"},
    {"a number out of its bounds", "model: {provider: scripted, path: a}\nrecursion_limit: 0\n",
     "a.yaml:2: recursion_limit: must be an integer from 1 to 4294967295"},
    {"a number that is text", "model: {provider: scripted, path: a}\nlimits: {rpm: '5'}\n",
     "a.yaml:2: limits.rpm: must be an integer of at least 0, without quotes"},
    {"several at once, by line", "version: v3\nmodel: {provider: recorded}\ntool: []\n",
     "a.yaml:1: version: 'v3' is not one of: v1, v2\n"
     "a.yaml:2: model.path: is missing; it is required\n"
     "a.yaml:3: tool: is not a known key; did you mean 'tools'?"},
    {"an unknown key of the file", "model: {provider: scripted, path: a}\ncolor: red\n",
     "a.yaml:2: color: is not a known key; known keys: name, model, prompt, version, "
     "recursion_limit, tools, early_tools, review, hooks, response, response_method, input, "
     "store, cache, limits, prices"},
    {"early tools that are not a list", "model: {provider: scripted, path: a}\nearly_tools: echo\n",
     "a.yaml:2: early_tools: must be a list of texts, such as [a, b]"},
    {"a review that is text", "model: {provider: scripted, path: a}\nreview: book\n",
     "a.yaml:2: review: must be a list of tool names, or a mapping of names to allowed "
     "answers: {book: [accept, edit]}"},
    {"a review that allows an unknown answer, and one that allows none",
     "model: {provider: scripted, path: a}\nreview:\n  book: [accept, edti]\n  pay: []\n",
     "a.yaml:3: review.book.1: 'edti' is not one of: accept, edit, respond, ignore\n"
     "a.yaml:4: review.pay: must be all, or a list of: accept, edit, respond, ignore"},
    {"hooks that cannot be combined",
     "model: {provider: scripted, path: a}\nhooks: {trim: {}, summarise: {keep: 0}, sort: {}}\n",
     "a.yaml:2: hooks.summarise.keep: must be an integer of at least 1\n"
     "a.yaml:2: hooks: trim and summarise cannot be combined; remove one of them\n"
     "a.yaml:2: hooks.sort: is not a known key; known keys: trim, summarise"},
    {"a store without a path", "model: {provider: scripted, path: a}\nstore: {file: a}\n",
     "a.yaml:2: store.path: is missing; it is required\n"
     "a.yaml:2: store.file: is not a known key; known keys: path"},
    {"a namespace without labels",
     "model: {provider: scripted, path: a}\ntools: [{remember: {namespace: []}}]\n",
     "a.yaml:2: tools.0.remember.namespace: must have at least one label"},
    {"a namespace with an invalid label",
     "model: {provider: scripted, path: a}\ntools: [{recall: {namespace: [a.b]}}]\n",
     "a.yaml:2: tools.0.recall.namespace: 'a.b' is not a valid label: it is empty or contains "
     "a period"},
    {"a response that is not an object",
     "model: {provider: scripted, path: a}\nresponse: {type: array}\n",
     "a.yaml:2: response: must be a JSON Schema of type object; providers accept no other type"},
    {"a parameter without quotes",
     "model: {provider: openai, model: m, api_key_env: '', parameters: {user: {{id}}}}\n",
     "a.yaml:1: model.parameters.user: must be in quotes, such as \"{{question}}\", because { "
     "begins a mapping in YAML"},
    {"a null key of a schema",
     "model: {provider: scripted, path: a}\n"
     "response: {type: object, properties: {~: {type: object}}}\n",
     "a.yaml:2: response.properties: has a key that is not a text"},
    {"an unknown response method",
     "model: {provider: scripted, path: a}\nresponse: {type: object}\nresponse_method: magic\n",
     "a.yaml:3: response_method: must be json_schema, json_object or tool_call, got 'magic'"},
    {"a response method that Anthropic does not have",
     "model: {provider: anthropic, model: m, api_key_env: ''}\nresponse: {type: object}\n"
     "response_method: json_object\n",
     "a.yaml:3: response_method: json_object: Anthropic has no such mode; use json_schema or "
     "tool_call"},
    {"a header that is not text",
     "model: {provider: openai, model: m, api_key_env: '', headers: {x: 1}}\n",
     "a.yaml:1: model.headers: the value of 'x' must be text"},
    {"an unknown value of max_tokens_field",
     "model: {provider: openai, model: m, api_key_env: '', max_tokens_field: tokens}\n",
     "a.yaml:1: model.max_tokens_field: 'tokens' is not one of: max_tokens, "
     "max_completion_tokens"},
    {"a response that is text", "model: {provider: scripted, path: a}\nresponse: city\n",
     "a.yaml:2: response: must be a JSON Schema of type object"},
    {"a review whose calls would run twice",
     "version: v1\nmodel: {provider: scripted, path: a}\nreview: [pay]\n",
     "a.yaml:3: review: requires version v2: in v1 all calls of an answer are one task, which "
     "restarts after each interrupt, so calls would run twice"},
    {"a review twice", "model: {provider: scripted, path: a}\nreview: [pay, pay, {a: b}]\n",
     "a.yaml:2: review.pay: is listed twice\na.yaml:2: review.2: must be the name of a tool"},
};

struct override_case {
  std::string_view name;
  std::string_view option;
  std::string_view faults;
};
std::ostream& operator<<(std::ostream& out, const override_case& c) {
  return out << c.name;
}

const auto bad_overrides = std::vector<override_case>{
    {"no equals sign", "limits.rpm",
     "--set: limits.rpm: is not an override; write --set key.path=value"},
    {"an empty part", "limits..rpm=1",
     "--set: limits..rpm: is not an override; write --set key.path=value"},
    {"a misspelled key", "limits.rmp=1",
     "--set: limits.rmp: is not a known key; did you mean 'rpm'?"},
    {"an unknown key", "limits.speed=1",
     "--set: limits.speed: is not a known key; known keys: tools, model_calls, tool_calls, rpm, "
     "tpm, share, calls_per_answer, answer_bytes, adaptive, row_deadline_ms"},
    {"an index behind the end", "tools.9=calculator",
     "--set: tools.9: cannot set '9': the list 'tools' has the indexes 0 to 6"},
    {"an item of a list that does not exist", "early_tools.0=calculator",
     "--set: early_tools.0: the file has no list 'early_tools'; write --set "
     "'early_tools=[calculator]'"},
    {"a key below an item of a list that does not exist", "early_tools.0.name=x",
     "--set: early_tools.0.name: the file has no list 'early_tools'; add it to the file, or set "
     "the "
     "whole list"},
    {"a key below a list that does not exist", "early_tools.first=calculator",
     "--set: early_tools: must be a list of texts, such as [a, b]"},
    {"a key below a text", "prompt.a=1",
     "--set: prompt.a: cannot set 'a': 'prompt' is not a mapping or list"},
    {"a colon without a space", "limits={rpm:3}",
     "--set: limits: write a space after the colon of 'rpm:3'"},
    {"nested colons without spaces", "prices={m:{input:1}}",
     "--set: prices: the value is not valid YAML: '{' has no closing '}', or a ',' is missing; the "
     "form of a mapping is {key: value}, with a space after each colon"},
    {"the price of a model with a dot", "prices.gpt-4.1.input=2",
     "--set: prices.gpt-4.1.input: a key with a dot cannot be part of a path; write --set "
     "'prices={gpt-4.1: {input: 2, …}}'"},
    {"a misspelled tool", "tools.5.comand.timeout_ms=500",
     "--set: tools.5.comand: the item is the tool 'command'; its options are below "
     "tools.5.command"},
    {"a second tool in an item", "tools.5.calculator=",
     "--set: tools.5.calculator: the item is the tool 'command'; its options are below "
     "tools.5.command"},
    {"a whole item with two names", "tools.5={command: , calculator: }",
     "--set: tools.5: must be the name of a tool, or one name with options: {command: {…}}"},
    {"a bad value", "version=v9", "--set: version: 'v9' is not one of: v1, v2"},
};

} // namespace

BOOST_AUTO_TEST_CASE(agent_file_requires_only_the_model_key) {
  const auto got = read(minimal);
  BOOST_TEST(to_text(got.faults) == "");
  BOOST_TEST(std::get<recorded_model_options>(got.spec.model).path == "/agents/turns.jsonl");
  BOOST_TEST((got.spec.version == react_version::v2));
  BOOST_TEST(got.spec.recursion_limit == default_recursion_limit);
  BOOST_TEST(got.spec.limits.model_calls.value() == 256U);
  BOOST_TEST(!got.spec.limits.rpm.has_value());
  BOOST_TEST(!got.spec.limits.row_deadline.has_value());
  BOOST_TEST(got.spec.tools.empty());
}

BOOST_AUTO_TEST_CASE(agent_file_keys_set_their_options) {
  const auto got = read(full);
  BOOST_TEST(to_text(got.faults) == "");
  const auto& s = got.spec;
  BOOST_TEST(s.name == "math");
  BOOST_TEST(std::get<scripted_model_options>(s.model).path == "/rules.yaml");
  BOOST_TEST((s.version == react_version::v1));
  BOOST_TEST(s.recursion_limit == 7U);
  BOOST_REQUIRE(s.tools.size() == 7U);
  BOOST_TEST(std::get<current_time_options>(s.tools[1].options).default_zone == "Europe/Berlin");
  BOOST_TEST(std::get<http_get_options>(s.tools[2].options).timeout.count() == 20);
  BOOST_TEST(std::get<sqlite_query_options>(s.tools[3].options).path == "/data/a.db");
  BOOST_TEST(std::get<read_file_options>(s.tools[4].options).root == "/agents/notes");
  BOOST_TEST((s.tools[2].effects == tool_effects::repeatable));
  BOOST_TEST((s.tools[5].effects == tool_effects::journaled));
  const auto& command = std::get<command_options>(s.tools[5].options);
  BOOST_TEST(command.argv == (std::vector<std::string>{"wc", "-w"}),
             boost::test_tools::per_element());
  BOOST_TEST(to_text(json::value(command.args_schema)) ==
             R"({"type":"object","properties":{"text":{"type":"string"}}})");
  const auto& simulated = std::get<simulated_options>(s.tools[6].options);
  BOOST_TEST(to_text(*simulated.result) == R"({"n":1,"s":"1"})");
  BOOST_TEST(simulated.error_rate == 0.5);
  BOOST_TEST(s.tools[5].line == 12U);
  BOOST_TEST(s.limits.tpm.value() == 4);
  BOOST_TEST(s.limits.calls_per_answer.value() == 6u);
  BOOST_TEST(s.limits.answer_bytes.value() == 7u);
  BOOST_TEST(!s.limits.adaptive);
  BOOST_TEST(s.limits.row_deadline.value().count() == 5);
}

BOOST_AUTO_TEST_CASE(zero_in_limits_key_means_no_limit) {
  const auto got = read(std::string{minimal} + R"(
limits: {model_calls: 0, tool_calls: 0, rpm: 0, tpm: 0, calls_per_answer: 0, answer_bytes: 0,
         row_deadline_ms: 0}
)");
  BOOST_TEST(to_text(got.faults) == "");
  const auto& limits = got.spec.limits;
  BOOST_TEST(!limits.model_calls.has_value());
  BOOST_TEST(!limits.tool_calls.has_value());
  BOOST_TEST(!limits.rpm.has_value());
  BOOST_TEST(!limits.tpm.has_value());
  BOOST_TEST(!limits.calls_per_answer.has_value());
  BOOST_TEST(!limits.answer_bytes.has_value());
  BOOST_TEST(!limits.row_deadline.has_value());
}

BOOST_AUTO_TEST_CASE(protocol_and_workers_set_command_options) {
  const auto tools = std::string{minimal} + "tools:\n";
  const auto got = read(tools + "  - command: {name: a, argv: [x], protocol: jsonl, workers: 3}\n"
                                "  - command: {name: b, argv: [x], protocol: once}\n");
  BOOST_TEST(to_text(got.faults) == "");
  const auto& first = std::get<command_options>(got.spec.tools.at(0).options);
  BOOST_TEST((first.protocol == command_protocol::jsonl));
  BOOST_TEST(first.workers == 3U);
  const auto& second = std::get<command_options>(got.spec.tools.at(1).options);
  BOOST_TEST((second.protocol == command_protocol::once));
  const auto fault_of = [&](const std::string& keys) {
    return to_text(read(tools + "  - command: {name: a, argv: [x], " + keys + "}\n").faults);
  };
  BOOST_TEST(fault_of("protocol: json").find("protocol: must be once or jsonl") !=
             std::string::npos);
  BOOST_TEST(fault_of("workers: 2").find("workers: requires protocol: jsonl") != std::string::npos);
  BOOST_TEST(fault_of("protocol: jsonl, workers: 1025").find("1024") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(store_hook_and_response_keys_set_their_options) {
  const auto text = std::string{minimal} + "store: {path: memory.db}\n" +
                    "tools: [remember, {recall: {namespace: [users, kim]}}]\n"
                    "response: {type: object, title: place}\nhooks:\n";
  const auto trimmed = read(text + "  trim: {tokens: 9}\n").spec;
  BOOST_TEST(trimmed.store == "/agents/memory.db");
  BOOST_REQUIRE(trimmed.tools.size() == 2U);
  BOOST_TEST(std::get<remember_options>(trimmed.tools[0].options).ns.at(0) == "memories");
  BOOST_TEST(std::get<recall_options>(trimmed.tools[1].options).ns.at(1) == "kim");
  BOOST_REQUIRE(trimmed.trim.has_value());
  BOOST_TEST(trimmed.trim->tokens_max == 9);
  BOOST_TEST(!trimmed.summarise.has_value());
  BOOST_REQUIRE(trimmed.response.has_value());
  BOOST_TEST(to_text(*trimmed.response) == R"({"type":"object","title":"place"})");
  const auto summed = read(text + "  summarise: {tokens: 9, keep: 3, prompt: Short!}\n").spec;
  BOOST_REQUIRE(summed.summarise.has_value());
  BOOST_TEST(summed.summarise->tokens_max == 9);
  BOOST_TEST(summed.summarise->messages_kept == 3U);
  BOOST_TEST(summed.summarise->prompt == "Short!");
}

BOOST_AUTO_TEST_CASE(keys_of_file_are_listed_after_overrides) {
  const auto keys = read(full, {"prompt=other", "tools.5.command.argv=[cat, -n]"}).spec.keys;
  const auto value_of = [&](std::string_view key) {
    for (const auto& [name, value] : keys)
      if (name == key)
        return value;
    return std::string{};
  };
  BOOST_TEST(value_of("prompt") == "\"other\"");
  BOOST_TEST(value_of("tools.0") == "\"calculator\"");
  BOOST_TEST(value_of("tools.5.command.argv") == R"(["cat","-n"])");
  BOOST_TEST(value_of("limits.rpm") == "3");
}

BOOST_AUTO_TEST_CASE(input_key_sets_template_with_lines_of_file) {
  const auto text = std::string{minimal} + "input:\n  messages:\n    - {role: system, content: x}\n"
                                           "    - role: user\n      content: |\n        Q: {{q}}\n";
  const auto template_of = [](const agent_reading& from) {
    BOOST_TEST_REQUIRE(to_text(from.faults) == "");
    BOOST_TEST_REQUIRE(from.spec.input.has_value());
    return *from.spec.input;
  };
  const auto of_file = template_of(read(text));
  BOOST_TEST(of_file.placeholders()[0].name == "q");
  BOOST_TEST(of_file.placeholders()[0].where == "a.yaml:6: input.messages.1.content");
  const auto changed = template_of(read(text, {"input.messages.1.content='{{r}}'"}));
  BOOST_TEST(changed.placeholders()[0].where == "--set: input.messages.1.content");
  BOOST_TEST(changed.text() != of_file.text());
  BOOST_TEST(!read(text, {"input="}).spec.input.has_value());
}

BOOST_AUTO_TEST_CASE(review_key_accepts_list_map_and_empty_value) {
  const auto text = std::string{minimal} + "review: [pay]\n";
  const auto got = read(text);
  BOOST_REQUIRE(got.spec.reviews.size() == 1U);
  BOOST_TEST(got.spec.reviews[0].key == "review.pay");
  BOOST_TEST(got.spec.reviews[0].line == 2U);
  BOOST_TEST((got.spec.reviews[0].config == human_interrupt_config{true, true, true, true}));
  BOOST_TEST(read(text, {"review="}).spec.reviews.empty());
  const auto both = read(text, {"review={slow: all, pay: [accept, respond]}"}).spec.reviews;
  BOOST_REQUIRE(both.size() == 2U);
  BOOST_TEST((both[0].config == human_interrupt_config{true, true, true, true}));
  BOOST_TEST(both[1].tool == "pay");
  BOOST_TEST((both[1].config == human_interrupt_config{false, true, false, true}));
}

BOOST_DATA_TEST_CASE(faults_of_agent_file_are_reported_with_lines,
                     boost::unit_test::data::make(bad_files), c) {
  BOOST_TEST(to_text(read(c.text).faults) == c.faults);
}

BOOST_AUTO_TEST_CASE(override_replaces_value_of_file) {
  const auto got = read(full, {"model.path=other.yaml", "limits.rpm=60", "tools.0=current_time",
                               "tools.6.simulated.delay_ms=77", "version=v2"});
  BOOST_TEST(to_text(got.faults) == "");
  BOOST_TEST(std::get<scripted_model_options>(got.spec.model).path == "/agents/other.yaml");
  BOOST_TEST(got.spec.limits.rpm.value() == 60);
  BOOST_TEST(std::holds_alternative<current_time_options>(got.spec.tools[0].options));
  BOOST_TEST(std::get<simulated_options>(got.spec.tools[6].options).delay.count() == 77);
  BOOST_TEST((got.spec.version == react_version::v2));
}

BOOST_AUTO_TEST_CASE(override_adds_keys_missing_in_file) {
  const auto got = read("", {"model.provider=openai", "model.model=m", "model.stream=true"});
  BOOST_TEST(to_text(got.faults) == "");
  BOOST_TEST(std::get<provider_model_options>(got.spec.model).stream);
}

BOOST_DATA_TEST_CASE(invalid_override_is_rejected_with_its_key,
                     boost::unit_test::data::make(bad_overrides), c) {
  BOOST_TEST(to_text(read(full, {std::string{c.option}}).faults) == c.faults);
}

BOOST_AUTO_TEST_CASE(overridden_tool_option_changes_tools_fingerprint) {
  BOOST_TEST(read(full).spec.tools_text !=
             read(full, {"tools.6.simulated.seed=8"}).spec.tools_text);
}

BOOST_AUTO_TEST_CASE(yaml_anchors_that_expand_excessively_are_rejected) {
  auto text = std::string{minimal} + "x:\n  - &a0 [1, 1, 1, 1, 1, 1, 1, 1, 1, 1]\n";
  for (auto i = 1; i < 8; ++i) {
    const auto before = std::to_string(i - 1);
    text += "  - &a" + std::to_string(i) + " [";
    for (auto n = 0; n < 10; ++n)
      text += (n ? ", *a" : "*a") + before;
    text += "]\n";
  }
  text += "tools: [{simulated: {name: t, result: *a7}}]\n";
  BOOST_TEST(to_text(read(text).faults).find("has more than 100000 values") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(command_tool_keys_are_validated_and_set_options) {
  const auto got = read(std::string{minimal} + R"(tools:
  - command: {name: a, argv: [./run, ./x], cwd: ../work, env: [A, B],
              limits: {memory_mb: 5, cpu_s: 6, files: 7, processes: 8}, sandbox: bwrap}
  - command: {name: b, argv: [tools/run], env: {A: x, B: null, C: '7'},
              sandbox: {bwrap: {network: true, writable: [out]}}}
  - command: {name: c, argv: [run]}
  - command: {name: d, argv: [/bin/run]}
)");
  BOOST_TEST(to_text(got.faults) == "");
  const auto command = [&](std::size_t i) {
    return std::get<command_options>(got.spec.tools.at(i).options);
  };
  BOOST_TEST(command(0).argv.at(0) == "/agents/run");
  BOOST_TEST(command(0).argv.at(1) == "./x");
  BOOST_TEST(command(0).cwd == "/work");
  BOOST_TEST(command(0).env_names.at(1) == "B");
  BOOST_TEST(command(0).limits.memory_bytes.value() == 5U << 20U);
  BOOST_TEST((command(0).limits.cpu == std::chrono::seconds{6}));
  BOOST_TEST(command(0).limits.files.value() == 7U);
  BOOST_TEST(command(0).limits.processes.value() == 8U);
  BOOST_TEST(command(0).sandbox.is_on);
  BOOST_TEST(!command(0).sandbox.has_network);
  BOOST_TEST(command(1).argv.at(0) == "/agents/tools/run");
  BOOST_TEST(command(1).env_values.at(1).second == "7");
  BOOST_TEST(command(1).env_names.at(0) == "B");
  BOOST_TEST(command(1).sandbox.has_network);
  BOOST_TEST(command(1).sandbox.writable.at(0) == "/agents/out");
  BOOST_TEST(command(2).argv.at(0) == "run");
  BOOST_TEST(command(3).argv.at(0) == "/bin/run");
  for (const auto* wrong :
       {"env: x", "env: [[]]", "env: ['A=B']", "limits: {memory: 1}", "limits: {files: 0}",
        "sandbox: docker", "sandbox: {}", "sandbox: {bwrap: {net: true}}", "cwd: []"})
    BOOST_TEST(
        read(std::string{minimal} + "tools:\n  - command: {name: a, argv: [x], " + wrong + "}")
                .faults.size() == 1u,
        wrong);
}

BOOST_AUTO_TEST_CASE(deep_recursive_and_oversized_yaml_is_rejected) {
  const auto repeat = [](std::string_view piece, std::size_t count) {
    auto out = std::string{};
    for (auto i = std::size_t{0}; i < count; ++i)
      out += piece;
    return out;
  };
  auto indented = std::string{"x:\n"};
  for (auto i = std::size_t{1}; i < 1'300; ++i)
    indented += std::string(i, ' ') + "a:\n";
  const auto texts = std::vector<std::string>{
      "x: " + repeat("[", 100'000),
      "x: " + repeat("{a: ", 100'000),
      "x: " + repeat("[", 100'000) + repeat("]", 100'000),
      "x: " + repeat("- ", 100'000),
      repeat("? ", 100'000),
      "x: &a [*a]\ntools: [{simulated: {name: t, result: *a}}]",
      "x: &a {b: *a}\ntools: *a",
      "x: '" + std::string(1'000'000, 'a'),
      indented,
      "x: " + repeat("!", 100'000),
      "x: " + repeat("&a", 100'000) + " 1",
  };
  for (const auto& text : texts)
    BOOST_TEST(!read(std::string{minimal} + text).faults.empty(), text.substr(0, 40));
}

BOOST_AUTO_TEST_CASE(unreadable_agent_file_is_reported_as_one_fault) {
  BOOST_TEST(to_text(read_agent_file("/nowhere/a.yaml").faults) ==
             "/nowhere/a.yaml: cannot be opened: No such file or directory");
  BOOST_TEST(to_text(read_agent_file("/").faults) == "/: is a directory, not an agent file");
}

BOOST_AUTO_TEST_CASE(text_after_yaml_document_is_rejected) {
  // LoadAll of yaml-cpp returns empty documents for these forever.
  for (const auto* text : {" [book, pay]\n, pay]\n", "a: 1\n]\n", "{a: 1}\n}\n", "[a]]\n", "]\n"})
    BOOST_TEST(!read(text).faults.empty(), text);
}

BOOST_AUTO_TEST_CASE(second_yaml_document_is_accepted_only_if_empty) {
  const auto text = std::string{minimal};
  BOOST_TEST(to_text(read(text + "---\n").faults).empty());
  BOOST_TEST(to_text(read("---\n" + text + "...\n").faults).empty());
  BOOST_TEST(to_text(read(text + "---\nname: b\n").faults) ==
             "a.yaml:3: has more than one YAML document");
}

BOOST_AUTO_TEST_CASE(file_descriptor_shortage_is_distinguished_from_faults) {
  const auto path = std::string{SUPERSTEP_TREE "/examples/batch/agent.yaml"};
  const auto missing = read_agent_file("/no/such/agent.yaml");
  BOOST_TEST(!has_shortage(missing.faults));
  BOOST_TEST(to_text(missing.faults) ==
             "/no/such/agent.yaml: cannot be opened: No such file or directory");
  BOOST_TEST(!has_shortage(read("model: gpt\n").faults));
  const auto shortage = no_descriptors{};
  const auto refused = read_agent_file(path);
  BOOST_TEST(has_shortage(refused.faults));
  BOOST_TEST(to_text(refused.faults) == path + ": cannot be opened: Too many open files");
}
