// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/runtime/detail/channel_handle.hpp>
#include <superstep/runtime/detail/typed_body.hpp>

#include <concepts>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace superstep {

/// Writes to channels, for example `{last <<= 1, log <<= lines}`: the input of a channel_graph.
struct channel_writes : std::vector<channel_write> {
  using std::vector<channel_write>::vector;
};

/// The state of a channel_graph, read with get(handle, values). Copies share the values, which
/// never change; any thread may read them.
class channel_values {
public:
  /// Creates an object without a state.
  channel_values() = default;
  /// Shares the ownership of a state.
  explicit channel_values(state_view state) : state_{std::move(state)} {}
  /// Whether there is a state. The result of a run that never started has none.
  explicit operator bool() const noexcept { return state_ != nullptr; }
  /// Returns the state. @pre there is one
  [[nodiscard]] const state_block& operator*() const noexcept { return *state_; }

private:
  state_view state_;
};

/// Returns the value of a channel in the state of a channel_graph. Valid as long as a copy of
/// `values`. Throws graph_error{invalid_update} if there is no state, or if the state belongs to
/// another graph.
template <class T, class Held>
[[nodiscard]] const Held& get(channel_handle<T, Held> from, const channel_values& values) {
  if (!values)
    detail::throw_other_graph();
  return get(from, *values);
}

/// The command of a channel_graph, which its nodes return and its runs accept; see command.
template <>
struct command<channel_values> {
  channel_writes update{};
  destinations go_to{};
  optional_box<superstep::resume> resume{};
};
/// The result of a node of a channel_graph.
using step_result = command<channel_values>;

namespace detail {

/// Checks and returns the writes. Throws graph_error if one is for a channel of another graph.
[[nodiscard]] write_list own_writes(channel_writes, const channel_layout&);
/// Throws graph_error{invalid_update}: the node reads channels, but a Send gives it an input.
[[noreturn]] void throw_takes_no_input(const body_input&);

template <class R>
concept channel_result = std::is_void_v<R> || std::same_as<R, step_result>;

template <class F, class... In>
concept channel_body_for =
    body_arguments<F, In...> && channel_result<awaited_t<body_result<F, In...>>>;

template <class F, class... In>
concept channel_router_for = body_arguments<F, In...> && route_result<body_result<F, In...>>;

inline void into_output(step_result&& r, const program& table, const channel_layout& layout,
                        node_output& out) {
  if (r.resume) [[unlikely]]
    throw_resumes();
  for (auto& w : own_writes(std::move(r.update), layout))
    out.writes.push_back(std::move(w));
  for (auto& d : r.go_to)
    std::move(d).add_to(out, table);
}

/// Calls a body with its inputs. Stores its result, or the task that awaits it, in `out`.
template <class F, class... In>
void run_channel_body(const F& f, const channel_layout& layout, const body_input& given,
                      node_body::outcome& out, const In&... in) {
  using result = body_result<F, In...>;
  if constexpr (is_task_v<result>)
    out.rest = call_body(f, given, in...);
  else if constexpr (std::is_void_v<result>)
    call_body(f, given, in...);
  else
    into_output(call_body(f, given, in...), *given.table, layout, out.output);
}

/// The body of a node that reads channels.
template <class F, class... Handles>
class channel_body final : public node_body {
public:
  channel_body(F f, const channel_layout& layout, std::tuple<Handles...> reads)
      : f_{std::move(f)}, layout_{&layout}, reads_{std::move(reads)} {}

  void run(const body_input& given, outcome& out) const override {
    if (given.payload)
      throw_takes_no_input(given);
    std::apply(
        [&](const auto&... h) {
          run_channel_body(f_, *layout_, given, out, held_in(h, *given.state)...);
        },
        reads_);
  }
  void finish(body_task& ended, const body_input& given, node_output& out) const override {
    take_output<body_result<F, typename Handles::held_type...>>(ended, *given.table, *layout_, out);
  }
  [[nodiscard]] bool gives_commands() const override {
    return !std::is_void_v<awaited_t<body_result<F, typename Handles::held_type...>>>;
  }

private:
  F f_;
  const channel_layout* layout_;
  std::tuple<Handles...> reads_;
};

/// The body of a node that is activated by Sends.
template <class F, class In>
class worker_body final : public node_body {
public:
  worker_body(F f, const channel_layout& layout) : f_{std::move(f)}, layout_{&layout} {}

  void run(const body_input& given, outcome& out) const override {
    if (!given.payload || !given.payload->holds<In>())
      throw_wrong_input(given);
    run_channel_body(f_, *layout_, given, out, given.payload->as<In>());
  }
  void finish(body_task& ended, const body_input& given, node_output& out) const override {
    take_output<body_result<F, In>>(ended, *given.table, *layout_, out);
  }
  [[nodiscard]] bool gives_commands() const override {
    return !std::is_void_v<awaited_t<body_result<F, In>>>;
  }
  const value_form* input_form() const override { return form_of<In>(); }
  const std::type_info& input_type() const override { return typeid(In); }

private:
  F f_;
  const channel_layout* layout_;
};

/// A branch of a channel_graph. Its function receives the values of the channels that it reads.
template <class F, class... Handles>
class channel_router final : public router {
public:
  channel_router(F f, std::tuple<Handles...> reads) : f_{std::move(f)}, reads_{std::move(reads)} {}

  void route(const body_input& given, const state_block& fresh, node_output& out) const override {
    std::apply(
        [&](const auto&... h) {
          add_route(call_body(f_, given, held_in(h, fresh)...), given, out);
        },
        reads_);
  }

private:
  F f_;
  std::tuple<Handles...> reads_;
};

} // namespace detail
} // namespace superstep
