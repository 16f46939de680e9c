// SPDX-License-Identifier: Apache-2.0
// The tables and functions of a ledger in PostgreSQL. Workers need only the functions, which check
// the fences: a role with EXECUTE on them can take part in jobs, but cannot read or change tables.
#include "schema.hpp"

namespace superstep::detail {

namespace {

// chunks.state: 0 no worker holds the chunk, 1 a worker holds it, 2 all its rows have ended.
// outputs.status: 0 ok, 1 failed; plus 2 if `line` is a place in a part file, plus 4 if a failed
// row is not to run again, plus 8 if the cost of the row is not known, and plus 16 if a tool call
// of the row has failed.
// inputs.attempt: the number of the row's attempt if `superstep jobs retry-dead` let it run again.
// spent: the sums of `chunks.cost` and `chunks.total_tokens` by the worker that stored the rows. A
// commit changes only the row of its worker, so that commits do not wait for each other, and the
// sum over workers takes less time than the sum over chunks.
constexpr auto tables_sql = R"sql(
create schema if not exists superstep;
create table superstep.format (version int not null);
insert into superstep.format values (4);
create table superstep.jobs (
  job bigint generated always as identity primary key,
  name text not null unique,
  job_id text not null,
  created bigint not null,
  state text not null check (state in ('loading', 'open', 'paused', 'cancelled')),
  header text not null,
  agent text not null,
  rows bigint not null default 0,
  chunk_rows int not null);
create table superstep.chunks (
  job bigint not null references superstep.jobs on delete cascade,
  first bigint not null,
  bound bigint not null,
  fence int not null default 0,
  state smallint not null default 0,
  worker text,
  lease_until timestamptz,
  next bigint not null,
  ok bigint not null default 0,
  dead bigint not null default 0,
  steps bigint not null default 0,
  model_calls bigint not null default 0,
  tool_calls bigint not null default 0,
  input_tokens bigint not null default 0,
  output_tokens bigint not null default 0,
  total_tokens bigint not null default 0,
  failed_calls bigint not null default 0,
  cost bigint not null default 0,
  unpriced bigint not null default 0,
  cached bigint not null default 0,
  failing bigint not null default 0,
  primary key (job, first),
  check (first < bound)) with (fillfactor = 60);
create index on superstep.chunks (job, first) where state = 0;
create index on superstep.chunks (job, first) where state = 1;
create table superstep.inputs (
  job bigint not null,
  row bigint not null,
  line bigint not null,
  text text not null,
  attempt int,
  primary key (job, row)) partition by list (job);
create table superstep.outputs (
  job bigint not null,
  row bigint not null,
  fence int not null,
  status smallint not null,
  line text not null,
  dead text,
  primary key (job, row)) partition by list (job);
create table superstep.workers (
  job bigint not null references superstep.jobs on delete cascade,
  worker text not null,
  host text not null,
  seen timestamptz not null,
  primary key (job, worker)) with (fillfactor = 60);
create table superstep.spent (
  job bigint not null references superstep.jobs on delete cascade,
  worker text not null,
  cost bigint not null,
  tokens bigint not null,
  primary key (job, worker)) with (fillfactor = 60);
)sql";

// Without parallel workers: if the server crashes, a statement with such workers may fail with an
// error of its own before its connection is lost.
//
// Functions that read rows or outputs are written in PL/pgSQL and plan for the job that they are
// called with. A plan for any job, which functions in SQL always have, locks the tables of all
// jobs.
constexpr auto functions_sql = R"sql(
create or replace function superstep.find_job(p_name text)
returns table (o_job bigint, o_id text, o_created bigint, o_state text, o_header text,
               o_agent text, o_rows bigint, o_sums bigint[])
language sql stable security definer set search_path = superstep, pg_temp
set max_parallel_workers_per_gather = 0 as $$
  select j.job, j.job_id, j.created, j.state, j.header, j.agent, j.rows,
    (select array[sum(ok), sum(dead), sum(steps), sum(model_calls), sum(tool_calls),
                  sum(input_tokens), sum(output_tokens), sum(total_tokens), sum(failed_calls),
                  sum(cost), sum(unpriced), sum(cached), sum(failing)]::bigint[]
     from chunks c where c.job = j.job)
  from jobs j where j.name = p_name
$$;

create or replace function superstep.spent_by_others(p_job bigint, p_worker text)
returns bigint[]
language plpgsql stable security definer set search_path = superstep, pg_temp
set max_parallel_workers_per_gather = 0 as $$
begin
  return (select array[coalesce(sum(s.cost), 0), coalesce(sum(s.tokens), 0)]::bigint[]
          from spent s where s.job = p_job and s.worker <> p_worker);
end $$;

create or replace function superstep.see(p_job bigint, p_worker text, p_host text, p_ms int)
returns table (o_state text, o_members int)
language plpgsql security definer set search_path = superstep, pg_temp
set max_parallel_workers_per_gather = 0 as $$
begin
  -- A lost lease or sign of life is repaired by the fence and by the next one, so it need not wait
  -- for the disk.
  perform set_config('synchronous_commit', 'off', true);
  insert into workers as w (job, worker, host, seen) -- unless the job was dropped
    select j.job, p_worker, p_host, clock_timestamp() from jobs j where j.job = p_job
    on conflict (job, worker) do update set seen = clock_timestamp();
  return query select
    (select j.state from jobs j where j.job = p_job),
    (select count(*)::int from workers w
     where w.job = p_job and w.seen > clock_timestamp() - p_ms * interval '1 ms');
end $$;

create or replace function superstep.state_of(p_job bigint)
returns text
language sql volatile security definer set search_path = superstep, pg_temp
set max_parallel_workers_per_gather = 0 as $$
  select case when j.state in ('open', 'paused') and
                   not exists (select from chunks c where c.job = p_job and c.state = 0) and
                   not exists (select from chunks c where c.job = p_job and c.state = 1)
         then 'finished' else j.state end
  from jobs j where j.job = p_job
$$;

create or replace function superstep.split(p_job bigint, p_worker text, p_ms int, p_starting int)
returns table (o_first bigint, o_bound bigint, o_fence int)
language plpgsql security definer set search_path = superstep, pg_temp
set max_parallel_workers_per_gather = 0 set plan_cache_mode = force_custom_plan as $$
declare
  v chunks;
  v_mid bigint;
  v_ok bigint;
  v_dead bigint;
begin
  select * into v from chunks c
    where c.job = p_job and c.state = 1 and c.worker <> p_worker and c.bound - c.next >= 2
    order by c.bound - c.next desc, c.first limit 1 for update skip locked;
  if not found then return; end if;
  v_mid := v.next + (v.bound - v.next + 1) / 2;
  select count(*) filter (where o.status & 1 = 0), count(*) filter (where o.status & 1 = 1)
    into v_ok, v_dead
    from outputs o where o.job = p_job and o.row >= v_mid and o.row < v.bound;
  update chunks c set bound = v_mid, ok = c.ok - v_ok, dead = c.dead - v_dead,
      state = case when c.ok - v_ok + c.dead - v_dead = v_mid - c.first then 2 else 1 end
    where c.job = p_job and c.first = v.first;
  insert into chunks (job, first, bound, fence, state, worker, lease_until, next, ok, dead)
    values (p_job, v_mid, v.bound, 1, case when v_ok + v_dead = v.bound - v_mid then 2 else 1 end,
            p_worker, clock_timestamp() + p_ms * interval '1 ms',
            least(v_mid + p_starting, v.bound), v_ok, v_dead);
  if v_ok + v_dead < v.bound - v_mid then
    return query select v_mid, v.bound, 1;
  end if;
end $$;

create or replace function superstep.lease(p_job bigint, p_worker text, p_host text, p_ms int,
                                           p_count int, p_split boolean, p_starting int,
                                           p_budget boolean)
returns table (o_state text, o_members int, o_first bigint, o_bound bigint, o_fence int,
               o_spent bigint[])
language plpgsql security definer set search_path = superstep, pg_temp
set max_parallel_workers_per_gather = 0 as $$
declare
  v_state text;
  v_members int;
  v_count int := 0;
  v_expired boolean;
  v_spent bigint[] := case when p_budget then spent_by_others(p_job, p_worker) end;
begin
  select s.o_state, s.o_members into v_state, v_members
    from see(p_job, p_worker, p_host, p_ms) s;
  if v_state = 'open' then
    foreach v_expired in array array[false, true] loop
      return query
        with c as (
          select k.first from chunks k
          where k.job = p_job and k.state = v_expired::int and
                (not v_expired or k.lease_until < clock_timestamp())
          order by k.first limit p_count for update skip locked)
        update chunks k set state = 1, worker = p_worker, fence = k.fence + 1,
            next = least(k.first + p_starting, k.bound),
            lease_until = clock_timestamp() + p_ms * interval '1 ms'
          from c where k.job = p_job and k.first = c.first
          returning v_state, v_members, k.first, k.bound, k.fence, v_spent;
      get diagnostics v_count = row_count;
      exit when v_count > 0;
    end loop;
    if v_count = 0 and p_split then
      return query select v_state, v_members, s.o_first, s.o_bound, s.o_fence, v_spent
        from split(p_job, p_worker, p_ms, p_starting) s;
      get diagnostics v_count = row_count;
    end if;
  end if;
  if v_count = 0 then
    return query
      select state_of(p_job), v_members, null::bigint, null::bigint, null::int, v_spent;
  end if;
end $$;

-- Reads chunk after chunk by the indexes, and outputs before inputs, as drop_job() locks them.
-- Without statistics of a new partition, the planner might prefer to read all rows of the job. The
-- bounds of the chunk are repeated for the outputs, because it might otherwise join the chunk with
-- the outputs of the whole job.
create or replace function superstep.read(p_job bigint, p_first bigint[], p_bound bigint[])
returns table (o_row bigint, o_line bigint, o_text text, o_attempt int)
language plpgsql stable security definer set search_path = superstep, pg_temp
set max_parallel_workers_per_gather = 0 set plan_cache_mode = force_custom_plan
set enable_seqscan = off set enable_bitmapscan = off as $$
declare
  c record;
begin
  for c in select u.first, u.bound from unnest(p_first, p_bound) as u (first, bound) loop
    if exists (select from outputs o
               where o.job = p_job and o.row >= c.first and o.row < c.bound) then
      return query
        select r.row, r.line, r.text, coalesce(r.attempt, 1) from inputs r
        where r.job = p_job and r.row >= c.first and r.row < c.bound
          and not exists (select from outputs o where o.job = p_job and o.row = r.row
                            and o.row >= c.first and o.row < c.bound);
    else
      return query
        select r.row, r.line, r.text, coalesce(r.attempt, 1) from inputs r
        where r.job = p_job and r.row >= c.first and r.row < c.bound;
    end if;
  end loop;
end $$;

create or replace function superstep.commit(
  p_job bigint, p_worker text, p_ms int, p_first bigint[], p_fence int[], p_next bigint[],
  p_last bigint[], p_sums bigint[], r_row bigint[], r_part int[], r_status smallint[],
  r_line text[], r_dead text[], p_budget boolean)
returns table (o_state text, o_verdict int, o_bound bigint, o_spent bigint[])
language plpgsql security definer set search_path = superstep, pg_temp
set max_parallel_workers_per_gather = 0 as $$
declare
  v_verdicts int[] := '{}';
  v_bounds bigint[] := '{}';
  v_bound bigint;
  v_state smallint;
  v_verdict int;
  v_is_done boolean := false;
  v_cost bigint := 0;
  v_tokens bigint := 0;
  v_job_state text;
  v_spent bigint[];
  s bigint[];
begin
  for i in 1 .. cardinality(p_first) loop
    s := p_sums[13 * i - 12 : 13 * i];
    update chunks c set lease_until = clock_timestamp() + p_ms * interval '1 ms',
        next = greatest(c.next, p_next[i]), ok = c.ok + s[1], dead = c.dead + s[2],
        steps = c.steps + s[3], model_calls = c.model_calls + s[4],
        tool_calls = c.tool_calls + s[5], input_tokens = c.input_tokens + s[6],
        output_tokens = c.output_tokens + s[7], total_tokens = c.total_tokens + s[8],
        failed_calls = c.failed_calls + s[9], cost = c.cost + s[10],
        unpriced = c.unpriced + s[11], cached = c.cached + s[12],
        failing = c.failing + s[13],
        state = case when c.ok + s[1] + c.dead + s[2] = c.bound - c.first then 2 else 1 end
      where c.job = p_job and c.first = p_first[i] and c.fence = p_fence[i] and
            c.worker = p_worker and c.state = 1 and p_last[i] < c.bound
      returning c.bound, c.state into v_bound, v_state;
    v_verdict := 0;
    if found then
      v_is_done := v_is_done or v_state = 2;
      v_cost := v_cost + s[10];
      v_tokens := v_tokens + s[8];
    else
      select c.bound into v_bound from chunks c
        where c.job = p_job and c.first = p_first[i] and c.fence = p_fence[i] and
              c.worker = p_worker and c.state = 1;
      v_verdict := case when found then 1 else 2 end;
    end if;
    v_verdicts := v_verdicts || v_verdict;
    v_bounds := v_bounds || coalesce(v_bound, 0);
  end loop;
  insert into outputs (job, row, fence, status, line, dead)
    select p_job, u.row, p_fence[u.part], u.status, u.line, nullif(u.dead, '')
    from unnest(r_row, r_part, r_status, r_line, r_dead) as u (row, part, status, line, dead)
    where v_verdicts[u.part] = 0;
  if v_cost <> 0 or v_tokens <> 0 then
    insert into spent as w (job, worker, cost, tokens)
      values (p_job, p_worker, v_cost, v_tokens)
      on conflict (job, worker) do update set cost = w.cost + v_cost, tokens = w.tokens + v_tokens;
  end if;
  v_job_state := case when v_is_done then state_of(p_job)
                 else (select j.state from jobs j where j.job = p_job) end;
  v_spent := case when p_budget then spent_by_others(p_job, p_worker) end;
  return query select v_job_state, u.verdict, u.bound, v_spent
    from unnest(v_verdicts, v_bounds) with ordinality as u (verdict, bound, at) order by u.at;
end $$;

create or replace function superstep.resolve(p_job bigint, p_worker text, p_ms int,
                                             p_first bigint[], p_budget boolean)
returns table (o_state text, o_first bigint, o_bound bigint, o_fence int, o_stored bigint[],
               o_spent bigint[])
language plpgsql security definer set search_path = superstep, pg_temp
set max_parallel_workers_per_gather = 0 set plan_cache_mode = force_custom_plan as $$
declare
  v chunks;
begin
  perform set_config('synchronous_commit', 'off', true);
  o_state := state_of(p_job);
  o_spent := case when p_budget then spent_by_others(p_job, p_worker) end;
  -- The update waits for a statement of the lost connection that still runs, and makes its fence
  -- invalid if it has not begun.
  for v in update chunks c set fence = c.fence + case c.state when 1 then 1 else 0 end,
               lease_until = clock_timestamp() + p_ms * interval '1 ms'
             where c.job = p_job and c.worker = p_worker and
                   (c.state = 1 or c.state = 2 and c.first = any(p_first))
             returning c.* loop
    o_first := v.first;
    o_bound := v.bound;
    o_fence := v.fence;
    o_stored := array(select o.row from outputs o
                      where o.job = p_job and o.row >= v.first and o.row < v.bound order by o.row);
    return next;
  end loop;
  if o_first is null then
    return next;
  end if;
end $$;

create or replace function superstep.release(p_job bigint, p_worker text, p_first bigint[],
                                             p_fence int[])
returns void
language sql security definer set search_path = superstep, pg_temp
set max_parallel_workers_per_gather = 0 as $$
  update chunks c set state = 0, worker = null, lease_until = null
    from unnest(p_first, p_fence) as p (first, fence)
    where c.job = p_job and c.first = p.first and c.fence = p.fence and c.worker = p_worker and
          c.state = 1;
  delete from workers w where w.job = p_job and w.worker = p_worker
$$;

create or replace function superstep.beat(p_job bigint, p_worker text, p_host text, p_ms int,
                                          p_counts boolean, p_budget boolean)
returns table (o_state text, o_members int, o_done bigint, o_dead bigint, o_spent bigint[])
language plpgsql security definer set search_path = superstep, pg_temp
set max_parallel_workers_per_gather = 0 as $$
begin
  select s.o_members into o_members from see(p_job, p_worker, p_host, p_ms) s;
  with c as (
    select k.first from chunks k
    where k.job = p_job and k.state = 1 and k.lease_until < clock_timestamp()
    for update skip locked)
  update chunks k set state = 0, worker = null, lease_until = null
    from c where k.job = p_job and k.first = c.first;
  if p_counts then
    select coalesce(sum(c.ok + c.dead), 0), coalesce(sum(c.dead), 0) into o_done, o_dead
      from chunks c where c.job = p_job;
  end if;
  o_spent := case when p_budget then spent_by_others(p_job, p_worker) end;
  o_state := state_of(p_job);
  return next;
end $$;
)sql";

// Only the owner of the functions and these roles may call them.
constexpr auto grants_sql = R"sql(
revoke all on all functions in schema superstep from public;
do $$
begin
  if exists (select from pg_roles where rolname = 'superstep_worker') then
    grant usage on schema superstep to superstep_worker;
    grant execute on function superstep.ledger_format, superstep.find_job, superstep.lease,
      superstep.read, superstep.commit, superstep.resolve, superstep.release,
      superstep.beat to superstep_worker;
  end if;
  if exists (select from pg_roles where rolname = 'superstep_admin') then
    grant usage on schema superstep to superstep_admin;
    grant execute on function superstep.find_job, superstep.ledger_format, superstep.create_job,
      superstep.load, superstep.open_job, superstep.list_jobs, superstep.workers_of,
      superstep.set_state, superstep.retry_dead, superstep.export_rows,
      superstep.drop_job to superstep_admin;
  end if;
end $$;
)sql";

} // namespace

const char* ledger_tables() noexcept {
  return tables_sql;
}

const char* ledger_functions() noexcept {
  return functions_sql;
}

const char* ledger_grants() noexcept {
  return grants_sql;
}

} // namespace superstep::detail
