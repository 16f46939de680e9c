// SPDX-License-Identifier: Apache-2.0
// Writes layouts, checkpoints and task records as JSON; checkpoint_reader.cpp reads them.
// docs/checkpoint-format.md explains the names of the members. The code appends text to a string
// and builds no JSON document, because it runs after every super-step of every saved run.
#include "base/utf8.hpp"
#include "checkpoint_codec.hpp"
#include "error_codec.hpp"

#include <superstep/base/detail/assert.hpp>
#include <superstep/channels/detail/stored_value.hpp>

#include <algorithm>

namespace superstep::detail {

namespace {

/// Appends the members of one JSON object. Keys must not need escapes.
class members {
public:
  explicit members(std::string& out) : out_{out} { out_ += '{'; }
  members(const members&) = delete;
  members& operator=(const members&) = delete;
  ~members() { out_ += '}'; }

  std::string& add(std::string_view key) {
    if (!std::exchange(is_first_, false))
      out_ += ',';
    out_ += '"';
    out_ += key;
    out_ += "\":";
    return out_;
  }
  /// Appends a list member, unless the list is empty.
  /// @param write_item appends one element
  template <class List, class WriteItem>
  void add_list(std::string_view key, const List& list, WriteItem write_item) {
    if (list.empty())
      return;
    add(key) += '[';
    auto first = true;
    for (const auto& item : list) {
      if (!std::exchange(first, false))
        out_ += ',';
      write_item(item);
    }
    out_ += ']';
  }

private:
  std::string& out_;
  bool is_first_ = true;
};

checkpoint_error not_storable(const std::string& what) {
  return {make_error_code(checkpoint_errc::not_storable),
          what + " has a type that cannot be stored in a checkpoint: describe it "
                 "(BOOST_DESCRIBE_STRUCT) or specialize superstep::stored_form for it"};
}

/// Throws for text that is not UTF-8. The row could not be read back, and its thread would be lost.
/// Invalid bytes cannot be replaced either: the deltas in later rows count the bytes of the
/// original value.
/// @param what returns a description of the value; called only on failure
template <class What>
void check_text(std::string_view written, const What& what) {
  if (!is_utf8(written))
    throw checkpoint_error{make_error_code(checkpoint_errc::not_storable),
                           what() + " contains text that is not UTF-8, which cannot be stored in a "
                                    "checkpoint: convert it to UTF-8 where it is produced"};
}

void write_one(std::string& out, const write& w, const graph_layout& layout) {
  const auto& channel = *layout.channels[w.channel];
  const auto* form = channel.written_form();
  if (form == nullptr)
    throw not_storable("a write to channel '" + channel.name() + "'");
  out += '[';
  append_count(out, w.channel);
  out += ',';
  const auto from = out.size();
  form->write(out, w.content);
  check_text(std::string_view{out}.substr(from),
             [&] { return "a write to channel '" + channel.name() + "'"; });
  out += w.overwrite ? ",1]" : "]";
}

void write_one(std::string& out, const send& s, const graph_layout& layout) {
  const auto& node = layout.nodes[s.node];
  if (node.input == nullptr)
    throw not_storable("the input of node '" + node.name + "'");
  out += '[';
  append_count(out, s.node);
  out += ',';
  const auto from = out.size();
  node.input->write(out, s.input);
  check_text(std::string_view{out}.substr(from),
             [&] { return "the input of node '" + node.name + "'"; });
  if (s.timeout.count() > 0) {
    out += ',';
    append_count(out, s.timeout.count());
  }
  out += ']';
}

/// Writes the channels that differ from the base. The form of a change depends on the channel; see
/// the table of changes in docs/checkpoint-format.md.
void write_channels(members& row, const checkpoint& now, const checkpoint* base) {
  auto changes = std::string{};
  auto change = std::string{};
  for (const auto& channel : now.layout->channels) {
    if (!channel->is_kept())
      continue;
    if (channel->stored_type().empty())
      throw not_storable("the value of channel '" + channel->name() + "'");
    change.clear();
    if (!channel->write_change(change, base != nullptr ? base->state.get() : nullptr, *now.state))
      continue;
    check_text(change, [&] { return "the value of channel '" + channel->name() + "'"; });
    changes += changes.empty() ? '{' : ',';
    append_quoted(changes, channel->name());
    changes += ':' + change;
  }
  if (!changes.empty())
    row.add("c") += changes + '}';
}

/// Writes [index, written version, seen version] for each node or join whose versions differ from
/// those of the base.
void write_seen(members& row, std::string_view key, const std::vector<std::uint64_t>& written,
                const std::vector<std::uint64_t>& seen, const std::vector<std::uint64_t>* old,
                const std::vector<std::uint64_t>* old_seen) {
  auto list = std::string{};
  for (auto i = std::size_t{0}; i < written.size(); ++i) {
    const auto was = old != nullptr && i < old->size() ? (*old)[i] : 0;
    const auto was_seen = old_seen != nullptr && i < old_seen->size() ? (*old_seen)[i] : 0;
    if (written[i] == was && seen[i] == was_seen)
      continue;
    list += list.empty() ? "[" : ",";
    list += '[';
    append_count(list, i);
    list += ',';
    append_count(list, written[i]);
    list += ',';
    append_count(list, seen[i]);
    list += ']';
  }
  if (!list.empty())
    row.add(key) += list + ']';
}

void write_versions(members& row, const seen_versions& now, const seen_versions* old) {
  auto& out = row.add("v") += '[';
  append_count(out, now.last);
  out += ',';
  append_count(out, now.entry);
  out += ',';
  append_count(out, now.entry_seen);
  out += ']';
  write_seen(row, "b", now.branch, now.branch_seen, old != nullptr ? &old->branch : nullptr,
             old != nullptr ? &old->branch_seen : nullptr);
  write_seen(row, "k", now.join, now.join_seen, old != nullptr ? &old->join : nullptr,
             old != nullptr ? &old->join_seen : nullptr);
}

void write_joins(members& row, std::string& out, const std::vector<named_barrier_value>& joins) {
  auto arrived = std::vector<std::pair<std::size_t, std::vector<std::uint32_t>>>{};
  for (auto j = std::size_t{0}; j < joins.size(); ++j) {
    auto sources = std::vector<std::uint32_t>{};
    for (auto m = std::uint32_t{0}; m < joins[j].members(); ++m)
      if (joins[j].has_arrived(m))
        sources.push_back(m);
    if (!sources.empty())
      arrived.emplace_back(j, std::move(sources));
  }
  row.add_list("j", arrived, [&](const auto& join) {
    out += '[';
    append_count(out, join.first);
    out += ',';
    write_stored(out, join.second);
    out += ']';
  });
}

void write_triggers(members& row, std::string& out, std::string_view key,
                    const std::vector<trigger>& list) {
  row.add_list(key, list, [&](const trigger& t) {
    out += '[';
    append_count(out, t.node);
    out += ',';
    append_count(out, t.causes);
    out += ']';
  });
}

} // namespace

std::string write_layout(const graph_layout& layout) {
  auto out = std::string{};
  {
    auto row = members{out};
    append_quoted(row.add("graph"), layout.graph);
    row.add_list("channels", layout.channels, [&](const auto& c) {
      write_stored(out, std::pair{c->name(), c->is_kept() ? c->stored_type() : std::string{}});
    });
    row.add_list("nodes", layout.nodes, [&](const auto& n) {
      write_stored(out, std::pair{n.name, n.input != nullptr ? n.input->type() : std::string{}});
    });
    row.add_list("joins", layout.joins, [&](const auto& j) {
      write_stored(out, std::pair{j.sources, j.target});
    });
  }
  check_text(out, [&] { return "the name of a channel or node of graph '" + layout.graph + "'"; });
  return out;
}

namespace {

void write_members(std::string& out, const checkpoint& now, const checkpoint* base) {
  SUPERSTEP_ASSERT(now.layout && now.state && (base == nullptr || base->layout == now.layout));
  const auto& at = now.where;
  const auto& layout = *now.layout;
  auto row = members{out};
  write_channels(row, now, base);
  // `h` records that there is an input, `i` its writes: an input without writes still triggers
  // START.
  if (at.input)
    row.add("h") += '1';
  auto kept_input = std::vector<const write*>{};
  if (at.input)
    for (const auto& w : *at.input)
      if (layout.channels[w.channel]->is_kept())
        kept_input.push_back(&w);
  row.add_list("i", kept_input, [&](const write* w) { write_one(out, *w, layout); });
  row.add_list("g", at.input_targets, [&](std::uint32_t n) { append_count(out, n); });
  write_triggers(row, out, "t", at.triggered);
  write_triggers(row, out, "d", at.deferred);
  write_joins(row, out, at.joins);
  row.add_list("s", at.sends, [&](const send& s) { write_one(out, s, layout); });
  write_versions(row, at.versions, base != nullptr ? &base->where.versions : nullptr);
  if (now.metadata && !now.metadata->empty())
    append_text(row.add("m"), *now.metadata);
}

void write_members(std::string& out, const task_record& record, const graph_layout& layout) {
  auto row = members{out};
  append_quoted(row.add("t"), record.task);
  if (record.output) {
    auto& into = row.add("o");
    auto output = members{into};
    output.add_list("w", record.output->writes, [&](const write& w) { write_one(out, w, layout); });
    output.add_list("g", record.output->targets, [&](std::uint32_t n) { append_count(out, n); });
    output.add_list("s", record.output->sends, [&](const send& s) { write_one(out, s, layout); });
  }
  const auto check_rest = [&, from = out.size()](const char* what) {
    check_text(std::string_view{out}.substr(from),
               [&] { return std::string{what} + " of task '" + record.task + "'"; });
  };
  if (record.interrupts) {
    auto& into = row.add("q") += '[';
    for (const auto& question : *record.interrupts) {
      if (into.back() != '[')
        into += ',';
      write_stored(into, std::pair{question.id, question.value});
    }
    into += ']';
  }
  check_rest("an interrupt");
  row.add_list("a", record.answers, [&](const json::value& v) { append_text(out, v); });
  check_rest("a resume value");
  // Error texts are not checked. Invalid UTF-8 in them is replaced, because a failure must be
  // stored.
  if (!record.error.empty())
    append_quoted(row.add("e"), valid_utf8(record.error));
  if (record.cause)
    write_error(row.add("x"), record.cause);
  if (record.resume)
    write_stored(row.add("m"), *record.resume);
  check_rest("a resume value");
}

/// Calls `write`. If it throws and `whose` is not null, adds the thread to the error text.
template <class Write>
void naming(const thread_key* whose, Write write) {
  try {
    write();
  } catch (const checkpoint_error& e) {
    if (whose == nullptr)
      throw;
    throw checkpoint_error{e.code(), "thread '" + whose->thread_id + "'" +
                                         (whose->ns.empty() ? "" : " (" + whose->ns + ")") + ": " +
                                         e.what()};
  }
}

/// Returns how deeply lists and objects are nested in a JSON text. Brackets within strings do not
/// count.
std::size_t depth_of(std::string_view row) noexcept {
  auto depth = std::size_t{0};
  auto deepest = std::size_t{0};
  for (auto i = std::size_t{0}; i < row.size(); ++i) {
    const auto c = row[i];
    if (c == '"') {
      for (++i; i < row.size() && row[i] != '"'; ++i)
        i += row[i] == '\\' ? 1 : 0;
    } else if (c == '[' || c == '{') {
      deepest = std::max(deepest, ++depth);
    } else if (c == ']' || c == '}') {
      --depth;
    }
  }
  return deepest;
}

} // namespace

void write_checkpoint(std::string& out, const checkpoint& now, const checkpoint* base,
                      const thread_key* whose) {
  naming(whose, [&] { write_members(out, now, base); });
}

void write_task(std::string& out, const task_record& record, const graph_layout& layout,
                const thread_key* whose) {
  naming(whose, [&] { write_members(out, record, layout); });
}

void check_row_limits(const std::string& row, const thread_key& key) {
  if (row.size() > row_bytes_max || depth_of(row) > row_depth_max)
    throw checkpoint_error{
        make_error_code(checkpoint_errc::not_storable),
        "thread '" + key.thread_id +
            "': a checkpoint is larger than 512 MB or nested deeper than " +
            std::to_string(row_depth_max) +
            " lists and objects; store large values elsewhere and keep a reference"};
}

} // namespace superstep::detail
