// SPDX-License-Identifier: Apache-2.0
// Creates an agent from a parsed agent file: the model with its wrappers, the tools, and the agents
// used as tools. It continues after an error, so that the caller gets the errors of all files at
// once.
#include "agents/agent_graph.hpp"
#include "agents/agent_tool.hpp"
#include "agents/cached_model.hpp"
#include "agents/limited_model.hpp"
#include "agents/model_fields.hpp"
#include "agents/overrides.hpp"
#include "models/shared_rate.hpp"
#include "postgres/limit_share.hpp"

#include <superstep/agents/agent_file.hpp>
#include <superstep/models/detail/call_activity.hpp>
#include <superstep/protocols/protocol_middleware.hpp>
#include <superstep/protocols/tool_protocol.hpp>
#include <superstep/tools/tool_wrappers.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <map>
#include <utility>

namespace superstep {

namespace {

template <class... Fs>
struct overloaded : Fs... {
  using Fs::operator()...;
};
// Needed because clang 16 cannot deduce template arguments of an aggregate.
template <class... Fs>
overloaded(Fs...) -> overloaded<Fs...>;

model_limits_options limits_of(const agent_spec& spec,
                               const std::shared_ptr<call_activity>& activity) {
  auto out = model_limits_options{};
  out.activity = activity;
  out.model_calls = spec.limits.model_calls;
  out.requests_per_minute = spec.limits.rpm;
  out.tokens_per_minute = spec.limits.tpm;
  out.answer_bytes = spec.limits.answer_bytes;
  out.is_adaptive = spec.limits.adaptive;
  return out;
}

rate_limits rates_of(const agent_limits& limits) {
  return {.requests_per_minute = limits.rpm.value_or(0),
          .tokens_per_minute = limits.tpm.value_or(0)};
}

/// Returns how the processes of the agent share its limits per minute.
models::limit_sharing sharing_of(const agent_limits& limits) {
  if (limits.share.empty() || (!limits.rpm && !limits.tpm)) // the latter is reported by the reader
    return {};
  const auto open = [&limits](const std::string& key) -> result<std::shared_ptr<limit_source>> {
    auto opened = detail::open_shared_limits({.url = limits.share,
                                              .key = key,
                                              .requests_per_minute = limits.rpm.value_or(0),
                                              .tokens_per_minute = limits.tpm.value_or(0)});
    if (!opened)
      return error{opened.error().code, "limits.share: " + opened.error().text};
    return opened;
  };
  return {.where = limits.share, .open = open};
}

/// Applies the file's limits to a model that has no limits itself.
result<chat_model_ptr> limited(result<chat_model_ptr> made, const agent_spec& spec,
                               const std::shared_ptr<call_activity>& activity) {
  if (!made)
    return made;
  auto source = std::shared_ptr<limit_source>{};
  if (const auto sharing = sharing_of(spec.limits); sharing.open) {
    auto opened = sharing.open("model " + (*made)->fingerprint());
    if (!opened)
      return opened.error();
    source = *std::move(opened);
  }
  auto rate = rate_limiter{rates_of(spec.limits), std::move(source)};
  return detail::limit_model(
      *std::move(made), std::make_shared<model_limits>(limits_of(spec, activity), std::move(rate)),
      spec.limits.calls_per_answer.value_or(0));
}

result<chat_model_ptr> make_model(const agent_spec& spec, const std::shared_ptr<io_runtime>& io,
                                  const std::shared_ptr<call_activity>& activity,
                                  std::string& note) {
  return std::visit(
      overloaded{[](std::monostate) { return result<chat_model_ptr>{chat_model_ptr{}}; },
                 [&](recorded_model_options o) {
                   o.note = &note;
                   return limited(make_recorded_model(std::move(o)), spec, activity);
                 },
                 [&](const scripted_model_options& o) {
                   return limited(make_scripted_model(o), spec, activity);
                 },
                 [&](replayed_model_options o) {
                   o.note = &note;
                   return limited(make_replayed_model(std::move(o)), spec, activity);
                 },
                 [&](provider_model_options o) {
                   o.tool_calls_max = spec.limits.calls_per_answer;
                   auto rate =
                       models::shared_rate(o, rates_of(spec.limits), sharing_of(spec.limits));
                   if (!rate)
                     return result<chat_model_ptr>{rate.error()};
                   return make_provider_model(
                       o, *io,
                       std::make_shared<model_limits>(limits_of(spec, activity), *std::move(rate)));
                 }},
      spec.model);
}

/// Wraps the model in the answer cache of the file. The cache is inside of the recording, so a
/// recording contains the cached answers too, and outside of the limits, so they use none.
result<chat_model_ptr> cached(result<chat_model_ptr> made, const agent_spec& spec,
                              const std::shared_ptr<call_activity>& activity) {
  if (!made || !spec.cache || spec.cache->path.empty())
    return made;
  auto cache = detail::answer_cache::open(spec.cache->path, spec.cache->bytes_max, activity);
  if (!cache)
    return cache.error();
  auto options = detail::cached_model_options{};
  options.with_sampled = spec.cache->with_sampled;
  if (const auto* provider = std::get_if<provider_model_options>(&spec.model))
    options.parameters = provider->parameters;
  else
    options.is_deterministic = true;
  return detail::cache_answers(*std::move(made), *std::move(cache), std::move(options));
}

/// Returns a warning if the cache is never used, because the model samples its answers.
std::optional<std::string> unused_cache(const agent_spec& spec) {
  const auto* provider = std::get_if<provider_model_options>(&spec.model);
  if (!spec.cache || spec.cache->with_sampled || provider == nullptr ||
      !detail::is_sampled(provider->parameters))
    return std::nullopt;
  return "is not used, because the model samples its answers; set model.temperature to 0, or set "
         "cache.sampled to true to cache sampled answers too";
}

/// Wraps the model so that its answers are written to the recording file. The recording contains
/// the provider's answers before a protocol parses them, because a replay parses them again.
result<chat_model_ptr> recorded(result<chat_model_ptr> made, const agent_spec& spec,
                                std::string& note) {
  if (!made || spec.record.empty())
    return made;
  const auto* provider = std::get_if<provider_model_options>(&spec.model);
  return record_model(std::move(*made), spec.record, &note,
                      provider ? secrets_of(*provider) : std::vector<std::string>{});
}

/// Wraps the model in the protocol for tool calls as text. The protocol is the outer wrapper, so
/// each of its repeated requests counts against the limits.
result<chat_model_ptr> in_protocol(result<chat_model_ptr> made, const agent_spec& spec) {
  if (!made || spec.protocol.empty())
    return made;
  auto protocol = make_protocol(spec.protocol);
  if (!protocol)
    return protocol.error();
  auto options = protocol_options{};
  options.protocol = std::move(*protocol);
  options.retries = spec.protocol_retries;
  options.unclosed = spec.protocol_unclosed;
  options.calls_max = spec.limits.calls_per_answer;
  return chat_model_ptr{
      wrap_model(std::move(*made), {make_protocol_middleware(std::move(options))})};
}

result<tool_ptr> make_http_get_tool(const http_get_options& o, io_runtime& io) {
  auto client = http_client::make(io, http_client_options{});
  if (!client)
    return client.error();
  return make_http_get(std::make_shared<const http_client>(std::move(client).value()), o);
}

result<tool_ptr> make_tool_of(const tool_spec& spec, const std::shared_ptr<io_runtime>& io) {
  return std::visit(
      overloaded{
          [](const calculator_options& o) { return result<tool_ptr>{make_calculator(o)}; },
          [](const current_time_options& o) { return result<tool_ptr>{make_current_time(o)}; },
          [&](const http_get_options& o) { return make_http_get_tool(o, *io); },
          [](const sqlite_query_options& o) { return make_sqlite_query(o); },
          [](const read_file_options& o) { return make_read_file(o); },
          [&](const command_options& o) { return make_command(io, o); },
          [](const simulated_options& o) { return make_simulated(o); },
          [](const remember_options& o) { return result<tool_ptr>{make_remember(o)}; },
          [](const recall_options& o) { return result<tool_ptr>{make_recall(o)}; },
          // make_tools() creates these tools itself.
          [](const sub_agent_options&) { return result<tool_ptr>{tool_ptr{}}; }},
      spec.options);
}

bool has_tool(const tool_list& tools, const std::string& name) {
  return std::ranges::any_of(tools,
                             [&](const auto& tool) { return tool->definition().name == name; });
}

/// Moves the names of options at the start of an error text to the key: `command: argv: is empty`
/// at `tools.0` becomes `is empty` at `tools.0.command.argv`.
agent_fault with_option_in_key(agent_fault fault) {
  constexpr auto name_chars = std::string_view{"abcdefghijklmnopqrstuvwxyz0123456789_"};
  for (auto end = fault.text.find_first_not_of(name_chars);
       end != std::string::npos && end > 0 && fault.text.substr(end, 2) == ": ";
       end = fault.text.find_first_not_of(name_chars)) {
    fault.key += '.' + fault.text.substr(0, end);
    fault.text.erase(0, end + 2);
  }
  return fault;
}

/// Adds the error of a model or tool, unless the reader of the agent file has reported an error of
/// the same option.
void add_unless_reported(agent_fault fault, const std::vector<agent_fault>& read_faults,
                         std::vector<agent_fault>& faults) {
  const auto part = fault.key;
  fault = with_option_in_key(std::move(fault));
  const auto is_reported = std::ranges::any_of(read_faults, [&](const auto& read) {
    return !read.key.empty() && (detail::is_within(fault.key, read.key) ||
                                 (fault.key != part && detail::is_within(read.key, fault.key)));
  });
  if (!is_reported)
    faults.push_back(std::move(fault));
}

/// Adds the errors of a model. The errors in the file of a model have one line each, which begins
/// with `PATH:LINE: `; they become errors of that file.
void add_model_faults(const agent_spec& spec, const error& why,
                      const std::vector<agent_fault>& read_faults,
                      std::vector<agent_fault>& faults) {
  if (constexpr auto share = std::string_view{"limits.share: "}; why.text.starts_with(share))
    return faults.push_back(
        {spec.file, 0, "limits.share", why.text.substr(share.size()), why.code});
  const auto path = detail::path_of_model(spec.model);
  if (path.empty())
    return add_unless_reported({spec.file, spec.model_line, "model", why.text, why.code},
                               read_faults, faults);
  for (auto rest = std::string_view{why.text}; !rest.empty();) {
    const auto text = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(rest.size(), text.size() + 1));
    auto line = std::size_t{0};
    const auto* const begin = text.data() + std::min(path.size() + 1, text.size());
    const auto [end, code] = std::from_chars(begin, text.data() + text.size(), line);
    const auto after = text.substr(static_cast<std::size_t>(end - text.data()));
    if (text.starts_with(path + ':') && code == std::errc{} && after.starts_with(": "))
      faults.push_back({path, line, "", std::string{after.substr(2)}, why.code});
    else
      faults.push_back({spec.file, spec.model_line, "model.path", std::string{text}, why.code});
  }
}

/// Whether the tool with this name is an agent.
bool is_agent(const agent_spec& spec, const std::string& tool) {
  return std::ranges::any_of(spec.tools, [&](const auto& t) {
    const auto* below = std::get_if<sub_agent_options>(&t.options);
    return below != nullptr && below->name == tool;
  });
}

/// Rejects names in `early_tools` that are unknown, or whose calls cannot start early.
void check_early_tools(const agent_spec& spec, const tool_list& tools,
                       std::vector<agent_fault>& faults) {
  const auto refuse = [&](const std::string& name, std::string_view why) {
    faults.push_back(
        {spec.file, spec.early_tools_line, "early_tools", fmt::format("'{}' {}", name, why)});
  };
  for (const auto& name : spec.early_tools) {
    if (!has_tool(tools, name))
      refuse(name, "is not a tool of this agent");
    if (std::ranges::any_of(spec.reviews, [&](const auto& r) { return r.tool == name; }))
      refuse(name, "is reviewed by a person, so its calls cannot start early");
    if (is_agent(spec, name))
      refuse(name, "is an agent; calls of agents cannot start early");
  }
}

/// Rejects reviews of unknown tools. If a misspelled name were ignored, the tool's calls would run
/// without review.
void check_reviews(const agent_spec& spec, const tool_list& tools,
                   std::vector<agent_fault>& faults) {
  for (const auto& one : spec.reviews)
    if (!has_tool(tools, one.tool))
      faults.push_back({spec.file, one.line, one.key,
                        "is not a tool of this agent; `review` expects names of its tools"});
}

/// Rejects limits of unknown tools, which would have no effect.
void check_tool_limits(const agent_spec& spec, const tool_list& tools,
                       std::vector<agent_fault>& faults) {
  for (const auto& one : spec.limits.tools)
    if (!has_tool(tools, one.tool))
      faults.push_back({spec.file, spec.limits.tools_line, "limits.tools",
                        fmt::format("'{}' is not a tool of this agent", one.tool)});
}

/// Rejects memory tools in an agent without a store, because each of their calls would fail.
void check_store(const agent_spec& spec, std::vector<agent_fault>& faults) {
  for (const auto& tool : spec.tools)
    if (spec.store.empty() && (std::holds_alternative<remember_options>(tool.options) ||
                               std::holds_alternative<recall_options>(tool.options)))
      faults.push_back({spec.file, tool.line, tool.key,
                        "requires long-term memory; add the key store: {path: memory.db}"});
}

/// Rejects a sub-agent whose long-term memory differs from this agent's. A run has only one store:
/// that of the outermost agent.
void check_memory_of(const sub_agent& below, const agent_spec& spec, const tool_spec& at,
                     std::vector<agent_fault>& faults) {
  const auto& theirs = below.agent->spec().store;
  if (theirs.empty() || theirs == spec.store)
    return;
  const auto why =
      spec.store.empty()
          ? "add the same `store` to this file"
          : fmt::format("this agent has it in '{}'; use the same `store` in both files",
                        spec.store);
  faults.push_back(
      {spec.file, at.line, at.key,
       fmt::format("agent '{}' has its long-term memory in '{}': {}", below.tool, theirs, why)});
}

/// Returns a text that identifies the file, whichever path is used to name it.
std::string identity_of(const std::string& file) {
  auto code = std::error_code{};
  auto out = std::filesystem::weakly_canonical(file, code);
  return code ? file : out.string();
}

/// Compiles the graph of an agent that another agent calls as a tool.
compiled_graph<chat_state> graph_below(const agent& below) {
  auto options = detail::agent_graph_options{};
  options.follows_context = false;
  return detail::make_agent_graph(below.spec(), below.model(), below.tools(), std::move(options));
}

/// Returns a spec whose model needs no secrets of the environment, and uses no files or servers
/// that are shared with others.
agent_spec without_services(agent_spec spec) {
  if (auto* provider = std::get_if<provider_model_options>(&spec.model)) {
    provider->api_key_env = "";
    provider->headers_env.clear();
  }
  spec.record.clear();
  spec.cache.reset();
  spec.limits.share.clear();
  return spec;
}

/// Removes the secrets that the environment lacks from the options of the model. Adds a warning for
/// each.
agent_spec without_missing_secrets(agent_spec spec, std::vector<agent_fault>& warnings) {
  if (auto* provider = std::get_if<provider_model_options>(&spec.model))
    for (auto& text : remove_missing_secrets(*provider))
      warnings.push_back({spec.file, spec.model_line, "model", std::move(text)});
  return spec;
}

/// Builds an agent and its sub-agents recursively, and collects the errors, notes and warnings of
/// all their files.
class building {
public:
  building(std::shared_ptr<io_runtime> io, agent_use use) : io_{std::move(io)}, use_{use} {}

