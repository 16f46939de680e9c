// SPDX-License-Identifier: Apache-2.0
// The functions in a PostgreSQL database: they write a batch of a checkpointer in one round trip,
// and grant leases by the clock of the server.
#include "postgres_functions.hpp"

namespace superstep::detail {

namespace {

// save() writes a batch in one transaction. Its parameters are columns:
//   s_  the namespaces of the batch. s_fence is the fence of the lease that the process p_holder
//   has
//       on the thread, or 0; s_before is the newest checkpoint that the run expects, or null if no
//       entry of the batch compares it
//   l_  texts of layouts
//   c_  checkpoints; c_base is null for a whole row, and c_old is true if the base may be missing
//   t_  task records
//   e_  effects: 0 begins, 1 ends, 2 is forgotten, 3 all effects of the thread are forgotten
// It returns the conflicts as a list of [namespace, what, found]: 0 the newest checkpoint is
// another one, 1 another process has taken the thread over, 2 a base was deleted, 3 an effect was
// started already. Nothing of such a thread is written, except effects before the conflict.
//
// settle() returns the answer of a save() whose connection was lost. If that save() has not
// committed, it returns null, and the save() can no longer commit: it changes the writer's row
// last.
//
// A connection plans the statements of a function once. Without `plan_cache_mode`, the server would
// plan them at each call, because it knows the lengths of the parameters then; this takes longer
// than the statements. All rows are found by an index, also in tables that grow after the
// statements were planned.
constexpr auto functions_sql = R"sql(
create or replace function superstep_threads.save(
  p_writer bigint, p_number bigint, p_holder bigint, p_made bigint, p_is_durable boolean,
  s_thread text[], s_ns text[], s_fence bigint[], s_before text[],
  l_text text[],
  c_space int[], c_id text[], c_parent text[], c_base text[], c_old boolean[], c_step bigint[],
  c_source bigint[], c_layout int[], c_chain bigint[], c_whole bigint[], c_sum bigint[],
  c_row bytea[],
  t_space int[], t_point text[], t_layout int[], t_sum bigint[], t_row bytea[],
  e_space int[], e_key text[], e_what int[], e_sum bigint[], e_row bytea[])
returns text language plpgsql set search_path = superstep_threads, pg_temp
set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_hashjoin = off
set enable_mergejoin = off set jit = off as $$
declare
  v_no bigint[];
  v_layout bigint[];
  v_bad text[];
  v_is_ok boolean[];
  v_conflicts jsonb;
begin
  if not p_is_durable then
    perform set_config('synchronous_commit', 'off', true);
  end if;
  perform pg_advisory_xact_lock_shared(p_holder); -- see take_leases()
  -- A thread with an expected checkpoint exists, or else has a conflict.
  if '' = any (s_before) then
    insert into threads (thread, ns, created)
      select u.thread, u.ns, p_made from unnest(s_thread, s_ns, s_before) u (thread, ns, before)
      where u.before = ''
        and not exists (select from threads t where t.thread = u.thread and t.ns = u.ns)
      order by 1, 2 on conflict do nothing;
  end if;
  select array_agg(l.no order by l.i) into v_no from (
    select t.no, u.i from unnest(s_thread, s_ns) with ordinality u (thread, ns, i)
      join threads t on t.thread = u.thread and t.ns = u.ns
    order by t.thread, t.ns for update of t) l;
  if coalesce(cardinality(v_no), 0) < cardinality(s_thread) then
    v_no := array(select t.no from unnest(s_thread, s_ns) with ordinality u (thread, ns, i)
                  left join threads t on t.thread = u.thread and t.ns = u.ns order by u.i);
  end if;

  select jsonb_agg(jsonb_build_array(f.i, f.what, f.found)), array_agg(s_thread[f.i])
    into v_conflicts, v_bad from (
      select u.i, 0 as what, h.id as found
        from unnest(s_before, v_no) with ordinality u (before, no, i)
        cross join lateral (
          select coalesce((select p.id from points p where p.thread = u.no
                           order by p.id desc limit 1), '') as id) h
        where u.before <> h.id
      union all
      select u.i, 1, '' from unnest(s_thread, s_fence) with ordinality u (thread, fence, i)
        join leases l on l.thread = u.thread
        where u.fence <> 0 and l.holder <> p_holder
      union all
      select c.space, 2, c.base from unnest(c_space, c_base, c_old) c (space, base, is_old)
        where c.is_old and c.base <> all (c_id)
          and not exists (select from points p where p.thread = v_no[c.space] and p.id = c.base)) f;
  v_conflicts := coalesce(v_conflicts, '[]');
  v_bad := coalesce(v_bad, '{}');

