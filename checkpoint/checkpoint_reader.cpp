// SPDX-License-Identifier: Apache-2.0
// Reads checkpoints and task records from JSON, as checkpoint_writer.cpp writes them. The functions
// below do not trust their input: a row may be damaged in spite of its checksum, and another
// program may have written it. So every access checks the type of a value and the range of a
// number.
#include "checkpoint_codec.hpp"
#include "error_codec.hpp"
#include "untyped.hpp"

#include <superstep/base/detail/assert.hpp>
#include <superstep/channels/detail/stored_value.hpp>

#include <algorithm>

namespace superstep::detail {

namespace {

[[noreturn]] void throw_corrupt(std::string_view what) {
  throw checkpoint_error{make_error_code(checkpoint_errc::corrupt),
                         "a checkpoint cannot be read: " + std::string{what}};
}

/// Returns an array member; an empty array if it is missing, because empty members are not written.
const json::array& list_in(const json::object& row, std::string_view key) {
  static const auto none = json::array{};
  const auto* found = row.if_contains(key);
  if (found == nullptr)
    return none;
  if (!found->is_array())
    throw_corrupt("member '" + std::string{key} + "' is not a list");
  return found->get_array();
}

/// Returns a value that must be an array of at least `min` elements.
const json::array& parts_of(const json::value& from, std::size_t min) {
  if (!from.is_array() || from.get_array().size() < min)
    throw_corrupt("expected a list of at least " + std::to_string(min) + " elements");
  return from.get_array();
}

std::int64_t number_of(const json::value& from) {
  if (!from.is_int64() || from.get_int64() < 0)
    throw_corrupt("expected a non-negative integer");
  return from.get_int64();
}

std::string text_of(const json::value& from) {
  if (!from.is_string())
    throw_corrupt("expected a string");
  return std::string{from.get_string()};
}

const std::pair<std::uint64_t, std::uint64_t>*
find_seen(const std::map<std::int64_t, std::pair<std::uint64_t, std::uint64_t>>& in,
          std::size_t number) {
  const auto found = in.find(static_cast<std::int64_t>(number));
  return found == in.end() ? nullptr : &found->second;
}

} // namespace

const stored_layout::channel* stored_layout::find(std::string_view name) const noexcept {
  const auto found = std::ranges::find(channels, name, &channel::name);
  return found == channels.end() ? nullptr : &*found;
}

/// The table of layouts has no checksums, so the indices in a layout are checked here.
stored_layout read_layout(std::string_view text) {
  auto parsed = parse_json(text);
  if (!parsed || !parsed->is_object())
    throw_corrupt("its layout is not a JSON object");
  const auto& row = parsed->get_object();
  auto out = stored_layout{};
  if (const auto* graph = row.if_contains("graph"))
    out.graph = text_of(*graph);
  for (const auto& c : list_in(row, "channels"))
    out.channels.push_back({text_of(parts_of(c, 2)[0]), text_of(parts_of(c, 2)[1])});
  for (const auto& n : list_in(row, "nodes"))
    out.nodes.push_back({text_of(parts_of(n, 2)[0]), text_of(parts_of(n, 2)[1])});
  for (const auto& j : list_in(row, "joins")) {
    auto join = graph_layout::join{};
    for (const auto& source : parts_of(parts_of(j, 2)[0], 0))
      join.sources.push_back(text_of(source));
    join.target = static_cast<std::uint32_t>(number_of(parts_of(j, 2)[1]));
    if (join.target >= out.nodes.size())
      throw_corrupt("a join of its layout has an invalid target node");
    out.joins.push_back(std::move(join));
  }
  return out;
}

/// A row contains only the channels and versions that changed, so these are merged. All other
/// members are complete in each row, so the newest row replaces them.
void folded_checkpoint::fold(json::object&& row) {
  if (auto* changes = row.if_contains("c")) {
    if (!changes->is_object())
      throw_corrupt("member 'c' is not an object");
    for (auto& [name, change] : changes->get_object())
      if (auto done = apply_change(channels[std::string{name}], std::move(change)); !done)
        throw_corrupt("channel '" + std::string{name} + "': " + done.error().text);
  }
  const auto take_seen = [&](const char* key, auto& into) {
    for (const auto& seen : list_in(row, key)) {
      const auto& parts = parts_of(seen, 3);
      into[number_of(parts[0])] = {static_cast<std::uint64_t>(number_of(parts[1])),
                                   static_cast<std::uint64_t>(number_of(parts[2]))};
    }
  };
  take_seen("b", branch_seen);
  take_seen("k", join_seen);
  where = std::move(row);
}

/// Builds the row that write_checkpoint() would write without a base.
json::object folded_checkpoint::whole_row() const {
  auto row = where;
  // `c`, `b` and `k` are deltas; the merged values replace them below. `r` contains the task
  // records of the previous checkpoint.
  for (const auto* key : {"c", "b", "k", "r"})
    row.erase(key);
  auto values = json::object{};
  for (const auto& [name, held] : channels)
    values[name] = held ? json::array{*held} : json::array{};
  row["c"] = std::move(values);
  const auto add_seen = [&](const char* key, const auto& from) {
    auto list = json::array{};
    for (const auto& [number, seen] : from)
      list.push_back(json::array{number, static_cast<std::int64_t>(seen.first),
                                 static_cast<std::int64_t>(seen.second)});
    row[key] = std::move(list);
  };
  add_seen("b", branch_seen);
  add_seen("k", join_seen);
  return row;
}

namespace {

/// Returns the index of the element that fits, or `size` if none does. Starts at `next`, which is
/// behind the last element that was found, and continues at the front. Both layouts list their
/// elements in the same order, so that the first element that is tested usually fits.
template <class F>
std::size_t find_cyclic(std::size_t size, std::size_t& next, F fits) {
  for (auto i = std::size_t{0}; i < size; ++i) {
    const auto at = next + i < size ? next + i : next + i - size;
    if (!fits(at))
      continue;
    next = at + 1 < size ? at + 1 : 0;
    return at;
  }
  return size;
}

} // namespace

checkpoint_reader::checkpoint_reader(const stored_layout& from, const layout_ptr& as,
                                     const thread_key& whose)
    : from_{from}, as_{as}, whose_{whose} {
  auto next = std::size_t{0};
  for (const auto& old : from.channels) {
    auto& to = channels_.emplace_back();
    const auto found = find_cyclic(as->channels.size(), next, [&](std::size_t i) {
      return as->channels[i]->name() == old.name;
    });
    if (found == as->channels.size())
      continue;
    const auto& channel = *as->channels[found];
    const auto type = channel.is_kept() ? channel.stored_type() : std::string{};
    if (old.type.empty() || type.empty()) // the channel is or was untracked
      continue;
    to.number = static_cast<std::uint32_t>(found);
    // Values imported from another program have no type. They are read as the type of the channel.
    to.is_converted = type != old.type && old.type != untyped;
    if (to.is_converted && !as->convert)
      throw wrong(checkpoint_errc::type_changed,
                  "channel '" + old.name + "' has type " + type +
                      ", but the thread was saved with type " + old.type +
                      ": set compile_options::convert, rename the channel, or start a new thread");
  }
  next = 0;
  for (const auto& old : from.nodes) {
    const auto found = find_cyclic(as->nodes.size(), next,
                                   [&](std::size_t i) { return as->nodes[i].name == old.name; });
    nodes_.push_back(found == as->nodes.size() ? gone : static_cast<std::uint32_t>(found));
  }
  // Joins have no names. A stored join is the current join with the same target and sources.
  next = 0;
  for (const auto& old : from.joins) {
    const auto found = find_cyclic(as->joins.size(), next, [&](std::size_t i) {
      return nodes_[old.target] == as->joins[i].target && as->joins[i].sources == old.sources;
    });
    joins_.push_back(found == as->joins.size() ? gone : static_cast<std::uint32_t>(found));
  }
}

checkpoint_error checkpoint_reader::wrong(checkpoint_errc code, const std::string& what) const {
  return {make_error_code(code), "thread '" + whose_.thread_id + "'" +
                                     (whose_.ns.empty() ? "" : " (" + whose_.ns + ")") + ": " +
                                     what};
}

/// Returns the converted value if the type of the channel has changed; nullopt if the stored value
/// can be read without a conversion.
std::optional<json::value> checkpoint_reader::value_of(const place& to, std::size_t from,
                                                       const json::value& held) const {
  if (!to.is_converted)
    return std::nullopt;
  const auto& old = from_.channels[from];
  const auto type = as_->channels[to.number]->stored_type();
  auto made = as_->convert({old.name, old.type, type, held});
  if (!made)
    throw wrong(checkpoint_errc::type_changed,
                "channel '" + old.name + "' has type " + type +
                    ", and compile_options::convert returned no value "
                    "for the saved type " +
                    old.type);
  return made;
}

void checkpoint_reader::read_channel(state_block& state, std::size_t from,
                                     const std::optional<json::value>& held) const {
  const auto& to = channels_[from];
  if (to.number == gone)
    return;
  auto made = held ? value_of(to, from, *held) : std::optional<json::value>{};
  const auto& channel = *as_->channels[to.number];
  if (auto done = channel.read_kept(state, made ? made : held); !done)
    throw wrong(checkpoint_errc::corrupt,
                "the value of channel '" + channel.name() + "': " + done.error().text);
}

/// Returns the current index of a stored node. If the node no longer exists, adds its name to
/// `lost` and returns `gone`.
std::uint32_t checkpoint_reader::node_of(std::int64_t number,
                                         std::vector<std::string>& lost) const {
  const auto i = static_cast<std::size_t>(number);
  if (i >= nodes_.size())
    throw_corrupt("it refers to a node that its layout does not have");
  if (nodes_[i] == gone && std::ranges::find(lost, from_.nodes[i].name) == lost.end())
    lost.push_back(from_.nodes[i].name);
  return nodes_[i];
}

/// Each write is [channel, value], or [channel, value, 1] for an overwrite.
std::vector<write> checkpoint_reader::read_writes(const json::value& from) const {
  auto out = std::vector<write>{};
  for (const auto& w : parts_of(from, 0)) {
    const auto& parts = parts_of(w, 2);
    const auto i = static_cast<std::size_t>(number_of(parts[0]));
    if (i >= channels_.size())
      throw_corrupt("it refers to a channel that its layout does not have");
    const auto& old = from_.channels[i];
    auto number = channels_[i].number;
    if (number == gone) {
      // The constructor marks a channel as gone if it no longer exists, but also if it is or was
      // untracked. A pending write to an untracked channel can still be applied.
      const auto found = std::ranges::find(as_->channels, old.name,
                                           [](const auto& c) -> const auto& { return c->name(); });
      if (found == as_->channels.end())
        continue;
      number = static_cast<std::uint32_t>(found - as_->channels.begin());
    }
    const auto& channel = *as_->channels[number];
    const auto made = value_of(channels_[i], i, parts[1]);
    if (channel.written_form() == nullptr)
      throw wrong(checkpoint_errc::not_storable,
                  "a pending write to channel '" + channel.name() +
                      "' cannot be read, because the channel's type no longer has a stored form: "
                      "specialize superstep::stored_form for it, or start a new thread");
    auto content = channel.written_form()->read(made ? *made : parts[1], channel.name());
    if (!content)
      throw wrong(checkpoint_errc::corrupt, content.error().text);
    out.push_back({number, parts.size() > 2, std::move(*content)});
  }
  return out;
}

/// Each Send is [node, input] or [node, input, timeout in milliseconds]. Sends to nodes that no
/// longer exist are dropped.
std::vector<send> checkpoint_reader::read_sends(const json::value& from,
                                                std::vector<std::string>& lost) const {
  auto out = std::vector<send>{};
  for (const auto& s : parts_of(from, 0)) {
    const auto& parts = parts_of(s, 2);
    const auto node = node_of(number_of(parts[0]), lost);
    if (node == gone)
      continue;
    const auto& form = as_->nodes[node];
    const auto& old = from_.nodes[static_cast<std::size_t>(parts[0].get_int64())];
    if (form.input == nullptr || form.input->type() != old.input)
      throw wrong(checkpoint_errc::type_changed,
                  "the input type of node '" + form.name + "' has changed, but a Send with type " +
                      old.input + " is pending: start a new thread, or restore the type");
    auto input = form.input->read(parts[1], "the input of node '" + form.name + "'");
    if (!input)
      throw wrong(checkpoint_errc::corrupt, input.error().text);
    const auto limit = parts.size() > 2 ? number_of(parts[2]) : 0;
    out.push_back({node, send::milliseconds{static_cast<std::uint32_t>(limit)}, std::move(*input)});
  }
  return out;
}

std::vector<trigger> checkpoint_reader::read_triggers(const json::object& where, const char* key,
                                                      std::vector<std::string>& lost) const {
  auto out = std::vector<trigger>{};
  for (const auto& t : list_in(where, key)) {
    const auto node = node_of(number_of(parts_of(t, 2)[0]), lost);
    if (node != gone)
      out.push_back({node, static_cast<std::uint8_t>(number_of(parts_of(t, 2)[1]))});
  }
  return out;
}

/// Versions are stored with the node's index in the stored layout. They are assigned to the same
/// nodes of the current layout. Nodes that are new in the current graph get version 0.
void checkpoint_reader::read_versions(const folded_checkpoint& held, seen_versions& into) const {
  const auto& all = list_in(held.where, "v");
  if (all.size() != 3)
    throw_corrupt("member 'v' is not a list of 3 versions");
  into.last = static_cast<std::uint64_t>(number_of(all[0]));
  into.entry = static_cast<std::uint64_t>(number_of(all[1]));
  into.entry_seen = static_cast<std::uint64_t>(number_of(all[2]));
  into.branch.assign(as_->nodes.size(), 0);
  into.branch_seen = into.branch;
  into.join.assign(as_->joins.size(), 0);
  into.join_seen = into.join;
  for (auto i = std::size_t{0}; i < nodes_.size(); ++i)
    if (const auto* seen = find_seen(held.branch_seen, i); seen != nullptr && nodes_[i] != gone)
      std::tie(into.branch[nodes_[i]], into.branch_seen[nodes_[i]]) = *seen;
  for (auto i = std::size_t{0}; i < joins_.size(); ++i)
    if (const auto* seen = find_seen(held.join_seen, i); seen != nullptr && joins_[i] != gone)
      std::tie(into.join[joins_[i]], into.join_seen[joins_[i]]) = *seen;
}

/// Reads the scheduling state: the input, the triggered nodes, joins, Sends, versions and metadata.
/// The members have names of one letter, to keep rows short; docs/checkpoint-format.md lists them.
void checkpoint_reader::read_where(const folded_checkpoint& held, checkpoint& into) const {
  auto& at = into.where;
  auto& lost = into.lost_nodes;
  if (held.where.contains("h")) {
    at.input.emplace();
    if (const auto* input = held.where.if_contains("i"))
      for (auto& w : read_writes(*input))
        at.input->push_back(std::move(w));
  }
  for (const auto& n : list_in(held.where, "g"))
    if (const auto node = node_of(number_of(n), lost); node != gone)
      at.input_targets.push_back(node);
  at.triggered = read_triggers(held.where, "t", lost);
  at.deferred = read_triggers(held.where, "d", lost);
  for (const auto& join : as_->joins)
    at.joins.emplace_back(static_cast<std::uint32_t>(join.sources.size()));
  for (const auto& j : list_in(held.where, "j")) {
    const auto& parts = parts_of(j, 2);
    const auto i = static_cast<std::size_t>(number_of(parts[0]));
    if (i >= joins_.size())
      throw_corrupt("it refers to a join that its layout does not have");
    if (joins_[i] == gone)
      continue;
    for (const auto& member : parts_of(parts[1], 0)) {
      const auto m = number_of(member);
      if (m >= at.joins[joins_[i]].members())
        throw_corrupt("it refers to a source that its join does not have");
      at.joins[joins_[i]].arrive(static_cast<std::uint32_t>(m));
    }
  }
  if (const auto* sends = held.where.if_contains("s"))
    at.sends = read_sends(*sends, lost);
  read_versions(held, at.versions);
  if (const auto* metadata = held.where.if_contains("m")) {
    if (!metadata->is_object())
      throw_corrupt("member 'm' is not an object");
    into.metadata = std::make_shared<const json::object>(metadata->get_object());
  }
}

checkpoint_ptr checkpoint_reader::read(const checkpoint_header& head,
                                       const folded_checkpoint& held) const {
  auto out = std::make_shared<checkpoint>();
  out->id = head.id;
  out->parent = head.parent;
  out->source = head.source;
  out->step = head.step;
  out->layout = as_;
  const auto state = as_->make_state();
  for (auto i = std::size_t{0}; i < from_.channels.size(); ++i)
    if (const auto found = held.channels.find(from_.channels[i].name); found != held.channels.end())
      read_channel(*state, i, found->second);
  out->state = state;
  read_where(held, *out);
  return out;
}

task_record checkpoint_reader::read_task(const json::value& row) const {
  if (!row.is_object())
    throw_corrupt("the record of a task is not an object");
  const auto& from = row.get_object();
  auto out = task_record{};
  if (const auto* task = from.if_contains("t"))
    out.task = text_of(*task);
  if (const auto* output = from.if_contains("o"); output != nullptr && output->is_object()) {
    out.output.emplace();
    const auto& parts = output->get_object();
    if (const auto* writes = parts.if_contains("w"))
      out.output->writes = read_writes(*writes);
    for (const auto& n : list_in(parts, "g"))
      if (const auto node = node_of(number_of(n), out.lost_nodes); node != gone)
        out.output->targets.push_back(node);
    if (const auto* sends = parts.if_contains("s"))
      out.output->sends = read_sends(*sends, out.lost_nodes);
  }
  if (from.contains("q")) {
    out.interrupts.emplace();
    for (const auto& q : list_in(from, "q"))
      out.interrupts->push_back({text_of(parts_of(q, 2)[0]), parts_of(q, 2)[1]});
  }
  for (const auto& a : list_in(from, "a"))
    out.answers.push_back(a);
  if (const auto* error = from.if_contains("e"))
    out.error = text_of(*error);
  if (const auto* cause = from.if_contains("x"))
    out.cause = read_error(*cause, as_->error_categories);
  if (const auto* resume = from.if_contains("m"))
    out.resume = *resume;
  return out;
}

/// Writes JSON with the old layout and reads it with the new one, so that matching by name and type
/// has only one implementation.
saved_checkpoint for_layout(const saved_checkpoint& saved, const layout_ptr& as,
                            const thread_key& whose) {
  if (saved.checkpoint->layout == as)
    return saved;
  const auto& own = *saved.checkpoint->layout;
  const auto from = read_layout(write_layout(own));
  const auto reader = checkpoint_reader{from, as, whose};
  const auto parsed = [&](const std::string& text) {
    auto out = parse_json(text, {row_bytes_max, read_depth_max});
    if (!out) // nested too deeply or too large: values in memory do not have these limits
      throw reader.wrong(checkpoint_errc::not_storable,
                         "its checkpoint cannot be converted for the changed graph: " +
                             out.error().text);
    return std::move(*out);
  };
  auto text = std::string{};
  write_checkpoint(text, *saved.checkpoint, nullptr, &whose);
  auto held = folded_checkpoint{};
  held.fold(std::move(parsed(text).as_object()));
  const auto& at = *saved.checkpoint;
  auto out = saved_checkpoint{reader.read({at.id, at.parent, at.source, at.step}, held), {}};
  for (const auto& record : saved.tasks) {
    text.clear();
    write_task(text, record, own, &whose);
    out.tasks.push_back(reader.read_task(parsed(text)));
    auto& back = out.tasks.back();
    back.cause = record.cause; // the original exception, not the restored one
    back.lost_nodes.insert(back.lost_nodes.end(), record.lost_nodes.begin(),
                           record.lost_nodes.end());
  }
  return out;
}

} // namespace superstep::detail
