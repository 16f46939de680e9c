// SPDX-License-Identifier: Apache-2.0
// Runs blocks of rows. When a row ends, its thread starts the next one, so that rows need neither
// the GIL nor a thread of Python until their block is complete.
#include "row_window.hpp"

#include "actors/engine_access.hpp"
#include "agent.hpp"
#include "convert.hpp"
#include "failure.hpp"
#include "module.hpp"

#include <superstep/messages/messages.hpp>

#include <algorithm>
#include <utility>

#include <nanobind/stl/string.h>

namespace superstep::python {

namespace {

detail::run_input input_of(const compiled_graph<chat_state>& graph, row_input&& from) {
  auto* const text = std::get_if<std::string>(&from);
  if (text == nullptr)
    return std::move(std::get<detail::run_input>(from));
  auto messages = message_list{};
  messages.push_back(human_message(std::move(*text)));
  return detail::input_for(graph, std::move(messages));
}

} // namespace

row_window::row_window(compiled_graph<chat_state> graph, row_window_options options,
                       result_queue_ptr to)
    : graph_{std::move(graph)}, options_{std::move(options)}, to_{std::move(to)} {}

void row_window::add(open_block block, const std::shared_ptr<engine>& runs) {
  block.owner = shared_from_this();
  block.runs.resize(block.inputs.size());
  block.missing = static_cast<std::size_t>(
      std::ranges::count_if(block.inputs, [](const auto& i) { return i.has_value(); }));
  if (block.missing == 0) {
    deliver(block);
    return;
  }
  auto added = std::make_shared<open_block>(std::move(block));
  {
    const auto lock = std::scoped_lock{mutex_};
    if (is_cancelled_)
      return;
    waiting_ += added->missing;
    std::erase_if(all_blocks_, [](const auto& b) { return b.expired(); });
    all_blocks_.push_back(added);
    blocks_.push_back(std::move(added));
  }
  fill(*runs);
}

std::size_t row_window::waiting() const {
  const auto lock = std::scoped_lock{mutex_};
  return waiting_;
}

void row_window::cancel() {
  auto dropped = std::deque<block_ptr>{};
  auto runs = std::vector<run_handle>{};
  {
    const auto lock = std::scoped_lock{mutex_};
    if (!std::exchange(is_cancelled_, true))
      process_.cancelled_runs.fetch_add(static_cast<std::int64_t>(live_),
                                        std::memory_order_relaxed);
    waiting_ = 0;
    dropped.swap(blocks_);
    for (const auto& reference : all_blocks_)
      if (const auto block = reference.lock())
        runs.insert(runs.end(), block->runs.begin(), block->runs.end());
  }
  for (const auto& run : runs)
    run.cancel();
}

/// Starts rows while there is room. A row that ends meanwhile is replaced by the same loop, also if
/// it ends before its start returns, so the calls do not nest.
void row_window::fill(engine& runs) {
  auto lock = std::unique_lock{mutex_};
  if (std::exchange(is_filling_, true))
    return;
  while (live_ < options_.concurrency && !blocks_.empty()) {
    const auto block = blocks_.front();
    const auto row = block->next++;
    if (block->next == block->inputs.size())
      blocks_.pop_front();
    if (!block->inputs[row])
      continue;
    ++live_;
    const auto is_last = --waiting_ == 0;
    lock.unlock();
    auto run = start(runs, block, row);
    if (is_last && options_.reports_room)
      to_->put(-1, [] { return nb::object(nb::none()); });
    lock.lock();
    if (is_cancelled_)
      run.cancel();
    else
      block->runs[row] = std::move(run);
  }
  is_filling_ = false;
}

run_handle row_window::start(engine& runs, const block_ptr& block, std::size_t row) noexcept {
  process_.live_runs.fetch_add(1, std::memory_order_relaxed);
  try {
    auto config = options_.config;
    if (!block->thread_ids.empty())
      config.thread_id = std::move(block->thread_ids[row]);
    auto done = [block, row, at = &runs](detail::raw_result raw) {
      auto& window = *block->owner;
      auto& outcome = block->outcomes->row(row);
      try {
        outcome.set(detail::typed_result(detail::adapter_of(window.graph_), std::move(raw)),
                    window.options_.stores_messages);
      } catch (...) { // out of memory
        outcome.fail(error_of(std::current_exception()));
      }
      window.end_row(*block);
      window.fill(*at);
    };
    return detail::engine_access::start(runs, detail::program_of(graph_),
                                        input_of(graph_, *std::move(block->inputs[row])),
                                        std::move(config), std::move(done));
  } catch (...) {
    block->outcomes->row(row).fail(error_of(std::current_exception()));
    end_row(*block);
    return {};
  }
}

void row_window::end_row(open_block& block) {
  process_.live_runs.fetch_sub(1, std::memory_order_relaxed);
  auto is_complete = false;
  {
    const auto lock = std::scoped_lock{mutex_};
    --live_;
    if (is_cancelled_)
      process_.cancelled_runs.fetch_sub(1, std::memory_order_relaxed);
    is_complete = --block.missing == 0 && !is_cancelled_;
  }
  if (is_complete)
    deliver(block);
}

void row_window::deliver(const open_block& block) {
  to_->put(block.tag, [outcomes = block.outcomes] { return nb::cast(block_reference{outcomes}); });
}

namespace {

/// Reads the input of a row: a str, None to resume the thread, a tuple with a resume value, an
/// exception with which the row fails, or a list of messages. Returns nullopt if the row has
/// failed.
std::optional<row_input> read_row(const compiled_graph<chat_state>& graph, nb::handle from,
                                  row_result& outcome) {
  try {
    if (PyUnicode_Check(from.ptr()))
      return std::string{text_of(from, "the input")};
    if (PyObject_IsInstance(from.ptr(), PyExc_Exception) == 1)
      outcome.fail(describe_exception(from));
    else
      return read_agent_input(graph, from);
  } catch (nb::python_error& e) {
    outcome.fail(describe_exception(e.value()));
  } catch (const nb::builtin_exception& e) {
    const auto* const type =
        e.type() == nb::exception_type::type_error ? "TypeError: " : "ValueError: ";
    outcome.fail(type + std::string{e.what()});
  } catch (...) {
    outcome.fail(error_of(std::current_exception()));
  }
  return std::nullopt;
}

/// Replaces the inputs of rows whose threads exist: these rows continue their threads.
void resume_threads(const compiled_graph<chat_state>& graph, open_block& block) {
  for (auto i = std::size_t{0}; i < block.inputs.size(); ++i) {
    if (!block.inputs[i])
      continue;
    try {
      if (has_checkpoint(graph, block.thread_ids[i]))
        block.inputs[i] = detail::input_for(graph, superstep::resume{});
    } catch (...) {
      block.outcomes->row(i).fail(error_of(std::current_exception()));
      block.inputs[i].reset();
    }
  }
}

void add_block(const window_reference& to, nb::list inputs, nb::handle thread_ids, bool resumes,
               std::int64_t tag) {
  auto block = open_block{.outcomes = std::make_shared<row_block>(inputs.size()), .tag = tag};
  block.inputs.reserve(inputs.size());
  for (auto i = std::size_t{0}; i < inputs.size(); ++i)
    block.inputs.push_back(read_row(to.window->graph(), inputs[i], block.outcomes->row(i)));
  if (!thread_ids.is_none())
    block.thread_ids = read_names(thread_ids, "thread_ids");
  if (!block.thread_ids.empty() && block.thread_ids.size() != block.inputs.size())
    throw nb::value_error("thread_ids must have one id for each row");
  auto runs = process::get().runs();
  const auto unlocked = nb::gil_scoped_release{};
  const auto used = std::move(runs); // released before the GIL is taken again
  if (resumes)
    resume_threads(to.window->graph(), block);
  to.window->add(std::move(block), used);
}

} // namespace

void add_rows(nb::module_& m) {
  nb::class_<block_reference>(m, "RowBlock")
      .def("__len__", [](const block_reference& b) { return b.block->size(); })
      .def("column",
           [](const block_reference& b, const std::string& name) { return b.block->column(name); })
      .def("buffers", [](const block_reference& b, const std::string& name) {
        return b.block->buffers(name);
      });
  nb::class_<window_reference>(m, "RowWindow")
      .def(
          "add",
          [](const window_reference& to, nb::list inputs, nb::handle thread_ids, bool resumes,
             std::int64_t tag) {
            translated([&] { add_block(to, std::move(inputs), thread_ids, resumes, tag); });
          },
          nb::arg(), nb::arg().none(), nb::arg(), nb::arg())
      .def("waiting", [](const window_reference& w) { return w.window->waiting(); })
      .def("cancel", [](const window_reference& w) { w.window->cancel(); });
}

} // namespace superstep::python
