// SPDX-License-Identifier: Apache-2.0
// The part of a run that exists only if the run has a thread (a conversation with a thread_id):
// loads the thread, decides whether the input starts, resumes or branches it, and saves checkpoints
// and task records. The coordinator of the run calls it (actors/coordinator*.cpp).
#include "threads/thread_run.hpp"

#include "base/hex.hpp"
#include "base/utf8.hpp"
#include "checkpoint/lease_queue.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <unordered_set>
#include <utility>

namespace superstep {

namespace {

constexpr auto id_digits = std::size_t{8};

std::string padded(std::uint64_t n) {
  const auto digits = std::to_string(n);
  return std::string(digits.size() < id_digits ? id_digits - digits.size() : 0, '0') + digits;
}

error refused(graph_errc code, std::string text) {
  return {make_error_code(code), std::move(text)};
}

/// Returns the FNV-1a hash of a text from a given start value. An interrupt id consists of two such
/// hashes: it must be stable and rarely collide, but not be secure.
std::uint64_t hash_of(std::string_view text, std::uint64_t start) {
  for (const auto c : text)
    start = (start ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
  return start;
}

/// Returns the error for a resume value without its interrupt. Keys that cannot be ids are probably
/// the members of one value.
error unknown_interrupt(const std::string& thread_id, const std::string& id) {
  auto text = "thread '" + thread_id + "' has no pending interrupt '" + id + "'";
  if (!is_interrupt_id(id))
    text += "; to pass an object as one resume value, write resume(json::value{{key, value}, ...})";
  return refused(graph_errc::unknown_interrupt, std::move(text));
}

} // namespace

/// A value with an id stays available, because a retried task asks for it again. A value without an
/// id is used once.
std::optional<json::value> given_answers::take(const std::string& id) {
  const auto lock = std::scoped_lock{mutex_};
  if (const auto found = by_id_.find(id); found != by_id_.end())
    return found->second;
  return std::exchange(any_, std::nullopt);
}

/// The id depends only on the place of the interrupt in the run, so it is the same in every process
/// that resumes the thread.
std::string interrupt_id(std::string_view ns, std::string_view task_key, std::size_t question) {
  auto text = std::string{ns} + '|' + std::string{task_key};
  if (question > 0)
    text += '|' + std::to_string(question);
  auto out = std::string{};
  for (const auto half :
       {hash_of(text, 0xcbf29ce484222325ULL), hash_of(text, 0x9e3779b97f4a7c15ULL)})
    for (auto shift = 60; shift >= 0; shift -= 4)
      out += hex_digits[(half >> shift) & 15];
  return out;
}

bool is_interrupt_id(std::string_view text) noexcept {
  constexpr auto digits = std::size_t{32};
  return text.size() == digits && text.find_first_not_of(hex_digits) == std::string_view::npos;
}

namespace {

/// Whether a configuration key is not stored, because it has another meaning in checkpoints or is
/// reserved by LangGraph.
bool is_reserved(std::string_view name) {
  constexpr auto taken = std::array<std::string_view, 7>{
      "source", "step", "parents", "thread_id", "checkpoint_id", "checkpoint_ns", "checkpoint_map"};
  return name.starts_with("__") || name.starts_with("langgraph_") ||
         std::ranges::find(taken, name) != taken.end();
}

/// Whether a task has stopped at interrupts and has not ended since.
bool is_waiting(const task_record& r) noexcept {
  return r.interrupts && !r.output;
}

} // namespace

std::shared_ptr<const json::object> stored_entries(const run_config& config) {
  auto out = json::object{};
  for (const auto* from : {&config.metadata, &config.configurable})
    for (const auto& [key, said] : *from) {
      if (is_reserved(key) || said.is_null() || said.is_structured() || out.contains(key))
        continue;
      if (said.is_string()) {
        auto text = valid_utf8(std::string{said.get_string()});
        std::erase(text, '\0');
        out[valid_utf8(key)] = text;
      } else {
        out[valid_utf8(key)] = said;
      }
    }
  return out.empty() ? nullptr : std::make_shared<const json::object>(std::move(out));
}

thread_run::thread_run(std::shared_ptr<superstep::checkpointer> checkpointer, thread_key key,
                       durability when)
    : checkpointer_{std::move(checkpointer)}, key_{std::move(key)}, when_{when} {}

std::string thread_run::task_key(const std::string& path) const {
  return path + '@' + (at_ ? at_->id : std::string{});
}

std::string next_checkpoint_id(std::string_view last, std::string_view prefix) {
  const auto after = [last](std::string_view beginning) {
    auto n = std::uint64_t{0};
    if (last.size() == beginning.size() + id_digits && last.starts_with(beginning))
      std::from_chars(last.data() + beginning.size(), last.data() + last.size(), n);
    return std::string{beginning} + padded(n + 1);
  };
  auto next = after(prefix);
  // The newest checkpoint belongs to a checkpoint of the parent that was never stored, because its
  // run was taken over or its process has died.
  if (next <= last)
    next = after(last.substr(0, last.rfind('.') + 1));
  return next;
}

result<void> thread_run::load(run_state& run, const run_config& config, const nesting* below) {
  SUPERSTEP_ASSERT(!at_ && records_.empty() && stored_.empty()); // a run opens its thread once
  auto saved = std::optional<saved_checkpoint>{};
  if (below != nullptr) {
    id_prefix_ = below->id_prefix + '.';
    above_ = below->thread_above;
  }
  if (checkpointer_) {
    last_id_ = checkpointer_->head(key_);
    const auto wanted =
        below == nullptr && config.thread ? config.thread->checkpoint_id : std::string{};
    if (below != nullptr && below->is_persistent && below->travel &&
        below->travel->is_first_call(key_.ns)) {
      auto older =
          checkpointer_->list(key_, {below->travel->before(), {}, {}, 1}, run.table().layout());
      if (!older.empty())
        saved = std::move(older.front());
    } else if (below != nullptr && !below->is_persistent && !below->must_resume) {
      // A new call starts empty. If there are checkpoints with its namespace, they are left over
      // from a process that died before it saved the parent's next checkpoint.
    } else if (!last_id_.empty()) {
      saved = checkpointer_->load(key_, wanted, run.table().layout());
    }
    if (!wanted.empty() && !saved)
      return refused(graph_errc::unknown_checkpoint,
                     "thread '" + key_.thread_id + "' has no checkpoint '" + wanted + "'");
  }
  if (saved) {
    at_ = saved->checkpoint;
    stored_ = at_->id;
    // A run that was taken over may have stored one more checkpoint after the call of head().
    last_id_ = std::max(last_id_, stored_);
    records_ = std::move(saved->tasks);
    index_.clear();
    waiting_ = count_waiting();
  }
  run.restore(at_.get());
  return {};
}

error thread_run::nothing_to_resume() const {
  const auto whose = key_.thread_id.empty() ? std::string{"the run has no thread"}
                                            : "thread '" + key_.thread_id + "' has no checkpoint";
  return {graph_errc::empty_input, whose + ", so there is nothing to resume: check the thread_id "
                                           "and the checkpointer, or start with an input"};
}

result<void> thread_run::take_command(run_state& run, detail::thread_command& c, bool forks) {
  if (c.to_parent)
    return refused(graph_errc::no_parent,
                   "the command is for a parent graph, but a run that is not nested has no parent");
  const auto answers = c.resume || !c.resume_by_id.empty();
  if (answers && !checkpointer_)
    return refused(graph_errc::no_checkpointer, "the graph has no checkpointer to resume from: set "
                                                "compile_options::checkpointer");
  if (answers && !at_ && !c.ignore_unknown_ids)
    return nothing_to_resume();
  auto open = std::unordered_set<std::string_view>{}; // the ids of the pending interrupts
  for (const auto& r : records_)
    if (is_waiting(r))
      for (const auto& question : *r.interrupts)
        open.insert(question.id);
  if (c.resume && is_open_to_several())
    return refused(graph_errc::ambiguous_resume,
                   "thread '" + key_.thread_id + "' has " + std::to_string(open.size()) +
                       " pending interrupts: pass their resume values by id");
  for (const auto& [id, answer] : c.resume_by_id) {
    if (!c.ignore_unknown_ids && !open.contains(id))
      return unknown_interrupt(key_.thread_id, id);
  }
  // The command's updates become a record of the current checkpoint. On a new thread START writes
  // them instead, and a new branch has them in its first checkpoint. They are applied first,
  // together with those of earlier commands: every later run and reader applies the record.
  if (at_ && !forks) {
    auto said = task_record{};
    said.output = std::move(c.output);
    said.resume = c.resume;
    auto all = std::vector<task_record>{};
    if (const auto* const earlier = find(""))
      all.push_back(*earlier);
    record_index{}.add(all, said);
    if (auto applied = run.apply_command(*all.front().output); !applied)
      return applied;
    add_record(std::move(said));
  }
  answers_ = std::make_shared<given_answers>(std::move(c.resume), std::move(c.resume_by_id));
  return {};
}

/// Whether it is unclear which pending interrupt a resume value without an id answers. The value
/// goes to the first question of a task, so it is clear if a single task asks all of them itself.
bool thread_run::is_open_to_several() const {
  const auto asks = [](const task_record& r) { return is_waiting(r) && !r.interrupts->empty(); };
  const auto first = std::ranges::find_if(records_, asks);
  if (first == records_.end())
    return false;
  if (std::find_if(std::next(first), records_.end(), asks) != records_.end())
    return true;
  if (first->interrupts->size() == 1)
    return false;
  // The questions of a subgraph have ids that name the tasks of the subgraph.
  const auto key = task_key(first->task);
  auto number = first->answers.size();
  return std::ranges::any_of(*first->interrupts, [&](const interrupt& question) {
    return question.id != interrupt_id(key_.ns, key, number++);
  });
}

error checkpointer_failure(const thread_key& key, const std::exception_ptr& cause) {
  try {
    std::rethrow_exception(cause);
  } catch (const checkpoint_error& e) {
    return {e.code(), e.what()};
  } catch (...) {
    return {failure_code(cause, graph_errc::user_code_failed),
            "the checkpointer of thread '" + key.thread_id + "' failed: " + describe(cause)};
  }
}

result<void> thread_run::open(run_state& run, detail::run_input&& input, const run_config& config,
                              const nesting* below) {
  try { // checkpointers throw, but a run reports errors in its result
    return take_up(run, std::move(input), config, below);
  } catch (...) { // checkpointers and the values that they store are user code
    return checkpointer_failure(key_, std::current_exception());
  }
}

/// Whether the run starts again from an older checkpoint that the caller has specified. If the
/// caller passes resume values, the run instead resumes the interrupts that were pending there.
bool thread_run::goes_back(detail::run_input& input, const run_config& config) const {
  if (!at_ || !config.thread || config.thread->checkpoint_id.empty())
    return false;
  if (input.what() != detail::run_input::kind::command)
    return input.what() == detail::run_input::kind::nothing;
  return !input.command().resume && input.command().resume_by_id.empty();
}

bool thread_run::is_edit() const noexcept {
  SUPERSTEP_ASSERT(at_ != nullptr);
  return at_->source == checkpoint_source::update || at_->source == checkpoint_source::fork;
}

const std::string* thread_run::lost_node(bool turns_back) const {
  if (!at_->lost_nodes.empty())
    return &at_->lost_nodes.front();
  const auto found = std::ranges::find_if(records_, [&](const task_record& r) {
    return !r.lost_nodes.empty() && (r.task.empty() || !turns_back);
  });
  return found == records_.end() ? nullptr : &found->lost_nodes.front();
}

result<void> thread_run::take_up(run_state& run, detail::run_input&& input,
                                 const run_config& config, const nesting* below) {
  using kind = detail::run_input::kind;
  if (auto loaded = load(run, config, below); !loaded)
    return loaded;
  if (checkpointer_)
    metadata_ = stored_entries(config);
  is_resuming_ = at_ && (below != nullptr ? below->must_resume : input.what() != kind::writes);
  const auto turns_back = below == nullptr && goes_back(input, config);
  if (const auto* const lost = is_resuming_ ? lost_node(turns_back) : nullptr)
    return error{make_error_code(checkpoint_errc::node_gone),
                 "thread '" + key_.thread_id + "' continues at node '" + *lost +
                     "', which is no longer in the graph: add it, start the thread over with an "
                     "input, or resume from an older checkpoint"};
  if (at_ && below == nullptr && input.is_whole_state())
    return refused(graph_errc::used_thread,
                   "thread '" + key_.thread_id +
                       "' has checkpoints, and a whole state would reset every field without a "
                       "reducer: pass update{set<&State::field>(value), ...} or a projection (a "
                       "struct with some of the fields); to resume the thread, pass resume() or "
                       "resume(value)");
  is_nested_ = below != nullptr;
  if (is_nested_) {
    answers_ = below->answers;
    travel_ = below->travel;
  } else if (turns_back) {
    travel_ =
        std::make_shared<time_travel>(is_edit() && !at_->parent.empty() ? at_->parent : at_->id);
  }
  // If the newest checkpoint is an edit, it is already the start of a branch.
  const auto forks = travel_ && !is_nested_ && (!is_edit() || at_->id != last_id_);
  if (input.what() == kind::command) {
    if (auto taken = take_command(run, input.command(), forks); !taken)
      return taken;
  }
  const auto is_applied = input.what() == kind::command && at_ && !forks;
  const auto* const caller = find("");
  if (!is_applied && caller != nullptr && caller->output) {
    if (auto applied = run.apply_command(*caller->output); !applied)
      return applied;
  }
  is_first_step_ = is_resuming_;
  if (is_resuming_) {
    if (forks && input.what() == kind::command) {
      if (auto applied = run.apply_command(input.command().output); !applied)
        return applied;
    }
    if (forks) {
      run.count_step();
      save(run, checkpoint_source::fork);
    } else if (travel_ && !is_nested_) {
      std::erase_if(records_, [](const task_record& r) { return !r.task.empty(); });
      index_.clear();
      waiting_ = count_waiting();
    }
    return {};
  }
  if (below == nullptr) // a run that starts from an input has no interrupt to resume
    answers_.reset();
  switch (input.what()) {
  case kind::nothing:
    return nothing_to_resume();
  case kind::command: {
    auto& said = input.command().output;
    run.accept_input(
        {std::make_move_iterator(said.writes.begin()), std::make_move_iterator(said.writes.end())},
        std::move(said.targets), said.sends);
    break;
  }
  case kind::writes:
    run.accept_input(std::move(input.writes()), {}, {});
    break;
  }
  save(run, checkpoint_source::input);
  return {};
}

void thread_run::save(const run_state& run, checkpoint_source source, bool may_wait) {
  if (source == checkpoint_source::loop) {
    is_first_step_ = false;
    if (!is_nested_) // resume values apply only to the step that was interrupted
      answers_.reset();
  }
  auto made = std::make_shared<checkpoint>();
  made->id = last_id_ = next_checkpoint_id(last_id_, id_prefix_);
  made->parent = stored_;
  SUPERSTEP_ASSERT(made->id > made->parent);
  made->source = source;
  made->step = run.step();
  made->layout = run.table().layout();
  made->state = run.state();
  made->where = run.where();
  made->metadata = metadata_;
  at_ = std::move(made);
  records_.clear();
  index_.clear();
  waiting_ = 0;
  held_back_.clear();
  if (when_ != durability::exit)
    store(may_wait && when_ == durability::sync);
}

void thread_run::store(bool may_wait) {
  if (!checkpointer_ || !at_ || stored_ == at_->id)
    return;
  stored_ = at_->id;
  attempt([&] { may_wait ? checkpointer_->put_now(key_, at_) : checkpointer_->put(key_, at_); });
}

detail::effect_journal thread_run::journal() const {
  auto out = detail::effect_journal{checkpointer_};
  if (const auto& held = lease())
    out.lease = held;
  return out;
}

/// Returns the lease of the outermost run, which nested runs use as well; null if it has none.
const lease_ptr& thread_run::lease() const noexcept {
  return above_ != nullptr ? above_->lease() : lease_;
}

/// Whether no other run has taken the thread over.
bool thread_run::may_write() const noexcept {
  const auto& held = lease();
  return !held || held->is_held();
}

std::optional<error> thread_run::take_over() const {
  if (may_write())
    return std::nullopt;
  return detail::thread_taken_over(key_.thread_id);
}

/// Calls a checkpointer. If it fails, failure() returns the error, and the lane fails the run at
/// its next check.
template <class Call>
void thread_run::attempt(Call call) {
  if (failure_)
    return;
  failure_ = take_over();
  if (failure_)
    return;
  try {
    call();
  } catch (...) {
    failure_ = checkpointer_failure(key_, std::current_exception());
  }
}

void thread_run::add_record(task_record record) {
  if (checkpointer_ && at_ && when_ != durability::exit)
    attempt([&] { checkpointer_->put_task(key_, *at_, storable_part(record, *at_->layout)); });
  else if (checkpointer_ && at_)
    held_back_.push_back(record);
  const auto task = waiting_ > 0 || record.interrupts ? record.task : std::string{};
  const auto waits = [&] {
    const auto* const known = task.empty() ? nullptr : find(task);
    return known != nullptr && is_waiting(*known);
  };
  const auto waited = waits();
  index_.add(records_, std::move(record));
  waiting_ = waiting_ - std::size_t{waited} + std::size_t{waits()};
  SUPERSTEP_ASSERT(waiting_ <= records_.size());
}

std::size_t thread_run::count_waiting() const noexcept {
  return static_cast<std::size_t>(std::ranges::count_if(records_, is_waiting));
}

void thread_run::check() {
  if (checkpointer_)
    attempt([&] { checkpointer_->check(key_); });
}

const task_record* thread_run::find(std::string_view task) const {
  return index_.find(records_, task);
}

std::shared_ptr<given_answers> thread_run::answers_for(std::string_view task) const {
  if (!answers_) // the usual case: there are no resume values
    return {};
  const auto* const record = find(task);
  if (waiting_ > 0 && (record == nullptr || !is_waiting(*record)))
    return {};
  return answers_;
}

void thread_run::close(bool ended_well, bool keep_anyway) {
  // A nested run that was resumed has a stored checkpoint with questions. If its end were not
  // stored, the next run of its caller would ask them again, and pass them later answers.
  if (when_ != durability::exit || !checkpointer_ ||
      (ended_well && !keep_anyway && stored_.empty()))
    return;
  store();
  SUPERSTEP_ASSERT(held_back_.empty() || at_ != nullptr);
  // `records_` also contains records that were loaded. The checkpointer already has them and would
  // add their writes again.
  for (const auto& record : held_back_)
    attempt([&] { checkpointer_->put_task(key_, *at_, storable_part(record, *at_->layout)); });
}

} // namespace superstep