  for i in 1 .. cardinality(e_space) loop
    continue when s_thread[e_space[i]] = any (v_bad);
    if e_what[i] = 0 then
      insert into effects (thread, key, ended, sum, row)
        values (s_thread[e_space[i]], e_key[i], 0, e_sum[i], e_row[i]) on conflict do nothing;
      if not found then
        v_bad := v_bad || s_thread[e_space[i]];
        v_conflicts := v_conflicts || jsonb_build_array(jsonb_build_array(e_space[i], 3, ''));
      end if;
    elsif e_what[i] = 1 then
      insert into effects as f (thread, key, ended, sum, row)
        values (s_thread[e_space[i]], e_key[i], 1, e_sum[i], e_row[i])
        on conflict (thread, key) do update
          set ended = 1, sum = excluded.sum, row = excluded.row;
    else
      delete from effects f where f.thread = s_thread[e_space[i]]
        and (e_what[i] = 3 or f.key = e_key[i]);
    end if;
  end loop;

  if cardinality(l_text) > 0 then
    v_layout := array(select l.no from unnest(l_text) with ordinality u (text, i)
                      join layouts l on md5(l.text) = md5(u.text) order by u.i);
    if cardinality(v_layout) < cardinality(l_text) then
      insert into layouts (text) select distinct u from unnest(l_text) u on conflict do nothing;
      v_layout := array(select l.no from unnest(l_text) with ordinality u (text, i)
                        join layouts l on md5(l.text) = md5(u.text) order by u.i);
    end if;
  end if;
  v_is_ok := array_fill(true, array[cardinality(s_thread)]);
  if cardinality(v_bad) > 0 then
    v_is_ok := array(select u.thread <> all (v_bad)
                     from unnest(s_thread) with ordinality u (thread, i) order by u.i);
  end if;
  insert into points (thread, id, parent, base, step, source, layout, chain, whole, made, sum, row)
    select v_no[c.space], c.id, c.parent, c.base, c.step, c.source, v_layout[c.layout], c.chain,
           c.whole, p_made, c.sum, c.row
    from unnest(c_space, c_id, c_parent, c_base, c_step, c_source, c_layout, c_chain, c_whole,
                c_sum, c_row)
      c (space, id, parent, base, step, source, layout, chain, whole, sum, row)
    where v_is_ok[c.space];
  if cardinality(t_space) > 0 then
    -- The checkpoint of a record may have been deleted.
    insert into tasks (thread, point, layout, sum, row)
      select v_no[t.space], t.point, v_layout[t.layout], t.sum, t.row
      from unnest(t_space, t_point, t_layout, t_sum, t_row) with ordinality
        t (space, point, layout, sum, row, i)
      where v_is_ok[t.space]
        and exists (select from points p where p.thread = v_no[t.space] and p.id = t.point)
      order by t.i;
  end if;