  /// Returns the agent; null if its file or a sub-agent's file has errors.
  std::shared_ptr<const agent> build(agent_reading reading);
  [[nodiscard]] std::vector<agent_fault> take_faults() { return std::move(faults_); }
  [[nodiscard]] std::vector<std::string> take_notes() { return std::move(notes_); }
  [[nodiscard]] std::vector<agent_fault> take_warnings() { return std::move(warnings_); }
  /// Counts the waiting and repeated calls of all models.
  [[nodiscard]] const std::shared_ptr<call_activity>& activity() const { return activity_; }

private:
  struct made_tools {
    tool_list tools;
    std::vector<sub_agent> agents;
    bool is_complete = true; ///< false if a tool could not be created
  };

  chat_model_ptr make_wrapped_model(const agent_spec& spec,
                                    const std::vector<agent_fault>& read_faults);
  /// Creates the model for the use of the agent; null if it has errors.
  chat_model_ptr make_used_model(const agent_reading& reading);
  made_tools make_tools(const agent_spec& spec, const std::vector<agent_fault>& read_faults);
  result<tool_ptr> make_agent_below(const sub_agent_options& o, const agent_spec& spec,
                                    const tool_spec& at, std::vector<sub_agent>& into);
  /// Returns the agent of a file; null if its file has errors, which were added.
  result<std::shared_ptr<const agent>> agent_of(const std::string& file);
  [[nodiscard]] std::string chain_to(const std::string& file) const;

