// SPDX-License-Identifier: Apache-2.0
// Tools that run a program once and send it many calls: JSON lines in, JSON lines out. This file
// builds the lines and checks the answers; net/worker_pool.cpp runs the processes.
#include "base/error_table.hpp"
#include "net/worker_pool.hpp"
#include "tools/command_request.hpp"
#include "tools/failed_call.hpp"

#include <superstep/base/await.hpp>
#include <superstep/tools/tool_node.hpp>

#include <algorithm>
#include <atomic>
#include <new>
#include <thread>
#include <utility>

namespace superstep {

namespace {

std::size_t worker_count(const command_options& options) {
  const auto cores = std::max(1U, std::thread::hardware_concurrency());
  return options.workers > 0 ? options.workers : std::min<std::size_t>(cores, command_workers_max);
}

/// Returns what is wrong with an answer; empty if it is valid.
std::string fault_of(const json::object& answer) {
  const auto has_result = answer.contains("result");
  const auto* const failed = answer.if_contains("error");
  if (has_result == (failed != nullptr))
    return "it must have either the member result or the member error";
  if (failed != nullptr && !failed->is_string())
    return "its member error must be a text";
  for (const auto& [name, value] : answer)
    if (name != "id" && name != "result" && name != "error")
      return "its member '" + std::string{name} + "' is unknown; known: id, result, error";
  return {};
}

/// Judges a line of a worker that serves the call `id`. Stores a valid answer in `into`.
line_verdict judge(std::string_view line, std::uint64_t id, json::object& into) {
  using kind = line_verdict::kind;
  auto parsed = parse_json(line);
  if (!parsed)
    return {kind::invalid, "it is not JSON"};
  auto* const answer = parsed->if_object();
  if (answer == nullptr)
    return {kind::invalid, "it is not a JSON object"};
  const auto* const member = answer->if_contains("id");
  auto failed = boost::system::error_code{};
  const auto answered = member != nullptr ? member->to_number<std::uint64_t>(failed) : 0;
  if (member == nullptr || failed)
    return {kind::invalid, "its member id is missing or not the number of a call"};
  if (answered < id)
    return {kind::stale, {}};
  if (answered > id)
    return {kind::invalid, "its id is " + std::to_string(answered) + ", not " + std::to_string(id)};
  if (auto fault = fault_of(*answer); !fault.empty())
    return {kind::invalid, std::move(fault)};
  into = std::move(*answer);
  return {};
}

/// The texts of the error codes of tools. error::text contains the details.
constexpr detail::error_entry<tool_errc> code_table[] = {
    {tool_errc::worker_failed, "worker_failed", "a worker of the tool failed"},
};

/// Whether the error is a failure of one worker. After any other error no call can succeed.
bool is_of_worker(std::error_code code) {
  return code == errc::timed_out || code == errc::cancelled || code == errc::io_failed ||
         code == errc::parse_failed || code == errc::too_large;
}

class worker_tool final : public tool {
public:
  worker_tool(std::shared_ptr<io_runtime> io, tool_definition definition,
              const command_options& options)
      : definition_{std::move(definition)}, program_{options.argv.front()},
        timeout_{options.timeout}, answers_failures_{options.answers_failures},
        pool_{std::move(io), pool_options_of(options)} {}

  [[nodiscard]] const tool_definition& definition() const noexcept override { return definition_; }

  [[nodiscard]] task<tool_output> run(const tool_call& call,
                                      const tool_context& context) const override {
    const auto id = next_id_++;
    auto answer = std::make_shared<json::object>();
    auto done = result<void>{};
    try {
      auto asked = worker_call{};
      asked.line = line_of(id, call, context);
      asked.timeout = timeout_;
      asked.judge = [id, answer](std::string_view line) { return judge(line, id, *answer); };
      auto asking = pool_.ask(std::move(asked));
      done = co_await asking;
    } catch (const std::bad_alloc&) {
      throw tool_unavailable{
          error{errc::shortage, "tool '" + definition_.name + "': out of memory"}};
    }
    if (!done && !is_of_worker(done.error().code))
      throw tool_unavailable{error{done.error().code, "tool '" + definition_.name + "': " +
                                                          program_ + ": " + done.error().text}};
    if (!done && !answers_failures_)
      throw tool_failed{error{tool_errc::worker_failed, "tool '" + definition_.name + "': " +
                                                            program_ + ": " + done.error().text}};
    if (!done)
      co_return failed("command '" + program_ + "': " + done.error().text);
    if (auto* const text = answer->if_contains("error"))
      co_return failed(std::string{text->get_string()});
    co_return output_of(std::move(answer->at("result")));
  }

private:
  [[nodiscard]] static worker_pool_options pool_options_of(const command_options& options) {
    auto out = worker_pool_options{};
    out.program = request_of(options);
    out.workers = worker_count(options);
    return out;
  }

  [[nodiscard]] std::string line_of(std::uint64_t id, const tool_call& call,
                                    const tool_context& context) const {
    auto out = "{\"id\":" + std::to_string(id) + ",\"tool\":";
    append_quoted(out, definition_.name);
    out += ",\"arguments\":";
    append_text(out, call.args);
    out += ",\"run_key\":";
    append_quoted(out, context.run_key);
    out += ",\"tool_call_id\":";
    append_quoted(out, context.tool_call_id);
    out += ",\"attempt\":" + std::to_string(context.attempt) + ",\"idempotency_key\":";
    append_quoted(out, context.idempotency_key());
    out += "}\n";
    return out;
  }

  [[nodiscard]] static tool_output failed(const std::string& text) {
    return error_output("Error: " + text);
  }

  tool_definition definition_;
  std::string program_;
  std::chrono::milliseconds timeout_;
  bool answers_failures_;
  mutable std::atomic<std::uint64_t> next_id_{1};
  mutable worker_pool pool_;
};

} // namespace

std::error_code make_error_code(tool_errc code) noexcept {
  static const auto category =
      detail::error_table<tool_errc>{"tool", "tool_errc", "unknown tool error", code_table};
  return {static_cast<int>(code), category};
}

tool_ptr make_worker_tool(std::shared_ptr<io_runtime> io, tool_definition definition,
                          const command_options& options) {
  return std::make_shared<const worker_tool>(std::move(io), std::move(definition), options);
}

} // namespace superstep