  update writers w set last = p_number, answer = v_conflicts, at = clock_timestamp()
    where w.writer = p_writer and w.last < p_number;
  if not found then
    raise exception using errcode = 'SS001',
      message = 'this process is not registered, or the write was given up';
  end if;
  return v_conflicts;
end $$;

create or replace function superstep_threads.settle(p_writer bigint, p_number bigint)
returns text language plpgsql set search_path = superstep_threads, pg_temp as $$
begin
  update writers w set last = p_number, answer = null where w.writer = p_writer
    and w.last < p_number;
  return (select w.answer from writers w where w.writer = p_writer);
end $$;

create or replace function superstep_threads.add_writer()
returns bigint language plpgsql set search_path = superstep_threads, pg_temp as $$
declare
  v_writer bigint;
begin
  delete from writers w where w.at < now() - interval '7 days';
  insert into writers default values returning writer into v_writer;
  return v_writer;
end $$;

-- After a crash of the server, the latest changes of leases may be missing. A holder then renews what
-- it has, and a thread that another process has taken in the meantime is protected by the comparison
-- of the newest checkpoint in save(). So leases need not wait for the disk.
--
-- A lease is taken only from a holder whose running calls of save() have ended: later calls find the
-- new holder. So one time decides which leases have ended, and only the leases of locked holders are
-- taken. A thread that has got another holder meanwhile is tried again if it is to be taken over.
create or replace function superstep_threads.take_leases(
  p_holder bigint, p_threads text[], p_ms bigint, p_takes_over boolean)
returns table (o_thread text, o_fence bigint)
language plpgsql set search_path = superstep_threads, pg_temp
set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_hashjoin = off
set enable_mergejoin = off set jit = off as $$
declare
  v_left text[] := p_threads;
  v_now timestamptz;
  v_locked bigint[];
begin
  perform set_config('synchronous_commit', 'off', true);
  loop
    v_now := clock_timestamp();
    v_locked := array(
      select distinct l.holder from leases l
      where l.thread = any (v_left) and l.holder <> p_holder and (p_takes_over or l.until < v_now)
      order by l.holder);
    perform pg_advisory_xact_lock(h) from unnest(v_locked) h;
    return query
      insert into leases as l (thread, holder, fence, until)
      select u.thread, p_holder, nextval('fences'), clock_timestamp() + p_ms * interval '1 ms'
      from unnest(v_left) u (thread)
      where not exists (
        select from leases o where o.thread = u.thread and o.holder <> p_holder
          and (o.holder <> all (v_locked) or not (p_takes_over or o.until < v_now)))
      order by u.thread
      on conflict (thread) do update
        set holder = excluded.holder, fence = excluded.fence, until = excluded.until
        where l.holder = p_holder
           or l.holder = any (v_locked) and (p_takes_over or l.until < v_now)
      returning l.thread, l.fence;
    exit when not p_takes_over;
    v_left := array(select u from unnest(v_left) u
                    where not exists (select from leases o
                                      where o.thread = u and o.holder = p_holder));
    exit when cardinality(v_left) = 0;
  end loop;
end $$;

create or replace function superstep_threads.renew_leases(
  p_holder bigint, p_threads text[], p_fences bigint[], p_ms bigint)
returns table (o_thread text)
language plpgsql set search_path = superstep_threads, pg_temp
set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_hashjoin = off
set enable_mergejoin = off set jit = off as $$
begin
  perform set_config('synchronous_commit', 'off', true);
  return query
    insert into leases as l (thread, holder, fence, until)
    select u.thread, p_holder, u.fence, clock_timestamp() + p_ms * interval '1 ms'
    from unnest(p_threads, p_fences) u (thread, fence) order by u.thread
    on conflict (thread) do update set until = excluded.until, fence = excluded.fence
      where l.holder = excluded.holder
    returning l.thread;
end $$;

create or replace function superstep_threads.release_leases(
  p_holder bigint, p_threads text[], p_fences bigint[])
returns void language plpgsql set search_path = superstep_threads, pg_temp
set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_hashjoin = off
set enable_mergejoin = off set jit = off as $$
begin
  perform set_config('synchronous_commit', 'off', true);
  delete from leases l using unnest(p_threads, p_fences) u (thread, fence)
    where l.thread = u.thread and l.holder = p_holder and l.fence <= u.fence;
end $$;

-- The functions have the rights of their caller, because a process reads the tables with the
-- statements that also read an SQLite file.
do $$
begin
  if exists (select from pg_roles where rolname = 'superstep_reader') then
    grant usage on schema superstep_threads to superstep_reader;
    grant select on all tables in schema superstep_threads to superstep_reader;
  end if;
  if exists (select from pg_roles where rolname = 'superstep_worker') then
    grant usage on schema superstep_threads to superstep_worker;
    grant select, insert, update, delete on all tables in schema superstep_threads
      to superstep_worker;
    revoke insert, update, delete on superstep_threads.format from superstep_worker;
    grant usage on all sequences in schema superstep_threads to superstep_worker;
  end if;
end $$;
)sql";

} // namespace

const char* postgres_functions() noexcept {
  return functions_sql;
}

} // namespace superstep::detail
