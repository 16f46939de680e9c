// SPDX-License-Identifier: Apache-2.0
#include "cli/row_agent.hpp"

#include <superstep/agents/conversation.hpp>

#include <utility>

namespace superstep::cli {

namespace {

/// Tells the start and the end of a call, whatever becomes of it.
class told_call {
public:
  /// @param start, end literals
  told_call(std::shared_ptr<const agent_context> asked, std::string_view start,
            std::string_view end, std::string id)
      : asked_{std::move(asked)}, end_{end}, id_{std::move(id)} {
    tell(start);
  }
  told_call(const told_call&) = delete;
  told_call& operator=(const told_call&) = delete;
  ~told_call() { tell(end_); }

private:
  void tell(std::string_view event) {
    if (asked_ && asked_->observe)
      asked_->observe(event, id_);
  }

  std::shared_ptr<const agent_context> asked_;
  std::string_view end_;
  std::string id_;
};

/// Counts what it answers for the run that asks, and asks with the parameters of its row.
class counted_model final : public chat_model {
public:
  counted_model(chat_model_ptr inner, std::shared_ptr<row_agent::running> runs)
      : inner_{std::move(inner)}, runs_{std::move(runs)} {}

  task<result<message>> complete(model_request request) const override {
    auto asked = runs_->context_of(request.run_key);
    if (asked)
      for (const auto& [name, set] : asked->parameters)
        request.parameters.insert_or_assign(name, set);
    return counted(runs_, inner_, std::move(request), std::move(asked));
  }
  std::string fingerprint() const override { return inner_->fingerprint(); }

private:
  static task<result<message>> counted(std::shared_ptr<row_agent::running> runs,
                                       chat_model_ptr inner, model_request request,
                                       std::shared_ptr<const agent_context> asked) {
    const auto telling =
        told_call{std::move(asked), "model_start", "model_end", std::to_string(request.turn)};
    const auto run = request.run_key;
    auto asking = inner->complete(std::move(request));
    auto reply = co_await asking;
    if (reply)
      runs->add(run, *reply);
    co_return reply;
  }

  chat_model_ptr inner_;
  std::shared_ptr<row_agent::running> runs_;
};

/// A tool whose calls are told to the observer of the row and timed.
class told_tool final : public tool {
public:
  explicit told_tool(tool_ptr inner) : inner_{std::move(inner)} {}

  [[nodiscard]] const tool_definition& definition() const noexcept override {
    return inner_->definition();
  }
  [[nodiscard]] std::vector<injection> injections() const override { return inner_->injections(); }
  [[nodiscard]] tool_effects effects() const noexcept override { return inner_->effects(); }
  [[nodiscard]] bool commands_parent() const noexcept override { return inner_->commands_parent(); }
  [[nodiscard]] task<tool_output> run(tool_call call, tool_context context) const override {
    auto asked = std::shared_ptr<const agent_context>{};
    if (context.around && context.around->run)
      asked = context.around->run->config().context.share_if<agent_context>();
    return told(inner_, std::move(call), std::move(context), std::move(asked));
  }

private:
  static task<tool_output> told(tool_ptr inner, tool_call call, tool_context context,
                                std::shared_ptr<const agent_context> asked) {
    auto& at = co_await this_home{};
    const auto begin = at.where->now();
    const auto telling = told_call{asked, "tool_start", "tool_end", call.id};
    auto running = inner->run(std::move(call), std::move(context));
    auto out = co_await running;
    if (asked && asked->tool_times)
      asked->tool_times->add(at.where->now() - begin);
    co_return out;
  }

  tool_ptr inner_;
};

compiled_graph<messages_state> graph_of(const agent& from,
                                        const std::shared_ptr<row_agent::running>& runs) {
  auto tools = tool_list{};
  for (const auto& one : from.tools())
    tools.push_back(std::make_shared<const told_tool>(one));
  const auto counted = agent{from.spec(), std::make_shared<const counted_model>(from.model(), runs),
                             std::move(tools), from.sub_agents()};
  return make_conversation(counted, nullptr);
}

} // namespace

row_agent::row_agent(const agent& from)
    : runs_{std::make_shared<running>()}, graph_{graph_of(from, runs_)} {}

bool row_agent::is_needed(const agent_spec& spec) noexcept {
  return spec.trim || spec.response;
}

void row_agent::running::begin(const std::string& run, std::shared_ptr<const agent_context> asked) {
  const auto lock = std::scoped_lock{mutex_};
  by_run_.insert_or_assign(run, entry{std::move(asked), {}});
}

std::shared_ptr<const agent_context> row_agent::running::context_of(const std::string& run) const {
  const auto lock = std::scoped_lock{mutex_};
  const auto found = by_run_.find(run);
  return found == by_run_.end() ? nullptr : found->second.asked;
}

void row_agent::running::add(const std::string& run, const message& answer) {
  const auto lock = std::scoped_lock{mutex_};
  const auto found = by_run_.find(run);
  if (found == by_run_.end()) // it was cancelled meanwhile
    return;
  auto& counted = found->second.counted;
  ++counted.model_calls;
  if (answer.usage)
    add_usage{}(counted.usage, token_usage{*answer.usage});
}

row_agent::counts row_agent::running::end(const std::string& run) {
  const auto lock = std::scoped_lock{mutex_};
  auto found = by_run_.extract(run);
  return found ? std::move(found.mapped().counted) : counts{};
}

} // namespace superstep::cli