  std::shared_ptr<io_runtime> io_;
  agent_use use_;
  std::shared_ptr<call_activity> activity_ = std::make_shared<call_activity>();
  std::vector<agent_fault> faults_;
  std::vector<std::string> notes_;
  std::vector<agent_fault> warnings_;
  std::vector<std::string> files_;      ///< paths from the outermost agent to the one being built
  std::vector<std::string> identities_; ///< identity_of() of each element of `files_`
  /// Finished agents by identity_of(); null for an agent with errors.
  std::map<std::string, std::shared_ptr<const agent>> made_;
};

/// Returns the nesting of agent files for an error text: "outer.yaml -> inner.yaml -> FILE".
std::string building::chain_to(const std::string& file) const {
  return fmt::format("{} -> {}", fmt::join(files_, " -> "), file);
}

result<std::shared_ptr<const agent>> building::agent_of(const std::string& file) {
  const auto refuse = [](std::string text) {
    return error{errc::invalid_argument, std::move(text)};
  };
  const auto identity = identity_of(file);
  if (std::ranges::find(identities_, identity) != identities_.end())
    return refuse("the agent would call itself: " + chain_to(file));
  if (identities_.size() >= agent_depth_max)
    return refuse(
        fmt::format("agents may be nested at most {} levels: {}", agent_depth_max, chain_to(file)));
  auto found = made_.find(identity);
  if (found == made_.end()) {
    if (made_.size() + 1 >= agent_files_max)
      return refuse(fmt::format("an agent may consist of at most {} files", agent_files_max));
    auto reading = read_agent_file(file);
    if (reading.spec.file.empty()) { // the file could not be read
      const auto& why = reading.faults.front();
      return error{why.code ? why.code : make_error_code(errc::invalid_argument),
                   fmt::format("agent: file: '{}' {}", file, why.text)};
    }
    auto made = build(std::move(reading));
    found = made_.emplace(identity, std::move(made)).first;
  }
  return found->second;
}

result<tool_ptr> building::make_agent_below(const sub_agent_options& o, const agent_spec& spec,
                                            const tool_spec& at, std::vector<sub_agent>& into) {
  if (spec.version == react_version::v1)
    return error{errc::invalid_argument,
                 "an agent as a tool requires version v2: in v1 all calls of an answer are one "
                 "task, in which two inner agents cannot be distinguished"};
  auto below = agent_of(o.file);
  if (!below)
    return below.error();
  if (!*below)
    return tool_ptr{};
  into.push_back({o.name, std::move(*below)});
  check_memory_of(into.back(), spec, at, faults_);
  auto made = detail::make_agent_tool(o, graph_below(*into.back().agent));
  return o.timeout ? with_timeout(std::move(made), *o.timeout) : made;
}

/// Creates the model with its wrappers; null if it has errors. Adds each error that the reader of
/// the agent file has not reported.
chat_model_ptr building::make_wrapped_model(const agent_spec& spec,
                                            const std::vector<agent_fault>& read_faults) {
  auto read_note = std::string{};
  auto record_note = std::string{};
  auto made = make_model(spec, io_, activity_, read_note);
  if (!made)
    add_model_faults(spec, made.error(), read_faults, faults_);
  if (made && *made) {
    made = cached(std::move(made), spec, activity_);
    if (!made)
      faults_.push_back(
          {spec.file, spec.cache_line, "cache.path", made.error().text, made.error().code});
  }
  if (made && *made) {
    made = recorded(std::move(made), spec, record_note);
    if (!made)
      faults_.push_back(
          {spec.file, spec.model_line, "model.record", made.error().text, made.error().code});
  }
  if (made && *made) {
    made = in_protocol(std::move(made), spec);
    if (!made)
      faults_.push_back(
          {spec.file, spec.model_line, "model.protocol", made.error().text, made.error().code});
  }
  for (auto* note : {&read_note, &record_note})
    if (!note->empty())
      notes_.push_back(std::move(*note));
  return made ? std::move(*made) : chat_model_ptr{};
}

chat_model_ptr building::make_used_model(const agent_reading& reading) {
  switch (use_) {
  case agent_use::run:
    break;
  case agent_use::check:
    return make_wrapped_model(without_missing_secrets(reading.spec, warnings_), reading.faults);
  case agent_use::show:
    return make_wrapped_model(without_services(reading.spec), reading.faults);
  }
  return make_wrapped_model(reading.spec, reading.faults);
}

/// Creates the tools of the file. Adds an error for each tool that cannot be created or whose name
/// is not unique.
building::made_tools building::make_tools(const agent_spec& spec,
                                          const std::vector<agent_fault>& read_faults) {
  auto out = made_tools{};
  auto keys = std::map<std::string, std::string>{};
  for (const auto& described : spec.tools) {
    const auto* below = std::get_if<sub_agent_options>(&described.options);
    auto made = below != nullptr ? make_agent_below(*below, spec, described, out.agents)
                                 : make_tool_of(described, io_);
    if (!made)
      add_unless_reported(
          {spec.file, described.line, described.key, made.error().text, made.error().code},
          read_faults, faults_);
    if (!made || !*made) {
      out.is_complete = false;
      continue;
    }
    const auto& name = (*made)->definition().name;
    const auto [first, is_new] = keys.emplace(name, described.key);
    if (!is_new)
      faults_.push_back({spec.file, described.line, described.key,
                         fmt::format("the name '{}' is already used by {}", name, first->second)});
    if (described.effects == tool_effects::idempotent)
      *made = idempotent(std::move(*made));
    else if (described.effects == tool_effects::journaled)
      *made = journaled(std::move(*made));
    out.tools.push_back(std::move(*made));
  }
  return out;
}

std::shared_ptr<const agent> building::build(agent_reading reading) {
  const auto faults_before = faults_.size();
  faults_.insert(faults_.end(), reading.faults.begin(), reading.faults.end());
  auto model = make_used_model(reading);
  auto& spec = reading.spec;
  if (const auto* provider = std::get_if<provider_model_options>(&spec.model))
    for (auto& text : warnings_of(*provider))
      warnings_.push_back({spec.file, spec.model_line, "model", std::move(text)});
  if (auto text = unused_cache(spec))
    warnings_.push_back({spec.file, spec.cache_line, "cache", std::move(*text)});
  files_.push_back(spec.file);
  identities_.push_back(identity_of(spec.file));
  auto made = make_tools(spec, reading.faults);
  files_.pop_back();
  identities_.pop_back();
  const auto misses_tools = std::ranges::any_of(
      faults_.begin() + static_cast<std::ptrdiff_t>(faults_before), faults_.end(),
      [](const auto& fault) { return fault.key.starts_with("tools"); });
  // If a tool has errors, names of tools are not checked, because a name may refer to that tool.
  if (made.is_complete && !misses_tools) {
    check_early_tools(spec, made.tools, faults_);
    check_reviews(spec, made.tools, faults_);
    check_tool_limits(spec, made.tools, faults_);
  }
  check_store(spec, faults_);
  detail::refer_to_overrides(spec, faults_, faults_before);
  if (faults_.size() > faults_before || !made.is_complete)
    return nullptr;
  return std::make_shared<const agent>(std::move(spec), std::move(model), std::move(made.tools),
                                       std::move(made.agents));
}

} // namespace

agent_building build_agent(agent_reading reading, const std::shared_ptr<io_runtime>& io) {
  auto work = building{io, reading.use};
  const auto made = work.build(std::move(reading));
  auto out = agent_building{
      {}, work.take_faults(), work.take_notes(), work.take_warnings(), work.activity()};
  if (made)
    out.agent.emplace(*made);
  return out;
}

} // namespace superstep
